"""What a recorder takes beside a measurement: learning rates, the features' targets, and the accumulated FACT."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from gramlab.accumulated_fact import AccumulatedFact
from gramlab.measures.arrays import Array, as_tensor
from gramlab.measures.batches import Batch, Data, iterate_batches, row_count
from gramlab.measures.features import joined_features
from gramlab.measures.layer import Layer
from gramlab.measures.measurement import Measurement
from gramlab.measures.preserve_state import preserved_state
from gramlab.measures.results import LOSS_SUMS, NEEDS
from gramlab.measures.similarity import pearson
from gramlab.measures.undefined import Undefined

# the layers' inputs, targets and mask of the same samples, and why layers have no inputs
SamplesOfLayers = tuple[Mapping[str, Tensor], Tensor | None, Tensor | None, dict[str, str]]


def default_quantities(targets: bool, weight_decay: float | None) -> list[str]:
    """Return all quantities of ``LayerMeasures`` but those that double the work and those that the data do not define.

    Parameters
    ----------
    targets : bool
        Whether there are targets, for the quantities of the loss.
    weight_decay : float or None
        Without it there is no FACT.

    Returns
    -------
    list of str

    Examples
    --------
    >>> default_quantities(targets=False, weight_decay=None)
    ['gram', 'back_gram', 'agop', 'ptk', 'back_agop', 'centered_gram', 'centered_agop', 'initial_gram']
    """
    left_out_sums = {"centered_ptk", *(() if targets else LOSS_SUMS)}
    quantities = [name for name, needs in NEEDS.items() if not needs & left_out_sums]
    return quantities if weight_decay else [name for name in quantities if not name.endswith("fact")]


def learning_rates(optimizer: torch.optim.Optimizer, layers: Mapping[str, Layer]) -> dict[str, float]:
    """Return the learning rate of each layer: that of its parameter group, or of the first group if it is in none.

    Parameters
    ----------
    optimizer : torch.optim.Optimizer
    layers : mapping of str to Layer

    Returns
    -------
    dict of str to float

    Examples
    --------
    >>> from gramlab.measures.layers import find_layers
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    >>> groups = [{"params": model[1].parameters(), "lr": 0.5}]
    >>> learning_rates(torch.optim.SGD(groups), find_layers(model, "1"))
    {'1': 0.5}
    """
    groups = optimizer.param_groups
    rates = {id(p): float(group["lr"]) for group in groups for p in group["params"]}
    return {
        name: next(
            (rates[id(p)] for p in layer.parameters() if p.ndim > 1 and id(p) in rates),
            float(groups[0]["lr"]),
        )
        for name, layer in layers.items()
    }


def inputs_and_targets(
    model: nn.Module, x: Data, y: Array | None, layers: Iterable[str], *, batch_size: int, forward: Any
) -> SamplesOfLayers:
    """Return the layers' inputs, and the targets and the mask of the same samples; none of them without targets.

    Parameters
    ----------
    model : torch.nn.Module
    x, y : array of shape (n, ...), or batches and None
        As for ``measure``.
    layers : iterable of str
    batch_size, forward
        As for ``measure``.

    Returns
    -------
    inputs : mapping of str to Tensor of shape (n, ...)
    targets : Tensor of shape (n, ...) or None
        None where not all batches have targets, of one shape.
    mask : Tensor of bool of shape (n, T) or None
        None where no batch has a mask, or their sequences have different lengths.
    reasons : dict of str to str
        Why the batches of a layer, which the inputs lack, cannot be joined.
    """
    mask = None
    # targets that come with the batches, whose order a loader may draw anew, or in the mapping
    if y is None or isinstance(x, Mapping):
        with preserved_state(model, x):
            x = x if row_count(x) is not None else list(x)
            batches = list(iterate_batches(model, x, y, None, batch_size))
        targets = [batch.targets for batch in batches if batch.targets is not None]
        if len(targets) < len(batches) or len({part.shape[1:] for part in targets}) > 1:
            return {}, None, None, {}
        y, mask = torch.cat(targets), _joined_mask(batches, [len(part) for part in targets])
    inputs, reasons = joined_features(model, x, list(layers), batch_size=batch_size, forward=forward)
    return inputs, as_tensor(y, "y"), mask, reasons


def _joined_mask(batches: Sequence[Batch], sizes: Sequence[int]) -> Tensor | None:
    """The mask of all batches; every token of a batch without one counts."""
    masks = [batch.mask for batch in batches if batch.mask is not None]
    if len({mask.shape[1] for mask in masks}) != 1:
        return None
    T, device = masks[0].shape[1], masks[0].device
    sized_batches = zip(batches, sizes, strict=True)
    return torch.cat(
        [torch.ones(n, T, dtype=torch.bool, device=device) if b.mask is None else b.mask for b, n in sized_batches]
    )


def accumulated_numbers(
    accumulated: AccumulatedFact, measurement: Measurement, undefined: dict[str, str]
) -> list[tuple[str, str, float]]:
    """Return the accumulated FACT's correlation with WᵀW and its relative error, as rows (layer, quantity, value).

    Parameters
    ----------
    accumulated : AccumulatedFact
    measurement : Measurement
    undefined : dict of str to str
        Gets "layer quantity" -> why a value is missing.

    Returns
    -------
    list of (str, str, float)
    """
    numbers = []
    for name, P in accumulated.items():
        if name not in measurement:
            continue
        for quantity, compute in (
            ("pearson_accumulated_fact", partial(pearson, measurement[name].gram, P)),
            ("accumulated_fact_error", partial(accumulated.relative_error, name)),
        ):
            try:
                numbers.append((name, quantity, compute()))
            except Undefined as reason:
                undefined[f"{name} {quantity}"] = str(reason)
    return numbers
