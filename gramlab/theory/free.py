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

Block = tuple[int, ...]
Moment = Callable[[Block], float]  # the trace of the product of the letters at these places, in order


def mixed_moment(n: int, left: Moment, right: Moment) -> float:
    """tr[r_0 c_0 r_1 c_1 … r_{n−1} c_{n−1}] of two free families.

    ``left((i, j, …))`` is tr[r_i r_j …], ``right`` the same of the c; places come in increasing order.
    """
    cumulant = cumulants(left)
    return sum(prod(map(cumulant, one)) * prod(map(right, complement(one))) for one in noncrossing(n))


def cumulants(moment: Moment) -> Moment:
    """The free cumulants κ of a family: tr[r_1 … r_n] = Σ_π Π_{V ∈ π} κ[r_V], solved for the term of one block."""

    @cache
    def cumulant(block: Block) -> float:
        finer = (one for one in noncrossing(len(block)) if len(one) > 1)
        within = ([cumulant(tuple(block[place] for place in part)) for part in one] for one in finer)
        return moment(block) - sum(map(prod, within))

    return cumulant


@cache
def noncrossing(n: int) -> tuple[tuple[Block, ...], ...]:
    """All non-crossing partitions of the places 0 … n−1: (2n)! / (n! (n+1)!) of them."""

    def partitions(places: Block) -> list[tuple[Block, ...]]:
        if not places:
            return [()]
        found: list[tuple[Block, ...]] = []
        for others in chain.from_iterable(combinations(places[1:], size) for size in range(len(places))):
            block = (places[0], *others)
            # what lies between two neighbours of the first block is partitioned by itself
            gaps = [tuple(p for p in places if a < p < b) for a, b in zip(block, (*others, n), strict=True)]
            found += [(block, *chain(*parts)) for parts in product(*map(partitions, gaps))]
        return found

    return tuple(partitions(tuple(range(n))))


def complement(partition: tuple[Block, ...]) -> list[Block]:
    """The Kreweras complement: the coarsest blocks of places i', each right after i, that cross no block of i."""
    n = sum(map(len, partition))
    before = {block[i]: block[i - 1] for block in partition for i in range(len(block))}
    left, found = set(range(n)), []
    while left:
        cycle = [min(left)]
        while (following := before[(cycle[-1] + 1) % n]) != cycle[0]:
            cycle.append(following)
        left -= set(cycle)
        found.append(tuple(sorted(cycle)))
    return found
