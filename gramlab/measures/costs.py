"""What the layers and quantities of a measurement cost: sums, products, and time from probes of two sizes."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from gramlab.measures.accumulate import Accumulator
from gramlab.measures.batches import Batch, first_rows
from gramlab.measures.captured import Run
from gramlab.measures.cotangents import Cotangents
from gramlab.measures.kinds import Embedding
from gramlab.measures.results import LOSS_SUMS, NEEDS, OUTPUT_SUMS

if TYPE_CHECKING:
    import pandas as pd

PROBE = 32  # rows of the smallest batch that is timed
_LARGEST_PROBE = 2048  # rows of the largest batch that is timed
_LONG_BATCH = 0.1  # seconds; after a batch that takes longer no larger one is timed

Seconds = np.ndarray  # wall-clock time, and CPU time of all threads of this process


@dataclass(frozen=True)
class Timing:
    """The time of a batch: a fixed part and one for each row.

    Attributes
    ----------
    batch, row : array of two floats
        Seconds of wall-clock time, and of this process's CPU time.
    """

    batch: Seconds
    row: Seconds


@dataclass(frozen=True)
class LayerCost:
    """The work of a layer, for a sample.

    Attributes
    ----------
    forward : float
        Floating-point operations of its product, and as many of a backward pass through it.
    products : dict of str to float
        Those for each sum, in all passes.
    memory : dict of str to int
        The bytes of each sum.
    """

    forward: float
    products: Mapping[str, float]
    memory: Mapping[str, int]


def clock() -> Seconds:
    """Return the wall-clock time and this process's CPU time, with the accelerator's work done."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return np.array([time.perf_counter(), time.process_time()])


def timed(function: Callable[[], Any]) -> Seconds:
    """Return the seconds that a function takes, on both clocks."""
    start = clock()
    function()
    return clock() - start


