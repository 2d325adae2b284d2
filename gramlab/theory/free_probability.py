"""Mixed moments of two free families, from the joint moments of each.

For r_1, … r_n free of c_1, … c_n, with π over the non-crossing partitions of n places, K(π) its Kreweras complement
and κ the free cumulants of the r (Nica and Speicher, Lectures on the Combinatorics of Free Probability, Theorem 14.4):

    tr[r_1 c_1 r_2 c_2 … r_n c_n]  =  Σ_π  Π_{V ∈ π} κ[r_V]  Π_{V ∈ K(π)} tr[c_V].

Places count from 0 here. tr is normalized: tr[1] = 1.
"""

from collections.abc import Callable
from functools import cache
from itertools import chain, combinations, product
from math import prod

from gramlab.arguments import Check

Block = tuple[int, ...]
Moment = Callable[[Block], float]  # the trace of the product of the letters at these places, in order


def mixed_moment(n: int, left: Moment, right: Moment) -> float:
    """Return tr[r_0 c_0 r_1 c_1 … r_{n−1} c_{n−1}] of two free families.

    It is Σ_π Π_{V ∈ π} κ[r_V] Π_{V ∈ K(π)} tr[c_V] (paper B, Appendix E; Nica and Speicher, Theorem 14.4).

    Parameters
    ----------
    n : int
        The number of letters of each family.
    left : callable (tuple of int) -> float
        ``left((i, j, …))`` is tr[r_i r_j …]. Places come in increasing order.
    right : callable (tuple of int) -> float
        The same of the c.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If ``n`` is not a whole number of at least 0.

    Examples
    --------
    >>> from gramlab.theory import mixed_moment
    >>> r, c = (1.0, 3.0), (2.0, 7.0)  # tr[R], tr[R²], and tr[C], tr[C²]
    >>> mixed_moment(2, lambda block: r[len(block) - 1], lambda block: c[len(block) - 1])  # tr[RCRC]
    15.0
    """
    cumulant = cumulants(left)
    return sum(prod(map(cumulant, partition)) * prod(map(right, complement(partition))) for partition in noncrossing(n))


def cumulants(moment: Moment) -> Moment:
    """Return the free cumulants κ of a family: tr[r_1 … r_n] = Σ_π Π_{V ∈ π} κ[r_V], solved for the single block."""

    @cache
    def cumulant(block: Block) -> float:
        finer = (partition for partition in noncrossing(len(block)) if len(partition) > 1)
        factors = ([cumulant(tuple(block[place] for place in part)) for part in partition] for partition in finer)
        return moment(block) - sum(map(prod, factors))

    return cumulant


@cache
def noncrossing(n: int) -> tuple[tuple[Block, ...], ...]:
    """Return all non-crossing partitions of the places 0 … n−1. There are (2n)! / (n! (n+1)!) of them.

    Parameters
    ----------
    n : int

    Returns
    -------
    tuple of partitions
        Each partition is a tuple of blocks, each block a tuple of places.

    Raises
    ------
    ValueError
        If ``n`` is not a whole number of at least 0.

    Examples
    --------
    >>> from gramlab.theory import noncrossing
    >>> noncrossing(2)
    (((0,), (1,)), ((0, 1),))
    >>> [len(noncrossing(n)) for n in range(1, 6)]
    [1, 2, 5, 14, 42]
    """
    Check(ValueError).integer("n", n, minimum=0)

    def partitions(places: Block) -> list[tuple[Block, ...]]:
        if not places:
            return [()]
        results: list[tuple[Block, ...]] = []
        for others in chain.from_iterable(combinations(places[1:], size) for size in range(len(places))):
            block = (places[0], *others)
            # the places between two neighbours of the first block are partitioned separately
            gaps = [tuple(p for p in places if a < p < b) for a, b in zip(block, (*others, n), strict=True)]
            results += [(block, *chain(*parts)) for parts in product(*map(partitions, gaps))]
        return results

    return tuple(partitions(tuple(range(n))))


def complement(partition: tuple[Block, ...]) -> list[Block]:
    """Return the Kreweras complement: the coarsest blocks of places i', right after i, that cross no block of i."""
    n = sum(map(len, partition))
    previous = {block[i]: block[i - 1] for block in partition for i in range(len(block))}
    remaining, blocks = set(range(n)), []
    while remaining:
        cycle = [min(remaining)]
        while (following := previous[(cycle[-1] + 1) % n]) != cycle[0]:
            cycle.append(following)
        remaining -= set(cycle)
        blocks.append(tuple(sorted(cycle)))
    return blocks
