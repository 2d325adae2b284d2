"""What a measurement will cost, before it is made: passes, memory and time, by layer."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from gramlab.measures.accumulate import Accumulator
from gramlab.measures.batches import Batch, Data, iterate_batches, row_count, sample_count
from gramlab.measures.captured import Run
from gramlab.measures.cotangents import Cotangents, Outputs, choose
from gramlab.measures.layers import Layers
from gramlab.measures.losses import Loss
from gramlab.measures.preserve_state import preserved_state

if TYPE_CHECKING:
    import pandas as pd

_PROBE = 32  # rows of the batch that is timed
_LOSS_SUMS = frozenset({"loss_outer", "weight_gradient"})


@dataclass(frozen=True, eq=False)
class Plan:
    """The cost of ``gramlab.measure`` with the same arguments.

    Attributes
    ----------
    layers : pandas.DataFrame
        For each layer its ``kind``, ``shape`` and ``rows`` a sample; the bytes of its float64 ``sums`` and of what a
        batch adds (``batch``), of a d × d matrix on first access (``matrix``); and ``gflop``, the products of a
        thousand samples in all passes.
    n : int or None
        Samples, None for an iterable of batches.
    outputs : str or int
        How the AGOP family sums over outputs: "exact", "readout" or the number of random cotangents.
    passes : dict
        Backward passes of a batch for the "loss" and for the "outputs".
    memory : int
        Bytes of the sums of all layers together, in a single round.
    activations : int
        Bytes of the inputs and outputs of all layers for a batch, which the graph holds.
    seconds : float or None
        Estimated from the first rows, None if n is unknown.
    rounds : list of list of str
        Layers that are measured together within ``max_memory``.

    Examples
    --------
    >>> import torch, gramlab
    >>> model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 3))
    >>> plan = gramlab.plan(model, torch.randn(100, 8), torch.randint(0, 3, (100,)))
    >>> plan.passes, plan.outputs, plan.memory
    ({'loss': 1, 'outputs': 3}, 'exact', 7768)
    """

    layers: "pd.DataFrame"
    n: int | None
    outputs: str | int
    passes: Mapping[str, int]
    memory: int
    activations: int
    seconds: float | None
    rounds: Sequence[Sequence[str]]

    def __repr__(self) -> str:
        time = "" if self.seconds is None else f", about {self.seconds:.3g} s"
        heading = (
            f"Plan: n = {self.n}, {self.passes['loss']} + {self.passes['outputs']} backward passes a batch"
            f" (outputs: {self.outputs}), sums {_bytes(self.memory)}, activations of a batch {_bytes(self.activations)}"
            f"{time}, {len(self.rounds)} {'round' if len(self.rounds) == 1 else 'rounds'}"
        )
        shown = self.layers.assign(**{key: self.layers[key].map(_bytes) for key in ("sums", "batch", "matrix")})
        return f"{heading}\n{shown.to_string(float_format=lambda value: f'{value:.3g}')}"


def plan(
    model: nn.Module,
    x: Data,
    y: Any = None,
    *,
    loss: Loss | None = None,
    layers: Layers = None,
    weight_decay: float | None = None,
    batch_size: int = 4096,
    quantities: Sequence[str] | None = None,
    outputs: Outputs = None,
    initial: nn.Module | Mapping[str, Tensor] | None = None,
    mask: Any = None,
    forward: Callable[[nn.Module, Any], Tensor] | None = None,
    max_memory: int | None = None,
) -> Plan:
    """Return what ``gramlab.measure`` with the same arguments costs. It measures at most the first 32 samples.

    Parameters
    ----------
    model, x, y, loss, layers, weight_decay, batch_size, quantities, outputs, initial, mask, forward
        As for ``measure``.
    max_memory : int, optional
        Bytes for the sums of layers that are measured together.

    Returns
    -------
    Plan

    Raises
    ------
    ValueError
        As ``measure`` does, if ``x`` can be read only once, and if the sums of a single layer exceed ``max_memory``.

    Examples
    --------
    >>> import torch, gramlab
    >>> model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Linear(16, 16), torch.nn.Linear(16, 3))
    >>> gramlab.plan(model, torch.randn(100, 8), max_memory=6000).rounds
    [['0'], ['1', '2']]
    """
    from gramlab.measures.measure import captured_networks, needed_sums

    check_rereadable(x)
    needs = needed_sums(quantities, weight_decay, initial is not None)
    with preserved_state(model), captured_networks(model, layers, initial, needs, outputs, forward) as networks:
        batch = next(iter(iterate_batches(model, x, y, mask, batch_size)))
        rows = min(_PROBE, sample_count(batch.inputs) or _PROBE)
        probe = _first_rows(batch, rows)
        accumulator = Accumulator(*networks, loss, needs, quantities is not None, outputs)
        seconds = _timed(lambda: accumulator.add(probe, 0))
        again = Accumulator(*networks, accumulator.loss, needs, quantities is not None, accumulator.cotangents_name())
        seconds = min(seconds, _timed(lambda: again.add(probe, 0)))
        run = networks[0].run(probe, 0)
        initial_run = None
        if networks[1] is not None and "centered_ptk" in needs:
            initial_run = networks[1].run(probe, 0)
        cotangents = choose(accumulator.cotangents_name(), run, None) if needs & {"ptk", "centered_ptk"} else None
        passes = {
            "loss": int(bool(accumulator.needs & _LOSS_SUMS)),
            "outputs": _count(cotangents, run, initial_run),
        }
        frame = _layer_table(accumulator, run, passes["outputs"], cotangents)
    n = row_count(x)
    activations = sum(call.input.numel() * call.input.element_size() for call in run.calls) // rows
    return Plan(
        layers=frame,
        n=n,
        outputs="exact" if cotangents is None else cotangents.name,
        passes=passes,
        memory=int(frame["sums"].sum() + frame["batch"].sum()),
        activations=activations * min(batch_size, n or batch_size),
        seconds=None if n is None else seconds * n / rows,
        rounds=_rounds(frame, max_memory),
    )


def check_rereadable(x: Data) -> None:
    """Raise ValueError if the data can be read only once."""
    if isinstance(x, Iterator):
        raise ValueError("x is an iterator, which can be read only once: give a list or a DataLoader")


def _first_rows(batch: Batch, rows: int) -> Batch:
    def cut(values: Any) -> Any:
        if isinstance(values, Mapping):
            return {key: cut(value) for key, value in values.items()}
        return tuple(map(cut, values)) if isinstance(values, tuple) else values[:rows]

    targets, mask = (None if t is None else t[:rows] for t in (batch.targets, batch.mask))
    return Batch(cut(batch.inputs), targets, mask, 0)


def _timed(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start


def _count(cotangents: Cotangents | None, run: Run, initial: Run | None) -> int:
    """The backward passes of a batch for the outputs, of both networks if there are two."""
    if cotangents is None:
        return 0
    return cotangents.count(run, initial) * (1 if initial is None else 2)


def _layer_table(accumulator: Accumulator, run: Run, passes: int, cotangents: Cotangents | None) -> "pd.DataFrame":
    import pandas as pd

    groups = 1 if cotangents is None else cotangents.groups
    samples, rows = len(run.outputs), []
    for name, layer in accumulator.current.layers.items():
        W = layer.weight_matrices()
        count, k, d = W.shape
        calls = [call for call in run.calls if call.layer == name]
        # rows of all groups of a convolution together
        places = sum(_row_count(accumulator, call) for call in calls)
        kernels = [key for key in accumulator.sums[name] if key != "weight_gradient"]
        sums = sum(total.numel() * 8 for total in accumulator.sums[name].values())
        batch = sum(count * k * k * max(W.element_size(), 4) for _ in kernels)
        if cotangents is not None and cotangents.random:
            by_output = [key for key in kernels if key in ("ptk", "centered_ptk")]
            sums += len(by_output) * groups * count * k * k * 8
            batch += len(by_output) * (groups - 1) * count * k * k * max(W.element_size(), 4)
        flop = places * k * k * sum(1 if key == "loss_outer" else passes for key in kernels)
        flop += 2 * places * k * d * ("weight_gradient" in accumulator.sums[name])
        rows.append({"kind": layer.kind, "shape": (k, d) if count == 1 else (count, k, d),
                     "rows": places // (samples * count), "sums": sums, "batch": batch, "matrix": count * d * d * 8,
                     "gflop": flop / samples * 1e3 / 1e9})  # fmt: skip
    return pd.DataFrame(rows, index=pd.Index(list(accumulator.current.layers), name="layer"))


def _row_count(accumulator: Accumulator, call: Any) -> int:
    assert call.edge is not None
    shape = call.edge.node._input_metadata[call.edge.output_nr].shape
    part = call.part(torch.empty(shape, device="meta"))
    rows = accumulator.current.layers[call.layer].output_rows(part, None, call.input.to("meta"))
    return rows.shape[0] * rows.shape[1]


def _rounds(frame: "pd.DataFrame", max_memory: int | None) -> list[list[str]]:
    """The layers in their order, in rounds whose sums fit."""
    needed = frame["sums"] + frame["batch"]
    if max_memory is None:
        return [list(frame.index)]
    if len(wide := needed[needed > max_memory]):
        raise ValueError(
            f"the sums of layer {wide.index[0]!r} take {_bytes(int(wide.iloc[0]))}, more than max_memory ="
            f" {_bytes(max_memory)}; fewer quantities= need less"
        )
    rounds: list[list[str]] = [[]]
    used = 0
    for name, size in needed.items():
        if used + size > max_memory:
            rounds.append([])
            used = 0
        rounds[-1].append(str(name))
        used += size
    return rounds


def _bytes(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.3g} {unit}"
        size /= 1000
    raise AssertionError
