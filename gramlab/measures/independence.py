"""Whether the numbers of a model depend on how its samples are put into batches."""

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from gramlab.measures.arrays import zero_masked
from gramlab.measures.batches import Data, copied, iterate_batches, row_count, run_model
from gramlab.measures.measure import measure
from gramlab.measures.measurement import Measurement
from gramlab.measures.plan import check_rereadable
from gramlab.measures.preserve_state import preserved_state
from gramlab.measures.shards import unwrapped
from gramlab.measures.undefined import Undefined

if TYPE_CHECKING:
    import pandas as pd

_COMPARED = ("ptk", "back_enfa", "weight_gradient", "centered_ptk")


def batch_independence(
    model: nn.Module, x: Data, y: Any = None, *, batch_sizes: Sequence[int] = (1, 7, 512), **options: Any
) -> "pd.DataFrame":
    """Measure the same rows in batches of several sizes, and return how far the numbers differ.

    A sample's numbers depend on its batch where a model normalises by the batch, where padding leaks through a mask,
    or where another attention kernel rounds differently. The model's outputs are compared, and the sums from which all
    quantities come.

    Parameters
    ----------
    model : torch.nn.Module
    x : array of shape (n, ...) or mapping of arrays
        A few dozen samples are enough.
    y : array of shape (n, ...), optional
    batch_sizes : sequence of int, default (1, 7, 512)
        The last one is the reference.
    **options
        As for ``measure``.

    Returns
    -------
    pandas.DataFrame
        A row for the outputs, "(model)", and for each layer and sum; a column for each batch size but the last:
        ‖A − B‖ / ‖B‖, and infinity where only one of the two batch sizes measures the layer.
        ``attrs["tolerance"]`` is eps^(3/4) of the model's precision, above which rounding alone does not explain a
        difference.

    Raises
    ------
    ValueError
        As ``measure`` does, and if ``x`` is not sliced into batches here.

    Examples
    --------
    >>> import torch, gramlab
    >>> differences = gramlab.batch_independence(torch.nn.Linear(4, 2), torch.randn(20, 4))
    >>> bool(differences.max().max() < differences.attrs["tolerance"])
    True
    """
    import pandas as pd

    check_rereadable(x)
    if (n := row_count(x)) is None:
        raise ValueError(
            f"x is a {type(x).__name__} of batches, which cannot be cut into other ones here: give arrays of a few"
            " dozen samples"
        )
    if not isinstance(batch_sizes, Sequence) or len(batch_sizes) < 2:
        raise ValueError(f"batch_sizes must name two sizes or more, not {batch_sizes!r}")
    *other_sizes, reference_size = batch_sizes
    if len({min(size, n) for size in batch_sizes}) == 1:
        raise ValueError(f"batches of {batch_sizes!r} rows are the same for {n} samples: give more samples or sizes")
    reference = measure(model, x, y, batch_size=reference_size, **options)
    rows: dict[tuple[str, str], dict[int, float]] = {("(model)", "outputs"): {}}
    shared_options = {name: options.get(name) for name in ("mask", "forward")}
    expected = _outputs(model, x, y, reference_size, **shared_options)
    for size in other_sizes:
        rows["(model)", "outputs"][size] = _distance(_outputs(model, x, y, size, **shared_options), expected)
        measured = measure(model, x, y, batch_size=size, **options)
        for name in dict.fromkeys([*measured, *reference]):
            sums, expected_sums = _sums(measured, name), _sums(reference, name)
            for quantity in _COMPARED:
                A, B = sums.get(quantity), expected_sums.get(quantity)
                if A is None and B is None:
                    continue
                distance = math.inf if A is None or B is None else _distance(A, B)
                rows.setdefault((name, quantity), {})[size] = distance
    frame = pd.DataFrame.from_dict(rows, orient="index")
    frame.index = pd.MultiIndex.from_tuples(rows, names=["layer", "sum"])
    dtypes = [p.dtype for p in model.parameters() if p.is_floating_point()]
    frame.attrs["tolerance"] = max(torch.finfo(dtype).eps for dtype in dtypes) ** 0.75
    return frame


def _sums(measurement: Measurement, name: str) -> dict[str, Tensor]:
    """The compared sums that a measurement has of a layer; none if it left the layer out."""
    sums: dict[str, Tensor] = {}
    if name in measurement:
        for quantity in _COMPARED:
            with suppress(Undefined):
                sums[quantity] = getattr(measurement[name], quantity)
    return sums


def _outputs(model: nn.Module, x: Data, y: Any, batch_size: int, mask: Any, forward: Any) -> Tensor:
    """The outputs for all samples, zero for masked tokens, in float64."""
    model, parts = unwrapped(model), []
    with preserved_state(model, x), torch.no_grad():
        for number, batch in enumerate(iterate_batches(model, x, y, mask, batch_size)):
            outputs = run_model(model, copied(batch.inputs), forward, number).double()
            if batch.mask is not None and outputs.shape[:2] == batch.mask.shape:
                outputs = zero_masked(outputs, batch.mask)
            parts.append(outputs)
    return torch.cat(parts)


def _distance(A: Tensor, B: Tensor) -> float:
    size = float(B.norm())
    return float((A - B).norm()) / size if size else float((A - B).norm())
