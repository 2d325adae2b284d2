"""Batches of inputs, targets and masks from the caller's data in any form, checked as they come."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset, IterableDataset
from torch.utils.data.distributed import DistributedSampler

from gramlab.arguments import Check
from gramlab.losses import all_finite
from gramlab.measures.arrays import as_tensor
from gramlab.measures.identity import DataDigest

Data = Tensor | np.ndarray | Mapping | Iterable


class Batch(NamedTuple):
    """One batch: the model's inputs, their targets, and which tokens count."""

    inputs: Any  # a tensor, a tuple of tensors, or a mapping of them
    targets: Tensor | None
    mask: Tensor | None  # (n, T) booleans
    start: int = 0  # the place of the first sample in the whole data set
    is_counted: bool = True  # False for a batch that only keeps a process in step with the others


def iterate_batches(
    model: nn.Module,
    x: Data,
    y: Any,
    mask: Any,
    batch_size: int,
    shard: tuple[int, int] | None = None,
    digest: DataDigest | None = None,
    stand_in: bool = False,
) -> Iterator[Batch]:
    """Return batches on the model's device, with floating-point inputs in the model's dtype.

    Parameters
    ----------
    model : torch.nn.Module
    x : array, list of numbers, data frame, mapping of arrays, or iterable of batches
        Arrays of n rows are sliced into batches. Each batch of an iterable is inputs, (inputs, targets),
        (inputs, targets, mask), or a mapping, whose "labels" are the targets and whose "attention_mask" is the mask.
    y, mask : array or None
        Targets (n, ...) and token mask (n, T), for ``x`` that is sliced.
    batch_size : int
        Samples in a batch, if ``x`` is sliced.
    shard : (int, int), optional
        (i, n) for part i of n: consecutive rows of arrays, or every n-th batch of an iterable.
    digest : DataDigest, optional
        It gets all data, also those of the other parts.
    stand_in : bool, default False
        If a part is empty: whether to give the data's first batch, which does not count, instead of an error.

    Returns
    -------
    iterator of Batch

    Raises
    ------
    ValueError
        On NaN or infinite inputs or targets, naming batch and row, on unequal lengths, and on an empty data set.
    """
    check_batch_size(batch_size)
    is_sliced = isinstance(x, Mapping) or hasattr(x, "__array__") or (isinstance(x, (list, tuple)) and _is_numeric(x))
    if not is_sliced:
        _check_iterable(x, y, mask)
    if is_sliced:
        return _on_model(model, _slices(x, y, mask, batch_size, shard, digest, stand_in))
    return _on_model(model, _parsed_batches(x, shard, digest, stand_in))


def _check_iterable(x: Any, y: Any, mask: Any) -> None:
    """Raise ValueError for what is no iterable of batches: a pair of arrays, a data set, or targets beside it."""
    holds_arrays = isinstance(x, tuple) and bool(x) and all(hasattr(part, "__array__") for part in x)
    if isinstance(x, Dataset) and not isinstance(x, IterableDataset):
        raise ValueError(
            f"x is a {type(x).__name__}, a data set of single samples: wrap it, DataLoader(dataset, batch_size=...),"
            " and give no y= and mask= beside it"
        )
    if holds_arrays and y is None:
        raise ValueError(
            "x is a tuple of arrays: call measure(model, x, y) for inputs and targets, and give batches as a list"
        )
    if y is not None or mask is not None:
        advice = (
            '; a model of two inputs takes a mapping {"a": u, "b": v} as its keywords, or [((u, v), y)], a list of one'
            " batch"
        )
        raise ValueError(
            "x is an iterable of batches: give targets and mask in its batches, not as y= and mask="
            + (advice if holds_arrays else "")
        )
    if not isinstance(x, Iterable):
        raise ValueError(f"x must be a tensor, an array, a mapping or an iterable of batches, not a {type(x).__name__}")


