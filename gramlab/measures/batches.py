"""Batches of inputs, targets and masks, from whatever the caller has, checked as they come."""

from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from gramlab.measures.arrays import as_tensor, finite

Data = Tensor | np.ndarray | Mapping | Iterable


class Batch(NamedTuple):
    """One batch: what the model is called with, its targets, and which tokens count."""

    inputs: Any  # a tensor, a tuple of tensors, or a mapping of them
    targets: Tensor | None
    mask: Tensor | None  # (n, T) booleans


def stream(model: nn.Module, x: Data, y: Any, mask: Any, batch_size: int) -> Iterator[Batch]:
    """Batches on the model's device, floating-point inputs in the model's dtype.

    ``x`` is a tensor, array, data frame or list of numbers (n, ...), or a mapping of them, cut into batches of
    ``batch_size``; or an iterable of batches as they are: inputs, (inputs, targets), (inputs, targets, mask), or a
    mapping, whose "labels" are the targets and whose "attention_mask" is the mask.
    Raises ValueError on NaN or infinite inputs (which batch, which row), unequal lengths, and an empty data set.
    """
    whole_rows(batch_size)
    whole = isinstance(x, Mapping) or hasattr(x, "__array__") or (isinstance(x, (list, tuple)) and _are_numbers(x))
    if not whole and (y is not None or mask is not None):
        raise ValueError("with an iterable of batches, targets and mask come in its batches, not beside it")
    if not whole and not isinstance(x, Iterable):
        raise ValueError(f"x must be a tensor, an array, a mapping or an iterable of batches, not a {type(x).__name__}")
    return _checked(model, _cut(x, y, mask, batch_size) if whole else _given(x))


def whole_rows(batch_size: Any) -> None:
    """Raise ValueError unless it is a whole number of at least 1."""
    if not isinstance(batch_size, Integral) or batch_size < 1:
        raise ValueError(f"batch_size must be a whole number of at least 1, not {batch_size!r}")


def _are_numbers(x: Any) -> bool:
    """Whether it is a list of numbers, or of lists of them, and not of batches."""
    while isinstance(x, (list, tuple)) and len(x):
        x = x[0]
    return isinstance(x, (int, float, np.number))


