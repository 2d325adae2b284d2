"""Data sources by name."""

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path

from gramlab.arguments import Check
from gramlab.data.alignment import alignment_reversing
from gramlab.data.dataset import DataError, DataSet, checked
from gramlab.data.digits import digits
from gramlab.data.downloaded import celeba, cifar10, cifar100, mnist, svhn
from gramlab.data.images import folder, parquet
from gramlab.data.modular import modular
from gramlab.data.parity import sparse_parity
from gramlab.data.polynomials import chain_monomial, gaussian, high_rank_polynomial, staircase
from gramlab.data.population import fact_population
from gramlab.data.roll import swiss_roll
from gramlab.data.subset import Subset
from gramlab.data.teacher import linear_teacher
from gramlab.data.transforms import standardized, with_random_labels

# A source is a function of its options. `prepare` also passes `root`, the folder of raw files, `seed`, and `subset`,
# for a source that is too large to read whole, to those that take them.
SOURCES: dict[str, Callable[..., DataSet]] = {
    source.__name__: source
    for source in (
        digits, mnist, cifar10, cifar100, svhn, celeba, folder, parquet, swiss_roll, chain_monomial,
        high_rank_polynomial, staircase, gaussian, alignment_reversing, sparse_parity, modular, fact_population,
        linear_teacher,
    )
}  # fmt: skip


def options_of(source: str) -> dict[str, inspect.Parameter]:
    """The options of a data source, without those that `prepare` passes to every source.

    Parameters
    ----------
    source : str
        A key of `SOURCES`.

    Returns
    -------
    dict of str to inspect.Parameter

    Examples
    --------
    >>> list(options_of("modular"))
    ['modulus', 'operation', 'constant', 'fraction']
    """
    parameters = inspect.signature(SOURCES[source]).parameters
    return {name: option for name, option in parameters.items() if name not in ("root", "subset", "seed")}


def prepare(
    source: str, root: Path, train: int | None = None, test: int | None = None, *,
    classes: Sequence[int] | None = None, balanced: bool = False, order: str = "random",
    random_labels: float | None = None, standardize: bool = False, seed: int = 0, **options,
) -> DataSet:  # fmt: skip
    """Make the data set of a source, or a part of it; equal arguments give equal data sets.

    Parameters
    ----------
    source : str
        A key of `SOURCES`.
    root : Path
        Folder of the raw files; torchvision's data sets are downloaded to it if missing.
    train, test, classes, balanced, order
        Which samples to choose, see `Subset`.
    random_labels : float, optional
        Probability that a training label is random, see `gramlab.data.random_labels`.
    standardize : bool, optional
        Scale the inputs to mean 0 and variance 1, see `standardized`.
    seed : int, optional
        Another seed gives other random numbers.
    **options
        The source's own options, see `options_of`.

    Returns
    -------
    DataSet

    Raises
    ------
    DataError
        If an option is wrong, or files are missing or damaged; the message says which and where.

    Examples
    --------
    >>> prepare("digits", "data/raw", train=100, classes=[0, 1]).x_train.shape
    torch.Size([100, 1, 8, 8])
    >>> prepare("modular", "data/raw", modulus=7).classes
    7
    """
    Check(DataError).choice("the data source", source, SOURCES)
    known = options_of(source)
    checked(source).choices("options", sorted(options), known)
    if missing := [name for name, option in known.items() if option.default is option.empty and name not in options]:
        raise DataError(f"{source}: {', '.join(missing)} must be given")
    subset = Subset(train, test, None if classes is None else tuple(classes), balanced, order, seed)
    parameters = inspect.signature(SOURCES[source]).parameters
    passed = {"root": Path(root), "subset": subset, "seed": seed}
    data = SOURCES[source](**{name: value for name, value in passed.items() if name in parameters}, **options)
    data = data if "subset" in parameters else subset.apply(data)
    if random_labels is not None:
        data = with_random_labels(data, random_labels, seed)
    return standardized(data) if standardize else data