def first_rows(batch: Batch, rows: int) -> Batch:
    """Return the first rows of a batch. A tensor of no axes, such as a temperature, belongs to no sample."""
    targets, mask = (None if t is None else t[:rows] for t in (batch.targets, batch.mask))
    return Batch(_changed(batch.inputs, lambda t: t[:rows] if t.ndim else t), targets, mask, 0)


def copied(inputs: Any) -> Any:
    """Return copies of a batch's inputs for a single run of the model, which may change them in place."""
    return _changed(inputs, torch.clone)


def _changed(inputs: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """A batch's inputs with each tensor changed."""
    if isinstance(inputs, Mapping):
        return {key: change(t) for key, t in inputs.items()}
    return tuple(map(change, inputs)) if isinstance(inputs, tuple) else change(inputs)


def row_count(x: Data) -> int | None:
    """Return the number of samples of data that are sliced, None for an iterable of batches."""
    rows: Any = next((value for key, value in x.items() if key != "labels"), None) if isinstance(x, Mapping) else x
    return len(rows) if hasattr(rows, "__array__") or (isinstance(rows, (list, tuple)) and _is_numeric(rows)) else None


def check_batch_size(batch_size: Any) -> None:
    """Raise ValueError unless ``batch_size`` is a whole number of at least 1."""
    Check(ValueError).integer("batch_size", batch_size)


def check_forward_option(forward: Any) -> None:
    """Raise ValueError unless ``forward`` is callable or None."""
    if forward is not None and not callable(forward):
        raise ValueError(f"forward must be callable (model, inputs) -> outputs, not {forward!r}")


def _is_numeric(x: Any) -> bool:
    """Whether a list holds numbers, or nested lists of numbers, rather than batches."""
    while isinstance(x, (list, tuple)) and len(x):
        x = x[0]
    return isinstance(x, (int, float, np.number))


def _slices(
    x: Any,
    y: Any,
    mask: Any,
    batch_size: int,
    shard: tuple[int, int] | None,
    digest: DataDigest | None,
    stand_in: bool,
) -> Iterator[Batch]:
    inputs: Any
    if isinstance(x, Mapping):
        inputs, y, mask = _split_mapping({key: as_tensor(value, key) for key, value in x.items()}, y, mask)
    else:
        inputs = as_tensor(x, "x")
    tensors = input_tensors(inputs)
    if not tensors or tensors[0].ndim == 0 or len(tensors[0]) == 0:
        raise ValueError(f"the data set is empty: x has shape {tuple(tensors[0].shape) if tensors else ()}")
    n = len(tensors[0])
    targets_and_mask = {name: None if t is None else as_tensor(t, name) for name, t in (("y", y), ("mask", mask))}
    for name, t in [*targets_and_mask.items(), *(inputs.items() if isinstance(inputs, dict) else ())]:
        if t is not None and (t.ndim == 0 or len(t) != n):
            raise ValueError(f"x has {n} rows and {name} has shape {tuple(t.shape)}")
    # all data are checked before the first batch is measured
    for start in range(0, n, batch_size):
        rows = slice(start, start + batch_size)
        _check_finite([t[rows] for t in tensors], "input", start // batch_size, start)
        if targets_and_mask["y"] is not None:
            _check_finite([targets_and_mask["y"][rows]], "target", start // batch_size, start)
    if digest is not None:
        digest.add(x=inputs, y=targets_and_mask["y"], mask=targets_and_mask["mask"])
    number, parts = shard or (0, 1)
    first, last = n * number // parts, n * (number + 1) // parts
    is_counted = first < last
    if not is_counted and not stand_in:
        raise ValueError(f"part {number} of {parts} is empty: x has {n} rows")
    if not is_counted:
        first, last = 0, 1
    for start in range(first, last, batch_size):
        rows = slice(start, min(start + batch_size, last))
        part_inputs = {key: t[rows] for key, t in inputs.items()} if isinstance(inputs, dict) else inputs[rows]
        targets, part_mask = (None if t is None else t[rows] for t in (targets_and_mask["y"], targets_and_mask["mask"]))
        yield Batch(part_inputs, targets, part_mask, start, is_counted)


def _parsed_batches(
    x: Iterable, shard: tuple[int, int] | None, digest: DataDigest | None, stand_in: bool
) -> Iterator[Batch]:
    if shard is not None and isinstance(getattr(x, "sampler", None), DistributedSampler):
        raise ValueError(
            "the loader's DistributedSampler splits the data already, and repeats samples to make equal parts: give the"
            " same loader without it to all processes"
        )
    (part, parts), start, is_empty, first_batch = shard or (0, 1), 0, True, None
    for number, batch in enumerate(batch for batch in map(_parse_batch, x) if _has_samples(batch)):
        tensors = input_tensors(batch.inputs)
        _check_finite(tensors, "input", number, start)
        if batch.targets is not None:
            _check_finite([batch.targets], "target", number, start)
        if digest is not None:
            digest.add(x=batch.inputs, y=batch.targets, mask=batch.mask)
        if first_batch is None and stand_in:
            first_batch = batch
        if number % parts == part:
            is_empty = False
            yield batch._replace(start=start)
        start += next((len(t) for t in tensors if t.ndim), 1)
    if start and is_empty and first_batch is not None:
        yield first_batch._replace(is_counted=False)
    elif start and is_empty:
        raise ValueError(f"part {part} of {parts} is empty: the iterable gave fewer batches")
    if start == 0:
        raise ValueError(
            "the data set is empty: the iterable gave no samples (is it a generator already used up, or a loader whose"
            " drop_last drops its only batch?)"
        )


def _has_samples(batch: Batch) -> bool:
    tensors = input_tensors(batch.inputs)
    return bool(tensors) and (tensors[0].ndim == 0 or len(tensors[0]) > 0)


def _parse_batch(item: Any) -> Batch:
    if not isinstance(item, (tuple, list)):
        item = (item,)
    if not 1 <= len(item) <= 3:
        raise ValueError(f"a batch is inputs, (inputs, targets) or (inputs, targets, mask), not {len(item)} parts")
    inputs, targets, mask = [*item, None, None][:3]
    if isinstance(inputs, Mapping):
        tensors = {key: as_tensor(value, key) for key, value in inputs.items()}
        inputs, targets, mask = _split_mapping(tensors, targets, mask)
    elif isinstance(inputs, (tuple, list)):
        inputs = tuple(as_tensor(value, "x") for value in inputs)
    else:
        inputs = as_tensor(inputs, "x")
    targets, mask = (None if t is None else as_tensor(t, name) for name, t in (("y", targets), ("mask", mask)))
    return Batch(inputs, targets, mask)


def _split_mapping(tensors: dict[str, Tensor], y: Any, mask: Any) -> tuple[dict[str, Tensor], Any, Any]:
    """Inputs, targets and mask of a mapping, as a Hugging Face tokenizer and collator make it."""
    labels = tensors.pop("labels", None)
    return tensors, labels if y is None else y, tensors.get("attention_mask") if mask is None else mask


def input_tensors(inputs: Any) -> list[Tensor]:
    """Return the tensors of a batch's inputs."""
    if isinstance(inputs, Tensor):
        return [inputs]
    return list(inputs.values()) if isinstance(inputs, Mapping) else list(inputs)


def sample_count(inputs: Any) -> int | None:
    """Return the number of samples of the inputs; None if the tensors' lengths differ (those of a graph, say)."""
    lengths = set() if inputs is None else {len(t) for t in input_tensors(inputs) if t.ndim}
    return lengths.pop() if len(lengths) == 1 else None


def _check_finite(tensors: list[Tensor], kind: str, number: int, start: int) -> None:
    for tensor in tensors:
        if not all_finite(tensor):
            rows = torch.atleast_1d(tensor)
            row = int((~torch.isfinite(rows)).reshape(len(rows), -1).any(1).nonzero()[0])
            raise ValueError(f"{kind} row {start + row} (row {row} of batch {number}) holds a NaN or an infinity")


def _on_model(model: nn.Module, batches: Iterator[Batch]) -> Iterator[Batch]:
    """Move batches to the model's device; floating inputs take the model's dtype if it has a single one."""
    # weights that are frozen as buffers decide where there are no others
    weights: list[Tensor] = [p for p in model.parameters() if p.is_floating_point()]
    weights = weights or [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    device = weights[0].device if weights else torch.device("cpu")
    dtypes = {weight.dtype for weight in weights}
    dtype = dtypes.pop() if len(dtypes) == 1 else None

    def move(t: Tensor) -> Tensor:
        t = t.clone() if t.is_inference() else t  # autograd keeps no inference tensor
        return t.to(device, dtype if t.is_floating_point() and dtype is not None else t.dtype)

    for inputs, targets, mask, start, is_counted in batches:
        # targets keep their own precision: the loss decides
        yield Batch(
            _changed(inputs, move),
            None if targets is None else (targets.clone() if targets.is_inference() else targets).to(device),
            None if mask is None else _boolean_mask(mask, sample_count(inputs), inputs).to(device),
            start,
            is_counted,
        )


def _boolean_mask(mask: Tensor, n: int | None, inputs: Any) -> Tensor:
    if mask.ndim != 2 or (n is not None and len(mask) != n):
        hint = "" if isinstance(inputs, Mapping) else "; the third part of a batch (inputs, targets, mask) is its mask"
        raise ValueError(
            f"a mask has the shape (n, T), a row for each of the {n} samples, not {tuple(mask.shape)}{hint}"
        )
    if mask.dtype != torch.bool and not bool(((mask == 0) | (mask == 1)).all()):
        raise ValueError(f"a mask has booleans, or 0 and 1, not numbers from {mask.min()} to {mask.max()}")
    return mask.bool()


def run_model(model: nn.Module, inputs: Any, forward: Any, number: int, hint: str = "") -> Tensor:
    """Return the model's outputs (n, ...) for the inputs of batch ``number``.

    They come from ``forward(model, inputs)`` if ``forward`` is given, else from calling the model. Of an output object,
    or a dict, they are its ``logits``, else its ``last_hidden_state``.
    Raises ValueError if the model fails, with the batch, the shapes and the ``hint``, and if the result is not a real
    tensor with at least one axis.
    """
    shapes = ", ".join(f"{tuple(t.shape)} of {t.dtype}" for t in input_tensors(inputs))
    try:
        if forward is not None:
            outputs = forward(model, inputs)
        elif isinstance(inputs, Mapping):
            outputs = model(**inputs)
        else:
            outputs = model(*inputs) if isinstance(inputs, tuple) else model(inputs)
    # torch's errors on shapes, types and indices that do not fit, and mistakes in the model's own code
    except (RuntimeError, LookupError, TypeError, AttributeError, NameError, AssertionError) as error:
        if isinstance(error, torch.OutOfMemoryError):
            raise
        reason = ": ".join([type(error).__name__, *str(error).splitlines()[:1]])
        if forward is None and isinstance(inputs, Mapping):
            hint = "; a mapping is passed as keywords: use forward=lambda m, b: m(b) for a model of one dict"
        raise ValueError(f"the model fails on inputs of shape {shapes} (batch {number}): {reason}{hint}") from error
    for name in ("logits", "last_hidden_state"):
        if not isinstance(outputs, Tensor):
            value = outputs.get(name) if isinstance(outputs, Mapping) else getattr(outputs, name, None)
            outputs = value if isinstance(value, Tensor) else outputs
    if not isinstance(outputs, Tensor):
        raise ValueError(
            f"the model gave a {type(outputs).__name__}, not a tensor; pass forward=lambda model, inputs: ..."
            " that returns the outputs to differentiate"
        )
    if outputs.ndim == 0 or not outputs.is_floating_point():
        raise ValueError(
            f"the model's outputs must be real, one row a sample, not {outputs.dtype} of shape {tuple(outputs.shape)};"
            " forward=lambda model, inputs: ... can give them so"
        )
    return outputs
