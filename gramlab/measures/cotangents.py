"""The ways to sum ∂f/∂z ∂f/∂zᵀ over all outputs f: one by one, through the readout, or by random signs.

Let J = ∂f/∂z. If E[u uᵀ] = I, then E[(Jᵀu)(Jᵀu)ᵀ] = JᵀJ, the sum over outputs. If Σ u uᵀ = I over several u, the sum
of (Jᵀu)(Jᵀu)ᵀ is JᵀJ. A backward pass from the scalar Σ_i u_iᵀ f_i gives J_iᵀ u_i for all samples i.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from numbers import Integral

import numpy as np
import torch
from torch import Tensor

from gramlab.arguments import refusal
from gramlab.measures.arrays import zero_masked
from gramlab.measures.captured import Run
from gramlab.measures.kinds import Layer
from gramlab.measures.layers import at_least_float32
from gramlab.streams import stream

Outputs = str | int | None
Pass = tuple[Tensor, Tensor | None, int, bool]  # scalar, the initial network's, group, whether more passes follow

GROUPS = 4  # groups of random cotangents; their spread gives the standard error
DEFAULT_DRAWS = 16
MOST_PASSES = 4096  # with more passes the default is an estimate
_MANY_OUTPUTS = 256  # with more outputs it saves time to leave out the readout's own kernel, which is the identity
_BLOCK = 256  # bits that a counter of the random stream gives


def check_outputs(outputs: Outputs) -> None:
    """Raise ValueError unless ``outputs`` is "exact", "readout", a positive whole number, or None."""
    number = isinstance(outputs, Integral) and not isinstance(outputs, bool) and outputs >= 1
    if outputs not in (None, "exact", "readout") and not number:
        allowed = "exact, readout, a number of cotangents or None"
        raise ValueError(refusal("outputs", allowed, outputs, ("exact", "readout")))


class Cotangents(ABC):
    """A way to sum over outputs.

    Attributes
    ----------
    name : str or int
        What ``outputs=`` calls it.
    counts : sequence of int
        Cotangents in each group that is summed separately.
    random : bool
        Whether the sums are estimates.
    """

    name: str | int
    counts: Sequence[int] = (1,)
    random = False

    @property
    def groups(self) -> int:
        """The number of separate sums."""
        return len(self.counts)

    @abstractmethod
    def count(self, run: Run, initial: Run | None) -> int:
        """Return the number of passes for a batch."""

    @abstractmethod
    def passes(self, run: Run, initial: Run | None, start: int) -> Iterator[Pass]:
        """Yield the scalars to differentiate. ``start`` is the place of the first sample in the data set."""

    def omitted_identity(self, run: Run, initial: Run | None, layers: Mapping[str, Layer]) -> dict[str, float]:
        """Return layers whose kernel the passes leave out because it is the identity, and its factor."""
        return {}


class Exact(Cotangents):
    """A pass for each output."""

    name = "exact"

    def count(self, run: Run, initial: Run | None) -> int:
        return run.outputs[0].numel()

    def passes(self, run: Run, initial: Run | None, start: int) -> Iterator[Pass]:
        flat = run.outputs.reshape(len(run.outputs), -1)
        initial_flat = None if initial is None else initial.outputs.reshape(len(initial.outputs), -1)
        for output in range(flat.shape[1]):
            initial_scalar = None if initial_flat is None else initial_flat[:, output].sum()
            yield flat[:, output].sum(), initial_scalar, 0, output < flat.shape[1] - 1


class ThroughReadout(Cotangents):
    """For outputs f = W h + b a pass for each row of R with RᵀR = WᵀW, from the scalar R h.

    With an initial network, whose outputs are W₀ h₀ + b₀, R is a factor of [W W₀], so that the difference of the two
    derivatives has the same sums as well. Batches whose outputs are not W h + b are summed output by output.
    """

    name = "readout"

    def __init__(self) -> None:
        self._exact = Exact()

    def count(self, run: Run, initial: Run | None) -> int:
        if not _has_readout(run, initial) or run.readout is None:
            return self._exact.count(run, initial)
        c, d = run.readout.weight.shape
        return run.outputs[0].numel() // c * min(c, d if initial is None else 2 * d)

    def passes(self, run: Run, initial: Run | None, start: int) -> Iterator[Pass]:
        if not _has_readout(run, initial):
            yield from self._exact.passes(run, initial, start)
            return
        runs = [run] if initial is None else [run, initial]
        weights = [r.readout.weight for r in runs if r.readout is not None]
        W = torch.cat(weights, 1)
        factor = torch.linalg.qr(W, mode="r").R if W.shape[0] > W.shape[1] else W
        factors = factor.split([weight.shape[1] for weight in weights], 1)
        inputs = [_readout_inputs(r) for r in runs]
        total = inputs[0].shape[1] * len(factor)
        for number in range(total):
            position, row = divmod(number, len(factor))
            scalars = [h[:, position] @ R[row].to(h) for h, R in zip(inputs, factors, strict=True)]
            yield scalars[0].sum(), None if initial is None else scalars[1].sum(), 0, number < total - 1

    def omitted_identity(self, run: Run, initial: Run | None, layers: Mapping[str, Layer]) -> dict[str, float]:
        if not _has_readout(run, initial) or run.readout is None:
            return {}
        rows = run.outputs.shape[:-1].numel()
        if run.mask is not None:
            rows = int(run.mask.sum()) * prod(run.outputs.shape[2:-1])
        return {name: float(rows) for name, layer in layers.items() if layer.module is run.readout.layer.module}


class Random(Cotangents):
    """Passes with random signs, independent for each sample, output and pass.

    A sample's signs depend on its place in the data set alone, not on batches or shards.

    Parameters
    ----------
    draws : int
        The number of passes.
    """

    random = True

    def __init__(self, draws: int) -> None:
        self.name = int(draws)
        groups = min(self.name, GROUPS)
        self.counts = [len(range(g, self.name, groups)) for g in range(groups)]

    def count(self, run: Run, initial: Run | None) -> int:
        return int(self.name)

    def passes(self, run: Run, initial: Run | None, start: int) -> Iterator[Pass]:
        flat = run.outputs.reshape(len(run.outputs), -1)
        initial_flat = None if initial is None else initial.outputs.reshape(len(initial.outputs), -1)
        draws = int(self.name)
        for draw in range(draws):
            u = signs(draw, start, flat.shape[0], flat.shape[1]).to(flat)
            initial_scalar = None if initial_flat is None else (initial_flat * u).sum()
            yield (flat * u).sum(), initial_scalar, draw % self.groups, draw < draws - 1


def signs(draw: int, start: int, n: int, outputs: int) -> Tensor:
    """Return the random signs of samples ``start`` to ``start + n`` in a pass.

    Parameters
    ----------
    draw : int
        The number of the pass.
    start, n : int
    outputs : int

    Returns
    -------
    Tensor of shape (n, outputs)
        Entries 1 and -1 in int8.

    Examples
    --------
    >>> both, last = signs(0, 0, 5, 300), signs(0, 3, 2, 300)
    >>> bool((both[3:] == last).all()), sorted(set(both.flatten().tolist()))
    (True, [-1, 1])
    """
    generator = stream("measure", "cotangents", draw).bit_generator
    blocks = -(-outputs // _BLOCK)
    generator.advance(start * blocks)  # type: ignore[attr-defined]
    random_words = generator.random_raw(n * blocks * _BLOCK // 64)
    random_bytes = np.asarray(random_words, dtype="<u8").view(np.uint8).reshape(n, -1)
    random_bits = np.unpackbits(random_bytes, axis=1)[:, :outputs]
    return torch.from_numpy(2 * random_bits.astype(np.int8) - 1)


def choose(outputs: Outputs, run: Run, initial: Run | None) -> Cotangents:
    """Return the way to sum over outputs, by the first batch where ``outputs`` leaves it open.

    Parameters
    ----------
    outputs : {"exact", "readout"}, int or None
    run, initial : Run
        The first batch's.

    Returns
    -------
    Cotangents

    Raises
    ------
    ValueError
        If ``outputs`` is "readout" and the outputs are not those of a linear layer.
    """
    if isinstance(outputs, Integral):
        return Random(int(outputs))
    if outputs == "exact":
        return Exact()
    exact_passes = run.outputs[0].numel()
    passes = exact_passes
    if _has_readout(run, initial) and run.readout is not None:
        passes = ThroughReadout().count(run, initial)
    elif outputs == "readout":
        raise ValueError(
            "outputs='readout' needs outputs that a linear layer gives, W h + b without a cap, a gate or a scale after"
            " it, a measured layer beside or after it, or a backward hook around it; outputs='exact' or a number of"
            " random cotangents need no such layer"
        )
    if outputs is None and passes > MOST_PASSES:
        return Random(DEFAULT_DRAWS)
    saves_work = passes < exact_passes or (passes == exact_passes and initial is None and _has_many_outputs(run))
    return ThroughReadout() if outputs == "readout" or saves_work else Exact()


def _has_many_outputs(run: Run) -> bool:
    return run.readout is not None and run.outputs.shape[-1] > _MANY_OUTPUTS


def _has_readout(run: Run, initial: Run | None) -> bool:
    return run.readout is not None and (initial is None or initial.readout is not None)


def _readout_inputs(run: Run) -> Tensor:
    """The readout's inputs (n, positions, d), zero for masked tokens."""
    assert run.readout is not None
    h = at_least_float32(run.readout.h)
    if run.mask is not None:
        h = zero_masked(h, run.mask)
    return h.reshape(len(h), -1, h.shape[-1])
