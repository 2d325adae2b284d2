"""The sums of a batch, in the precision of its gradients."""

import torch
from torch import Tensor

from gramlab.measures.products import add_symmetric

# sums of squares in float32 that are smaller may have lost digits: squares of numbers below 1e-19 leave its range, and
# those below 1e-23 are 0. The gradients of early layers of a deep network can be so small
_SMALLEST = 1e-25
_ROWS = 8192  # summed in the precision of the gradients, whose round-off grows with their number; images have more


class BatchSums:
    """One batch's sums of outer products by layer, in the precision of its gradients; of tiny ones in float64."""

    def __init__(self) -> None:
        self.totals: dict[str, Tensor] = {}

    def add(self, name: str, z: Tensor) -> None:
        """Add the outer products of the rows of ``z`` (groups, rows, k)."""
        total = self.totals.get(name)
        if total is not None and total.dtype == z.dtype and z.shape[1] <= _ROWS:
            add_symmetric(total, z, z)
            return
        parts = z.split(_ROWS, dim=1)
        product = sum((_outer_products(part).double() for part in parts[1:]), start=_outer_products(parts[0]))
        # the first rows, or the first that may not be tiny: beside a larger sum tiny rows do not matter
        if z.dtype == torch.float32 and float(product.diagonal(dim1=-2, dim2=-1).sum()) < _SMALLEST:
            product = _outer_products(z.double())
        self.totals[name] = product if total is None else total + product

    def add_to(self, sums: dict[str, dict[str, Tensor]], key: str) -> None:
        """Add to the float64 sums over the data set."""
        for name, total in self.totals.items():
            sums[name][key] += total


def _outer_products(z: Tensor) -> Tensor:
    total = z.new_zeros(z.shape[0], z.shape[2], z.shape[2])
    add_symmetric(total, z, z)
    return total