def _cut(x: Any, y: Any, mask: Any, batch_size: int) -> Iterator[Batch]:
    inputs: Any
    if isinstance(x, Mapping):
        parts = {key: as_tensor(value, key) for key, value in x.items()}
        inputs, y, mask = _named(parts, y, mask)
    else:
        inputs = as_tensor(x, "x")
    all_parts = leaves(inputs)
    if not all_parts or all_parts[0].ndim == 0 or len(all_parts[0]) == 0:
        shape = tuple(all_parts[0].shape) if all_parts else ()
        raise ValueError(f"the data set is empty: x has shape {shape}")
    n = len(all_parts[0])
    others = {"y": y, "mask": mask}
    tensors = {name: None if t is None else as_tensor(t, name) for name, t in others.items()}
    for name, t in [*tensors.items(), *(inputs.items() if isinstance(inputs, dict) else ())]:
        if t is not None and (t.ndim == 0 or len(t) != n):
            raise ValueError(f"x has {n} rows and {name} has shape {tuple(t.shape)}")
    # all of it is looked at before the first batch is measured
    for start in range(0, n, batch_size):
        _finite([t[start : start + batch_size] for t in all_parts], "input", start // batch_size, start)
        if tensors["y"] is not None:
            _finite([tensors["y"][start : start + batch_size]], "target", start // batch_size, start)
    for start in range(0, n, batch_size):
        part = slice(start, start + batch_size)
        cut = {key: t[part] for key, t in inputs.items()} if isinstance(inputs, dict) else inputs[part]
        yield Batch(cut, *(None if t is None else t[part] for t in tensors.values()))


def _given(x: Iterable) -> Iterator[Batch]:
    start = 0
    for number, batch in enumerate(x):
        made = _batch(batch)
        parts = leaves(made.inputs)
        _finite(parts, "input", number, start)
        if made.targets is not None:
            _finite([made.targets], "target", number, start)
        start += len(parts[0])
        yield made
    if start == 0:
        raise ValueError("the data set is empty: the iterable gave no samples (is it a generator already used up?)")


def _batch(batch: Any) -> Batch:
    if isinstance(batch, Mapping):
        return Batch(*_named({key: as_tensor(value, key) for key, value in batch.items()}, None, None))
    if isinstance(batch, (tuple, list)):
        if not 1 <= len(batch) <= 3:
            raise ValueError(f"a batch is inputs, (inputs, targets) or (inputs, targets, mask), not {len(batch)} parts")
        inputs, targets, mask = [*batch, None, None][:3]
        if isinstance(inputs, Mapping):
            inputs, targets, mask = _named({k: as_tensor(v, k) for k, v in inputs.items()}, targets, mask)
        elif isinstance(inputs, (tuple, list)):
            inputs = tuple(as_tensor(part, "x") for part in inputs)
        else:
            inputs = as_tensor(inputs, "x")
        return Batch(
            inputs,
            None if targets is None else as_tensor(targets, "y"),
            None if mask is None else as_tensor(mask, "mask"),
        )
    return Batch(as_tensor(batch, "x"), None, None)


def _named(parts: dict[str, Tensor], y: Any, mask: Any) -> tuple[dict[str, Tensor], Any, Any]:
    """Inputs, targets and mask of a mapping such as a Hugging Face tokenizer and collator give."""
    labels = parts.pop("labels", None)
    return parts, labels if y is None else y, parts.get("attention_mask") if mask is None else mask


def leaves(inputs: Any) -> list[Tensor]:
    """The tensors of a batch's inputs."""
    if isinstance(inputs, Tensor):
        return [inputs]
    return list(inputs.values()) if isinstance(inputs, Mapping) else list(inputs)


def rows_of(inputs: Any) -> int | None:
    """How many samples the inputs have; None where they don't tell, tensors of several lengths (a graph's, say)."""
    lengths = set() if inputs is None else {len(t) for t in leaves(inputs) if t.ndim}
    return lengths.pop() if len(lengths) == 1 else None


def _finite(parts: list[Tensor], what: str, number: int, start: int) -> None:
    for leaf in parts:
        if not finite(leaf):
            row = int((~torch.isfinite(leaf)).reshape(len(leaf), -1).any(1).nonzero()[0])
            raise ValueError(f"{what} row {start + row} (row {row} of batch {number}) holds a NaN or an infinity")


def _checked(model: nn.Module, batches: Iterator[Batch]) -> Iterator[Batch]:
    """Move batches to where the model is; a model of one floating dtype gets floating inputs in it."""
    parameters = [p for p in model.parameters() if p.is_floating_point()]
    device = parameters[0].device if parameters else torch.device("cpu")
    dtypes = {p.dtype for p in parameters}
    dtype = dtypes.pop() if len(dtypes) == 1 else None

    def move(t: Tensor) -> Tensor:
        return t.to(device, dtype if t.is_floating_point() and dtype is not None else t.dtype)

    for inputs, targets, mask in batches:
        if isinstance(inputs, Tensor):
            moved: Any = move(inputs)
        elif isinstance(inputs, Mapping):
            moved = {key: move(t) for key, t in inputs.items()}
        else:
            moved = tuple(move(t) for t in inputs)
        # targets keep their own precision: the loss decides
        yield Batch(
            moved,
            None if targets is None else targets.to(device),
            None if mask is None else _token_mask(mask, rows_of(inputs)).to(device),
        )


def _token_mask(mask: Tensor, n: int | None) -> Tensor:
    if mask.ndim != 2 or (n is not None and len(mask) != n):
        raise ValueError(f"a mask has the shape (n, T), a row for each of the {n} samples, not {tuple(mask.shape)}")
    if mask.dtype != torch.bool and not bool(((mask == 0) | (mask == 1)).all()):
        raise ValueError(f"a mask has booleans, or 0 and 1, not numbers from {mask.min()} to {mask.max()}")
    return mask.bool()


def call(model: nn.Module, inputs: Any, forward: Any) -> Tensor:
    """The model's outputs (n, ...) for a batch, by ``forward(model, inputs)`` or the usual way of calling.

    Raises ValueError if no tensor of at least one axis comes out.
    """
    if forward is not None:
        outputs = forward(model, inputs)
    elif isinstance(inputs, Mapping):
        outputs = model(**inputs)
    else:
        outputs = model(*inputs) if isinstance(inputs, tuple) else model(inputs)
    for name in ("logits", "last_hidden_state"):
        if not isinstance(outputs, Tensor) and isinstance(getattr(outputs, name, None), Tensor):
            outputs = getattr(outputs, name)
    if not isinstance(outputs, Tensor):
        raise ValueError(
            f"the model gave a {type(outputs).__name__}, not a tensor; pass forward=lambda model, inputs: ..."
            " that returns the outputs to differentiate"
        )
    if outputs.ndim == 0 or not outputs.is_floating_point():
        raise ValueError(
            f"the model's outputs must be real, one row a sample, not {outputs.dtype} of shape {tuple(outputs.shape)}"
        )
    return outputs
