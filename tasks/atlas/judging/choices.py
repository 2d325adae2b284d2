"""The multiverse: all defensible choices behind a verdict. The list was fixed before the first run of the atlas."""

from dataclasses import astuple, dataclass
from itertools import product


@dataclass(frozen=True)
class Choice:
    """One way to judge a cell.

    Attributes
    ----------
    target : {"gram", "change"}
        WᵀW, or its change since initialisation.
    score : {"cosine", "pearson", "diagonal"}
    contrast : {"above null", "raw"}
    layer : {"mean", "first", "last"}
        The mean over all layers, the first layer, or the one before the readout.
    snapshot : {"last", "two thirds"}
        The snapshot at this position in the list of snapshots.
    exponent : {"1/2", "s", "1"}
        The power of the AGOP that competes; "s" is fitted on the other half of the cells.
    """

    target: str = "change"
    score: str = "cosine"
    contrast: str = "above null"
    layer: str = "mean"
    snapshot: str = "last"
    exponent: str = "s"

    def __str__(self) -> str:
        return ", ".join(astuple(self))


PRIMARY = Choice()  # the choice of the map
CHOICES = tuple(
    Choice(*values)
    for values in product(
        ("gram", "change"), ("cosine", "pearson", "diagonal"), ("above null", "raw"), ("mean", "first", "last"),
        ("last", "two thirds"), ("1/2", "s", "1"),
    )
)  # fmt: skip
