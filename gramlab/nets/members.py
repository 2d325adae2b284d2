"""The networks that train together: seeds, and the values of a grid, each with its own random streams."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gramlab.nets.errors import NetError

AXES = ("lr", "weight_decay", "label_noise", "beta")


@dataclass(frozen=True)
class Member:
    """One network: its seed, and what a grid may vary. ``case`` names the grid's values, "lr=0.1,beta=5"."""

    seed: int
    lr: float
    weight_decay: float = 0.0
    label_noise: float = 0.0
    beta: float = 1.0
    case: str = ""

    def __str__(self) -> str:
        return f"seed {self.seed}" + (f" ({self.case})" if self.case else "")


def members(seeds: int, grid: Mapping[str, Sequence[float]], **shared: float) -> list[Member]:
    """Every case of the grid with every seed, seeds running fastest; ``shared`` are the values outside the grid."""
    if unknown := set(grid) - set(AXES):
        raise NetError(f"grid cannot vary {', '.join(sorted(unknown))}; it varies {', '.join(AXES)}")
    for axis, values in grid.items():
        if not values or len(set(values)) < len(values):
            raise NetError(f"grid.{axis} must hold different values, not {list(values)}")
    made = []
    for values in itertools.product(*grid.values()):
        chosen = dict(zip(grid, values, strict=True))
        case = ",".join(f"{axis}={value:g}" for axis, value in chosen.items())
        made += [Member(seed=seed, case=case, **{**shared, **chosen}) for seed in range(seeds)]
    return made


def cases(grid: Mapping[str, Sequence[float]]) -> list[str]:
    """The names of the grid's cases in the members' order; [""] without a grid."""
    return [member.case for member in members(1, grid, lr=1.0)]
