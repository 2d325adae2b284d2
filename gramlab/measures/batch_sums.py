"""The sums of a batch, in the precision of its gradients."""

from torch import Tensor

from gramlab.measures.products import add_symmetric


class BatchSums:
    """One batch's sums of outer products by layer, in the precision of its gradients."""

    def __init__(self) -> None:
        self.totals: dict[str, Tensor] = {}

    def add(self, name: str, z: Tensor) -> None:
        """Add the outer products of the rows of ``z`` (groups, rows, k)."""
        if name not in self.totals:
            self.totals[name] = z.new_zeros(z.shape[0], z.shape[2], z.shape[2])
        add_symmetric(self.totals[name], z, z)

    def add_to(self, sums: dict[str, dict[str, Tensor]], key: str) -> None:
        """Add to the float64 sums over the data set."""
        for name, total in self.totals.items():
            sums[name][key] += total