def time_batches(measure: Callable[[Batch], Any], batch: Batch, rows: int, can_be_cut: bool) -> Timing:
    """Return a batch's fixed time and that of a row, from the two largest probes that take little time.

    Parameters
    ----------
    measure : callable
        Measures a batch.
    batch : Batch
        The first one of the data set.
    rows : int
        Its samples.
    can_be_cut : bool
        Whether the model takes a part of it. Otherwise the whole time counts as that of the rows.

    Returns
    -------
    Timing
    """
    if not can_be_cut:
        return Timing(np.zeros(2), _shortest(measure, batch) / rows)
    size = min(PROBE, rows)
    probes = {size: _shortest(measure, first_rows(batch, size))}
    if float(probes[size].min()) > _LONG_BATCH and size > 1:  # a smaller one then shows the fixed time
        smaller = max(size // 4, 1)
        probes = {smaller: _shortest(measure, first_rows(batch, smaller)), **probes}
    # the shorter of the two clocks' times decides, because wall-clock time runs on while other programs compute
    while size < min(rows, _LARGEST_PROBE) and float(probes[size].min()) <= _LONG_BATCH:
        size = min(4 * size, rows, _LARGEST_PROBE)
        probes[size] = _shortest(measure, first_rows(batch, size))
    largest, total = list(probes.items())[-1]
    if len(probes) == 1:
        return Timing(np.zeros(2), total / largest)
    smaller, smaller_total = list(probes.items())[-2]
    row = np.maximum(total - smaller_total, 0.0) / (largest - smaller)
    fixed = np.maximum(total - row * largest, 0.0)
    return Timing(fixed, (total - fixed) / largest)


def _shortest(measure: Callable[[Batch], Any], batch: Batch) -> Seconds:
    """The shorter of two times: other work on the machine only adds to them."""
    return np.minimum(timed(lambda: measure(batch)), timed(lambda: measure(batch)))


def layer_costs(
    accumulator: Accumulator, run: Run, passes: int, cotangents: Cotangents | None
) -> tuple["pd.DataFrame", dict[str, LayerCost]]:
    """Return a table of the layers, and the work of each.

    Parameters
    ----------
    accumulator : Accumulator
        After a batch.
    run : Run
        Of that batch.
    passes : int
        Backward passes for the outputs.
    cotangents : Cotangents or None

    Returns
    -------
    table : pandas.DataFrame
    costs : dict of str to LayerCost
    """
    import pandas as pd

    cotangent_groups = 1 if cotangents is None else cotangents.groups
    samples, rows, costs = len(run.outputs), [], {}
    for name, layer in accumulator.network.layers.items():
        W = layer.weight_matrices()
        count, k, d = W.shape
        calls = [call for call in run.calls if call.layer == name]
        # the groups of a convolution count together
        row_count = sum(_row_count(accumulator, call) for call in calls)
        sum_bytes = {key: total.numel() * 8 for key, total in accumulator.sums[name].items()}
        kernels = [key for key in sum_bytes if key != "weight_gradient"]
        batch_bytes = sum(count * k * k * max(W.element_size(), 4) for _ in kernels)
        if cotangents is not None and cotangents.random:
            for key in kernels:
                if key in OUTPUT_SUMS:
                    sum_bytes[key] += cotangent_groups * count * k * k * 8
                    batch_bytes += (cotangent_groups - 1) * count * k * k * max(W.element_size(), 4)
        multiplied = 1 if isinstance(layer, Embedding) else d  # an embedding copies a column
        products = {key: row_count * k * k * (1 if key == "loss_outer" else passes) / samples for key in kernels}
        if "weight_gradient" in sum_bytes:
            products["weight_gradient"] = 2 * row_count * k * multiplied / samples
        costs[name] = LayerCost(2 * row_count * k * multiplied / samples, products, sum_bytes)
        rows.append({"kind": layer.kind, "shape": (k, d) if count == 1 else (count, k, d),
                     "rows": row_count // (samples * count), "sums": sum(sum_bytes.values()), "batch": batch_bytes,
                     "matrix": count * d * d * 8, "gflop": sum(products.values()) * 1e3 / 1e9})  # fmt: skip
    return pd.DataFrame(rows, index=pd.Index(list(costs), name="layer")), costs


def _row_count(accumulator: Accumulator, call: Any) -> int:
    assert call.edge is not None
    shape = call.edge.node._input_metadata[call.edge.output_nr].shape
    part = call.part(torch.empty(shape, device="meta"))
    rows: Tensor = accumulator.network.layers[call.layer].output_rows(part, None, call.input.to("meta"))
    return rows.shape[0] * rows.shape[1]


def round_operations(costs: Mapping[str, LayerCost], passes: int, names: Sequence[str]) -> float:
    """Return a round's operations for a sample: a forward pass, backward passes to its first layer, and its sums."""
    first = list(costs).index(names[0])
    backward = passes * sum(cost.forward for cost in list(costs.values())[first:])
    forward = sum(cost.forward for cost in costs.values())
    return forward + backward + sum(sum(costs[name].products.values()) for name in names)


def layer_seconds(costs: Mapping[str, LayerCost], passes: int, seconds: float | None) -> list[float]:
    """Return each layer's share of the time by its operations; NaN if the time is unknown."""
    shares = [(1 + passes) * cost.forward + sum(cost.products.values()) for cost in costs.values()]
    total = sum(shares) or math.nan
    return [math.nan if seconds is None else seconds * share / total for share in shares]


def quantity_costs(
    costs: Mapping[str, LayerCost],
    quantities: Sequence[str],
    passes: Mapping[str, int],
    networks: int,
    seconds: float | None,
) -> "pd.DataFrame":
    """Return passes, bytes and seconds of each layer and quantity, as if it were measured alone.

    Parameters
    ----------
    costs : mapping of str to LayerCost
    quantities : sequence of str
    passes : mapping of str to int
        For the "loss" and the "outputs".
    networks : int
        1, or 2 with an initial network, which has half of the passes.
    seconds : float or None
        Of everything together, in a single round.

    Returns
    -------
    pandas.DataFrame
        A row for each layer and quantity.
    """
    import pandas as pd

    total_operations = sum((1 + sum(passes.values())) * c.forward + sum(c.products.values()) for c in costs.values())
    rows = []
    for name, cost in costs.items():
        for quantity in quantities:
            sums = NEEDS[quantity] & cost.products.keys()
            quantity_passes = passes["loss"] if sums & LOSS_SUMS else 0
            if sums & OUTPUT_SUMS:
                quantity_passes += passes["outputs"] // (1 if "centered_ptk" in sums else networks)
            operations = (1 + quantity_passes) * cost.forward + sum(cost.products[key] for key in sums)
            quantity_seconds = (
                math.nan if seconds is None or not total_operations else seconds * operations / total_operations
            )
            rows.append({"layer": name, "quantity": quantity, "passes": quantity_passes,
                         "memory": sum(cost.memory[key] for key in sums), "seconds": quantity_seconds})  # fmt: skip
    return pd.DataFrame(rows).set_index(["layer", "quantity"])
