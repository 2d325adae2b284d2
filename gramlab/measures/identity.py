"""What a part of a measurement is made from, as digests: parts with other weights, data or functions do not merge.

A function is known by its code, defaults and closure, not by what it calls: two functions that differ in a global
helper alone are taken for equal. Parts are compared under one version of Python, whose code differs from others'.
"""

import functools
import hashlib
import re
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch import distributed as dist

from gramlab.measures.preserve_state import dense_parts
from gramlab.measures.shards import local_tensor

Identity = dict[str, Any]  # name -> digest, or digests by part

# the types of a module's attributes that are compared: others may be caches of a forward pass
_HELD = (FunctionType, MethodType, bool, int, float, str, tuple)

_SHOWN = 3  # how many differing names an error lists


class DataDigest:
    """The digests of inputs, targets and masks, which may come in batches."""

    def __init__(self) -> None:
        self._hashes: dict[str, Any] = {}

    def add(self, **values: Any) -> None:
        """Add the arrays of a name: a tensor, a mapping or sequence of them, or None."""
        for name, value in values.items():
            digest = self._hashes.setdefault(name, hashlib.sha256())
            if isinstance(value, Mapping):
                tensors = {str(key): value[key] for key in sorted(value)}
            elif isinstance(value, (tuple, list)):
                tensors = {str(number): tensor for number, tensor in enumerate(value)}
            else:
                tensors = {} if value is None else {"": value}
            for key, tensor in tensors.items():
                digest.update(key.encode())
                _add_tensor(digest, tensor)

    def result(self) -> dict[str, str]:
        """Return a digest for each name."""
        return {name: digest.hexdigest() for name, digest in self._hashes.items()}


