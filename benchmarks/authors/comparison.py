"""A quantity by the authors' code and by gramlab: both values, their difference, and a test of its cause."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from benchmarks.authors.checkout import Checkout

ROUND_OFF = 1e-9  # of the largest entry, in float64; a comparison that allows more says why


@dataclass(frozen=True)
class Comparison:
    """A row of the table.

    Attributes
    ----------
    repository, commit, function : str
        The authors' code.
    ours : str
        The function of gramlab.
    quantity : str
        The quantity, and the data or layer that it belongs to.
    their_value, our_value : float or None
        The values; of a matrix its Frobenius norm. None where their code cannot run.
    difference : float or None
        The largest difference of an entry, over our largest entry. None where the shapes differ too.
    cause : str
        Why they differ, in a sentence; empty where they agree.
    rest : float or None
        The remaining difference when gramlab's side follows the cause. It tests the cause.
    allowed : float
        The largest rest that counts as round-off.
    """

    repository: str
    commit: str
    function: str
    ours: str
    quantity: str
    their_value: float | None
    our_value: float
    difference: float | None
    cause: str
    rest: float | None
    allowed: float = ROUND_OFF

    @property
    def explained(self) -> bool:
        """Whether the cause leaves no more than round-off. Code that cannot run is explained by its error."""
        return self.their_value is None if self.rest is None else self.rest <= self.allowed

    def row(self) -> dict[str, Any]:
        """The comparison as JSON holds it."""
        return {**asdict(self), "explained": self.explained}


@dataclass(frozen=True)
class Functions:
    """A function of the authors' code and the function of gramlab that computes the same."""

    checkout: Checkout
    theirs: str
    ours: str

    def compare(
        self, quantity: str, theirs: Any, ours: Any, cause: str = "", follows: Any = None, allowed: float = ROUND_OFF
    ) -> Comparison:
        """Compare two values or matrices.

        Parameters
        ----------
        theirs, ours : array
            By the authors' code, and by gramlab.
        follows : array, optional
            By gramlab, made to follow the cause. Needed if there is a cause.
        """
        if bool(cause) != (follows is not None):
            raise ValueError(f"{self.theirs}, {quantity}: a cause is tested by gramlab's value that follows it")
        unexplained = difference(theirs, ours if follows is None else follows)
        return self._row(quantity, size(theirs), size(ours), difference(theirs, ours), cause, unexplained, allowed)

    def broken(self, quantity: str, call: Callable[[], Any], ours: Any, cause: str) -> Comparison:
        """Record that the authors' code cannot run, with its error; raises RuntimeError if it can."""
        try:
            call()
        except (NameError, TypeError, AttributeError) as error:
            return self._row(quantity, None, size(ours), None, f"{cause} ({type(error).__name__}: {error})", None)
        raise RuntimeError(f"{self.checkout.name}, {self.theirs} runs: compare its value")

    def _row(self, *values: Any) -> Comparison:
        return Comparison(self.checkout.name, self.checkout.commit, self.theirs, self.ours, *values)


def array(values: Any) -> np.ndarray:
    """The values in float64."""
    return np.asarray(values.detach().cpu() if isinstance(values, torch.Tensor) else values, dtype=np.float64)


def size(values: Any) -> float:
    """A number itself; the Frobenius norm of more."""
    entries = array(values)
    return float(entries.reshape(())) if entries.size == 1 else float(np.linalg.norm(entries))


def difference(theirs: Any, ours: Any) -> float | None:
    """The largest difference of an entry over our largest entry; None where the shapes differ."""
    a, b = array(theirs), array(ours)
    if a.squeeze().shape != b.squeeze().shape:
        return None
    return float(np.abs(a.squeeze() - b.squeeze()).max() / np.abs(b).max())
