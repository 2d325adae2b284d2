"""The networks that are trained together: all seeds of all cases of a grid, each with its own random streams."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gramlab.nets.errors import CHECK, NetError

AXES = ("lr", "weight_decay", "label_noise", "beta")


@dataclass(frozen=True)
class Member:
    """One network of an ensemble: a seed of a grid case.

    Parameters
    ----------
    seed : int
    lr, weight_decay, label_noise, beta : float
        Settings that a grid can vary, see `gramlab.nets.TrainingConfig`.
    case : str, optional
        The grid's values by name, such as ``"lr=0.1,beta=5"``; "" without a grid.

    Examples
    --------
    >>> print(Member(3, lr=0.1, case="lr=0.1"))
    seed 3 (lr=0.1)
    """

    seed: int
    lr: float
    weight_decay: float = 0.0
    label_noise: float = 0.0
    beta: float = 1.0
    case: str = ""

    def __str__(self) -> str:
        return f"seed {self.seed}" + (f" ({self.case})" if self.case else "")


def members(seeds: int, grid: Mapping[str, Sequence[float]], **shared: float) -> list[Member]:
    """All seeds of all cases of a grid; the seed runs fastest.

    Parameters
    ----------
    seeds : int
        Number of seeds.
    grid : mapping of str to sequence of float
        Values of each varied setting; the cases are all combinations.
    **shared : float
        Settings that the grid does not vary.

    Returns
    -------
    list of Member

    Raises
    ------
    NetError
        If the grid varies another setting, or a value is repeated.

    Examples
    --------
    >>> for member in members(2, {"lr": [0.1, 0.2]}, weight_decay=0.0):
    ...     print(member)
    seed 0 (lr=0.1)
    seed 1 (lr=0.1)
    seed 0 (lr=0.2)
    seed 1 (lr=0.2)
    """
    CHECK.choices("settings of the grid", sorted(grid), AXES)
    for axis, values in grid.items():
        if not values or len(set(values)) < len(values):
            raise NetError(f"grid.{axis} must hold different values, not {list(values)}")
    cases = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    return [
        Member(seed, case=",".join(f"{axis}={value:g}" for axis, value in case.items()), **{**shared, **case})
        for case in cases
        for seed in range(seeds)
    ]
