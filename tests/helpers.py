"""What tests of several folders compute and plant in the same way."""

import numpy as np
from torch import Tensor

from gramlab import tables
from tasks.judging.finding import farther_off
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding

NO_SERVER = "http://127.0.0.1:9/"  # an address at which nobody answers


def norm(A) -> float:
    """The Frobenius norm, with numpy alone."""
    return float(np.sqrt((np.asarray(A) ** 2).sum()))


def relative(actual: Tensor, expected: Tensor) -> float:
    """The distance over the norm of what is expected."""
    return float((actual - expected).norm() / expected.norm())


def squared(outputs: Tensor, targets: Tensor) -> Tensor:
    """The squared error of each sample, as a loss of a user's."""
    return (outputs - targets).square().flatten(1).sum(1)


def quantity_of(layer, quantity: str, lr: float) -> Tensor:
    """A quantity of a measured layer; the virtual shift is that of a step with this learning rate."""
    return layer.virtual_shift(lr) if quantity == "virtual_shift" else getattr(layer, quantity)


def rows(records: list[dict]) -> Rows:
    """The records as a rule reads them; they belong to the claim unless they say another arm."""
    return Rows(tables.table([{"arm": "claim", **record} for record in records]))


def in_double(records: list[dict]) -> list[dict]:
    """The records that were computed in double precision."""
    return [record for record in records if record["dtype"] == "float64"]


def rejects(control: Finding, claim: Finding) -> bool:
    """Whether a control is rejected: by its own finding or, where the rule cannot decide it, by comparison."""
    return bool(farther_off(control, claim)) if control.holds is None else not control.holds
