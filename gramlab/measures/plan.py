"""What a measurement will cost, before it is made: passes, memory and time, by layer."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from gramlab.measures.accumulate import Accumulator
from gramlab.measures.arrays import as_number
from gramlab.measures.batches import (
    Batch,
    Data,
    check_forward_option,
    first_rows,
    iterate_batches,
    row_count,
    sample_count,
)
from gramlab.measures.captured import CapturedNetwork, Run
from gramlab.measures.costs import (
    PROBE,
    layer_costs,
    layer_seconds,
    quantity_costs,
    round_operations,
    time_batches,
    timed,
)
from gramlab.measures.cotangents import Cotangents, Outputs, check_outputs, choose
from gramlab.measures.layers import Layers
from gramlab.measures.losses import Loss, check_loss
from gramlab.measures.preserve_state import preserved_state
from gramlab.measures.results import LOSS_SUMS, NEEDS, OUTPUT_SUMS, names_of
from gramlab.measures.shards import unwrapped

if TYPE_CHECKING:
    import pandas as pd

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
          "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Plan:
    """The cost of ``gramlab.measure`` with the same arguments.

    Attributes
    ----------
    layers : pandas.DataFrame
        For each layer its ``kind``, ``shape`` and ``rows`` a sample; the bytes of its float64 ``sums`` and of what a
        batch adds (``batch``), of a d × d matrix on first access (``matrix``); ``gflop``, the products of a
        thousand samples in all passes; and ``seconds``, its share of the time of a single round by operations.
    quantities : pandas.DataFrame
        For each layer and quantity the backward ``passes`` a batch, the bytes of its sums (``memory``) and its share of
        the time (``seconds``), as if it were measured alone. Quantities of the same sums cost nothing more together.
        ``quantities["seconds"].unstack()`` has a column for each quantity.
    n : int or None
        Samples, None for an iterable of batches.
    outputs : str or int
        How the AGOP family sums over outputs: "exact", "readout" or the number of random cotangents.
    passes : dict
        Backward passes of a batch for the "loss" and for the "outputs".
    memory : int
        Bytes of the sums of all layers together, in a single round.
    activations : int
        Bytes of the measured layers' inputs for a batch. The graph holds more.
    seconds, cpu_seconds : float or None
        Wall-clock time, and CPU time of all threads, of all rounds, from batches of two sizes; None if n is unknown.
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
    quantities: "pd.DataFrame"
    n: int | None
    outputs: str | int
    passes: Mapping[str, int]
    memory: int
    activations: int
    seconds: float | None
    cpu_seconds: float | None
    rounds: Sequence[Sequence[str]]

    def __repr__(self) -> str:
        time = "" if self.seconds is None else f", about {self.seconds:.3g} s"
        heading = (
            f"Plan: n = {self.n}, {self.passes['loss']} + {self.passes['outputs']} backward passes a batch"
            f" (outputs: {self.outputs}), sums {_bytes(self.memory)}, activations of a batch {_bytes(self.activations)}"
            f"{time}, {len(self.rounds)} {'round' if len(self.rounds) == 1 else 'rounds'}"
        )
        layers = self.layers.assign(**{key: self.layers[key].map(_bytes) for key in ("sums", "batch", "matrix")})
        grouped = self.quantities.groupby("quantity", sort=False)
        by_quantity = grouped.agg({"passes": "first", "memory": "sum", "seconds": "sum"})
        by_quantity["memory"] = by_quantity["memory"].map(_bytes)
        tables = [frame.to_string(float_format=lambda value: f"{value:.3g}") for frame in (layers, by_quantity)]
        return "\n".join([heading, tables[0], "each quantity alone:", tables[1]])


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
    max_memory: int | str | None = None,
) -> Plan:
    """Return the cost of ``gramlab.measure`` with the same arguments (all but ``shard``).

    It measures the first 32 samples, and more of the first batch as long as a batch takes less than 0.1 seconds.

    Parameters
    ----------
    model, x, y, loss, layers, weight_decay, batch_size, quantities, outputs, initial, mask, forward
        As for ``measure``.
    max_memory : int or str, optional
        Bytes for the sums of layers that are measured together, such as 10**9 or "1GB".

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

    model = unwrapped(model)
    check_rereadable(x)
    most_bytes = None if max_memory is None else as_bytes(max_memory)
    weight_decay = as_number(weight_decay)
    quantities = None if quantities is None else names_of(quantities)  # an iterator is read once
    needs = needed_sums(quantities, weight_decay, initial is not None)
    check_loss(loss)
    check_outputs(outputs)
    check_forward_option(forward)
    with preserved_state(model, x), captured_networks(model, layers, initial, needs, outputs, forward) as networks:
        batch = next(iter(iterate_batches(model, x, y, mask, batch_size)))
        can_be_cut = _can_be_cut(networks[0], batch)
        probe = first_rows(batch, PROBE) if can_be_cut else batch
        accumulator = Accumulator(*networks, loss, needs, quantities is not None, outputs)
        accumulator.add(probe, 0)
        outputs_option = accumulator.cotangents_name()

        def measure_batch(part: Batch) -> None:
            Accumulator(*networks, accumulator.loss, needs, quantities is not None, outputs_option).add(part, 0)

        run = networks[0].run(probe, 0)
        batch_rows = sample_count(batch.inputs) or len(run.outputs)
        timing = time_batches(measure_batch, batch, batch_rows, can_be_cut)
        initial_run = None
        if networks[1] is not None and "centered_ptk" in needs:
            initial_run = networks[1].run(probe, 0)
        cotangents = choose(outputs_option, run, None) if needs & OUTPUT_SUMS else None
        passes = {
            "loss": int(bool(accumulator.needs & LOSS_SUMS)),
            "outputs": _count(cotangents, run, initial_run),
        }
        layer_frame, costs = layer_costs(accumulator, run, passes["outputs"], cotangents)
        result_seconds = timed(lambda: accumulator.result(weight_decay, {}, {}))

    def prepare() -> None:
        with preserved_state(model), captured_networks(model, layers, initial, needs, outputs, forward):
            pass

    fixed_seconds = timed(prepare) + result_seconds  # the first preparation, above, also imports modules
    n, rounds, total_passes = row_count(x), _rounds(layer_frame, most_bytes), sum(passes.values())
    total_operations = round_operations(costs, total_passes, list(costs)) or 1.0

    def seconds(names: Sequence[str]) -> Any:
        assert n is not None
        share = round_operations(costs, total_passes, names) / total_operations
        return fixed_seconds + math.ceil(n / batch_size) * timing.batch + n * timing.row * share

    single_round = None if n is None else float(seconds(list(costs))[0])
    wall_seconds, cpu_seconds = (None, None) if n is None else map(float, sum(seconds(names) for names in rounds))
    layer_frame["seconds"] = layer_seconds(costs, total_passes, single_round)
    activations = sum(call.input.numel() * call.input.element_size() for call in run.calls) // len(run.outputs)
    return Plan(
        layers=layer_frame,
        quantities=quantity_costs(
            costs,
            _measured(quantities, accumulator.needs, weight_decay),
            passes,
            1 if initial_run is None else 2,
            single_round,
        ),
        n=n,
        outputs="exact" if cotangents is None else cotangents.name,
        passes=passes,
        memory=int(layer_frame["sums"].sum() + layer_frame["batch"].sum()),
        activations=activations * batch_rows,
        seconds=wall_seconds,
        cpu_seconds=cpu_seconds,
        rounds=rounds,
    )


def as_bytes(size: int | str) -> int:
    """Return a size in bytes, of a whole number or a text such as "1GB", "500 MB" (10^6) or "2GiB" (2^30).

    Raises
    ------
    ValueError
        If it is none of these, or not positive.

    Examples
    --------
    >>> as_bytes("1.5 GB"), as_bytes("2KiB")
    (1500000000, 2048)
    """
    parts = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-z]*)\s*", size.lower()) if isinstance(size, str) else None
    value: float = 0
    if parts is not None and parts[2] in _UNITS:
        value = float(parts[1]) * _UNITS[parts[2]]
    elif isinstance(size, (Integral, float)) and not isinstance(size, bool) and math.isfinite(size):
        value = float(size)
    if value < 1:
        raise ValueError(f"max_memory must be a positive number of bytes or a size such as '1GB', not {size!r}")
    return int(value)


def _measured(quantities: Sequence[str] | None, sums: frozenset[str], weight_decay: float | None) -> list[str]:
    """The quantities that the arguments allow, or those that the caller names."""
    if quantities is not None:
        return names_of(quantities)
    return [
        name for name, needs in NEEDS.items() if needs <= sums and (weight_decay or name not in ("fact", "back_fact"))
    ]


def check_rereadable(x: Data) -> None:
    """Raise ValueError if the data can be read only once."""
    if isinstance(x, Iterator):
        raise ValueError("x is an iterator, which can be read only once: give a list or a DataLoader")


def _can_be_cut(network: CapturedNetwork, batch: Batch) -> bool:
    """Whether the model takes a part of a batch: not of a graph, and not if all its batches have one size."""
    rows = sample_count(batch.inputs)
    if rows is None:
        return False
    try:
        network.run(first_rows(batch, max(min(PROBE, rows) // 4, 1)), 0)
    except ValueError:  # if the model refuses the whole batch too, measuring it says why
        return False
    return True


def _count(cotangents: Cotangents | None, run: Run, initial: Run | None) -> int:
    """The backward passes of a batch for the outputs, of both networks if there are two."""
    if cotangents is None:
        return 0
    return cotangents.count(run, initial) * (1 if initial is None else 2)


def _rounds(frame: "pd.DataFrame", max_memory: int | None) -> list[list[str]]:
    """The layers in their order, in rounds whose sums fit."""
    bytes_by_layer = frame["sums"] + frame["batch"]
    if max_memory is None:
        return [list(frame.index)]
    if len(too_large := bytes_by_layer[bytes_by_layer > max_memory]):
        raise ValueError(
            f"the sums of layer {too_large.index[0]!r} take {_bytes(int(too_large.iloc[0]))}, more than max_memory ="
            f" {_bytes(max_memory)}; fewer quantities= need less"
        )
    rounds: list[list[str]] = [[]]
    round_bytes = 0
    for name, layer_bytes in bytes_by_layer.items():
        if round_bytes + layer_bytes > max_memory:
            rounds.append([])
            round_bytes = 0
        rounds[-1].append(str(name))
        round_bytes += layer_bytes
    return rounds


def _bytes(size: float) -> str:
    """A size with three digits, in the unit in which it is below 1000 when rounded."""
    for unit in ("B", "kB", "MB", "GB"):
        if float(rounded := f"{size:.3g}") < 1000:
            return f"{rounded} {unit}"
        size /= 1000
    return f"{size:.3g} TB" if size < 999.5 else f"{size:.0f} TB"
