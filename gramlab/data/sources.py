"""Where data sets come from, by name."""

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path

from gramlab.data.alignment import alignment_reversing
from gramlab.data.dataset import DataError, DataSet
from gramlab.data.digits import digits
from gramlab.data.downloaded import celeba, cifar10, cifar100, mnist, svhn
from gramlab.data.images import folder, parquet
from gramlab.data.modular import modular
from gramlab.data.parity import sparse_parity
from gramlab.data.polynomials import chain_monomial, gaussian, high_rank_polynomial, staircase
from gramlab.data.population import fact_population
from gramlab.data.roll import swiss_roll
from gramlab.data.select import Select, standardized, with_random_labels
from gramlab.data.teacher import linear_teacher

# A source is a function of its options; those that read files also take ``root``, the folder to seek them in,
# and those that cost too much to read whole take ``select``.
SOURCES: dict[str, Callable[..., DataSet]] = {
    made.__name__: made
    for made in (
        digits, mnist, cifar10, cifar100, svhn, celeba, folder, parquet, swiss_roll, chain_monomial,
        high_rank_polynomial, staircase, gaussian, alignment_reversing, sparse_parity, modular, fact_population,
        linear_teacher,
    )
}  # fmt: skip


def options_of(source: str) -> dict[str, inspect.Parameter]:
    """The options that a source takes, by name, without those that ``prepare`` fills in."""
    found = inspect.signature(SOURCES[source]).parameters
    return {name: option for name, option in found.items() if name not in ("root", "select", "seed")}


def prepare(
    source: str, root: Path, train: int | None = None, test: int | None = None, *,
    classes: Sequence[int] | None = None, balanced: bool = False, order: str = "random",
    random_labels: float | None = None, standardize: bool = False, seed: int = 0, **options,
) -> DataSet:  # fmt: skip
    """The data set of this source, or a part of it (see ``Select``), drawn reproducibly.

    root: the folder where raw files are sought and downloaded to. random_labels: each training label is drawn
    anew with this probability. standardize: see ``standardized``. seed: another one gives other draws of
    everything that is drawn here. Raises DataError saying what was sought, where, and how to provide it, or which
    option is wrong.
    """
    if source not in SOURCES:
        raise DataError(f"no data source {source!r}; there are {', '.join(SOURCES)}")
    known = options_of(source)
    if unknown := sorted(options.keys() - known):
        raise DataError(f"{source}: no option {', '.join(unknown)}; it takes {', '.join(known) or 'none'}")
    if missing := [name for name, option in known.items() if option.default is option.empty and name not in options]:
        raise DataError(f"{source}: {', '.join(missing)} must be given")
    select = Select(train, test, None if classes is None else tuple(classes), balanced, order, seed)
    filled = {"root": Path(root), "select": select, "seed": seed}
    takes = inspect.signature(SOURCES[source]).parameters
    made = SOURCES[source](**{name: value for name, value in filled.items() if name in takes}, **options)
    made = made if "select" in takes else select.apply(made)
    if random_labels is not None:
        made = with_random_labels(made, random_labels, seed)
    return standardized(made) if standardize else made
