"""Copies of a model for other weights."""

import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from gramlab.measures.preserve_state import MODULE_ATTRIBUTES


def copied_model(model: nn.Module) -> nn.Module:
    """Return a copy of a model that can be run: nothing in it is the model's own.

    Parameters
    ----------
    model : torch.nn.Module

    Returns
    -------
    torch.nn.Module

    Raises
    ------
    ValueError
        If an attribute of a module cannot be copied, such as a lock; the message names the module.

    Examples
    --------
    >>> model = nn.Linear(3, 2)
    >>> copied_model(model).weight is model.weight
    False
    """
    memo = _detached(model)
    try:
        return copy.deepcopy(model, memo)
    except (TypeError, RuntimeError, AttributeError, ValueError) as error:
        for name, module in model.named_modules():
            for attribute, value in vars(module).items():
                if attribute in MODULE_ATTRIBUTES or isinstance(value, nn.Module):
                    continue
                try:
                    copy.deepcopy(value, _detached(model))
                except (TypeError, RuntimeError, AttributeError, ValueError) as reason:
                    raise ValueError(
                        f"the module {name!r}, a {type(module).__name__}, keeps {attribute!r}, which cannot be copied"
                        f" ({reason}), and centered_ptk runs a copy of the model with the initial weights: set the"
                        " attribute to None, or leave out centered_ptk and what needs it in quantities="
                    ) from error
        raise


def copied_tensors(model: nn.Module) -> nn.Module:
    """Return a model of copied parameters and buffers whose other attributes are the model's own.

    It is for reading weights, and must not be run: its forward passes may change the model.

    Parameters
    ----------
    model : torch.nn.Module

    Returns
    -------
    torch.nn.Module

    Raises
    ------
    ValueError
        If a buffer cannot be copied.

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(3, 2))
    >>> model[0].calls = iter("attributes that cannot be copied")
    >>> copied_tensors(model)[0].weight is model[0].weight
    False
    """
    memo: dict[int, Any] = {}
    modules: dict[int, nn.Module] = {}

    def copied(module: nn.Module) -> nn.Module:
        if id(module) in modules:
            return modules[id(module)]
        new: nn.Module
        if isinstance(module, torch.jit.ScriptModule):
            new = copy.deepcopy(module, memo)
        else:
            new = object.__new__(type(module))
            own = {name: value.copy() if isinstance(value, dict) and name in MODULE_ATTRIBUTES else value
                   for name, value in vars(module).items()}  # fmt: skip
            vars(new).update(own)
        modules[id(module)] = new
        if not isinstance(module, torch.jit.ScriptModule):
            for tensors in (new._parameters, new._buffers):
                for name, tensor in tensors.items():
                    tensors[name] = None if tensor is None else _copied_tensor(tensor, memo)  # tied weights stay tied
            for name, child in new._modules.items():
                new._modules[name] = None if child is None else copied(child)
        return new

    return copied(model)


def _copied_tensor(tensor: Tensor, memo: dict[int, Any]) -> Any:
    if not tensor.is_leaf:
        memo.setdefault(id(tensor), tensor.detach().clone())
    return copy.deepcopy(tensor, memo)


def _detached(model: nn.Module) -> dict[int, Any]:
    """Copies of the tensors in a graph, by id: deepcopy refuses these tensors themselves.

    They are weights that a hook computes (weight_norm of torch.nn.utils, pruning), and what a forward pass kept.
    """
    return {
        id(tensor): tensor.detach().clone()
        for module in model.modules()
        for value in vars(module).values()
        for tensor in _tensors_in(value)
        if not tensor.is_leaf
    }


def _tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors in lists, tuples, sets and dicts, at any depth."""
    seen: set[int] = set()
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, Tensor):
            yield item
        elif isinstance(item, (list, tuple, set, dict)) and id(item) not in seen:
            seen.add(id(item))
            stack.extend(item.values() if isinstance(item, dict) else item)