def origin_digests(
    model: nn.Module,
    initial: nn.Module | Mapping[str, Tensor] | None,
    loss: Any,
    forward: Callable[..., Any] | None,
) -> Identity:
    """Return the digests of everything that must be the same in all parts, except the data.

    Of parameters that FSDP has split each process digests its own piece; all processes must call this.

    Parameters
    ----------
    model : torch.nn.Module
    initial : torch.nn.Module, state dict or None
    loss : str, callable or None
    forward : callable or None

    Returns
    -------
    dict
    """
    weights = initial.state_dict() if isinstance(initial, nn.Module) else initial
    kind = next((p.device.type for p in model.parameters()), "cpu")
    return {
        "weights": _state_digests(model.state_dict()),
        "initial weights": {} if weights is None else _state_digests(weights),
        "settings or code of the model": _model_digest(model, set()),
        "loss function": callable_digest(loss) if callable(loss) else str(loss),
        "forward function": None if forward is None else callable_digest(forward),
        "autocast": str(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else None,
    }


def differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """Return the names of what differs between two identities.

    Examples
    --------
    >>> differences({"weights": {"0.bias": "1", "0.weight": "2"}, "x": "3"}, {"weights": {"0.bias": "4"}, "x": "3"})
    ["weights ('0.bias', '0.weight')"]
    """
    differing: list[str] = []
    for key in dict.fromkeys([*a, *b]):
        first, second = a.get(key), b.get(key)
        if first == second:
            continue
        if isinstance(first, Mapping) and isinstance(second, Mapping):
            names = [name for name in dict.fromkeys([*first, *second]) if first.get(name) != second.get(name)]
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            differing.append(f"{key} ({', '.join(map(repr, names[:_SHOWN]))}{more})")
        else:
            differing.append(key)
    return differing


def callable_digest(function: Any) -> str:
    """Return a digest of a callable's code and of what it holds.

    Examples
    --------
    >>> first, second, third = (callable_digest(f) for f in (lambda x: x + 1, lambda x: x + 1, lambda x: x + 2))
    >>> first == second, first == third
    (True, False)
    """
    digest = hashlib.sha256()
    _add(digest, function, set())
    return digest.hexdigest()


def _state_digests(state: Mapping[str, Any]) -> dict[str, str]:
    """A digest for each entry of a state dict; those of split tensors' pieces are put together over processes."""
    digests, split_names = {}, []
    for name, value in state.items():
        digest = hashlib.sha256()
        if isinstance(value, Tensor):
            _add_tensor(digest, local_tensor(value.detach()))
        else:
            _add(digest, value, set())
        digests[name] = digest.hexdigest()
        if hasattr(value, "to_local"):
            split_names.append(name)
    if split_names:
        pieces: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(pieces, [digests[name] for name in split_names])
        for name, piece_digests in zip(split_names, zip(*pieces, strict=True), strict=True):
            digests[name] = hashlib.sha256("".join(piece_digests).encode()).hexdigest()
    return digests


def _model_digest(model: nn.Module, seen: set[int]) -> str:
    """A digest of the modules' settings, as their reprs and attributes state them, and of code that is not torch's."""
    digest = hashlib.sha256(re.sub(r"0x[0-9a-f]+", "", repr(model)).encode())
    seen.update(map(id, model.modules()))
    for module in model.modules():
        if not type(module).__module__.startswith("torch.") and id(type(module)) not in seen:
            seen.add(id(type(module)))
            _add(digest, type(module).forward, seen)
        attributes = [
            (name, value) for name, value in vars(module).items() if isinstance(value, _HELD) and name != "training"
        ]
        buffers = [(name, module._buffers[name]) for name in sorted(module._non_persistent_buffers_set)]
        for name, value in attributes + buffers:
            digest.update(name.encode())
            _add(digest, value, seen)
    return digest.hexdigest()


def _add(digest: Any, value: Any, seen: set[int]) -> None:
    """Add a value that a function holds. Of an object of any type that is not listed here, only the class counts."""
    digest.update(type(value).__qualname__.encode())
    if isinstance(value, Tensor):
        _add_tensor(digest, local_tensor(value.detach()))
    elif isinstance(value, np.ndarray):
        _add_tensor(digest, torch.from_numpy(np.ascontiguousarray(value)))
    elif isinstance(value, CodeType):
        digest.update(value.co_code)
        _add(digest, [value.co_names, value.co_consts], seen)
    elif isinstance(value, (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), torch.dtype)):
        digest.update(repr(value).encode())
    elif id(value) in seen:  # a function that holds itself
        return
    elif isinstance(value, (tuple, list)):
        for part in value:
            _add(digest, part, seen)
    elif isinstance(value, (set, frozenset)):
        digest.update(repr(sorted(map(repr, value))).encode())
    elif isinstance(value, Mapping):
        for key in value:
            digest.update(repr(key).encode())
            _add(digest, value[key], seen)
    elif isinstance(value, FunctionType):
        seen.add(id(value))
        _add(digest, [value.__code__, value.__defaults__, value.__kwdefaults__, _closure(value)], seen)
    elif isinstance(value, MethodType):
        _add(digest, value.__func__, seen)
        _add(digest, value.__self__, seen)
    elif isinstance(value, functools.partial):
        _add(digest, [value.func, value.args, value.keywords], seen)
    elif isinstance(value, nn.Module):
        digest.update((_model_digest(value, seen) + repr(_state_digests(value.state_dict()))).encode())
    elif isinstance(value, type) or not hasattr(value, "__dict__"):
        digest.update(getattr(value, "__qualname__", "").encode())
    elif callable(value):
        seen.add(id(value))
        _add(digest, getattr(type(value).__call__, "__code__", None), seen)
        _add(digest, vars(value), seen)


def _closure(function: FunctionType) -> list[Any]:
    contents = []
    for cell in function.__closure__ or ():
        try:
            contents.append(cell.cell_contents)
        except ValueError:  # an empty cell
            contents.append(None)
    return contents


def _add_tensor(digest: Any, tensor: Tensor) -> None:
    digest.update(f"{tensor.dtype} {tuple(tensor.shape)}".encode())
    if tensor.layout != torch.strided:
        digest.update(str(tensor.layout).encode())
        for part in dense_parts(tensor.detach()):
            _add_tensor(digest, part)
        return
    digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
