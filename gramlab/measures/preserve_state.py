"""Run a model for measuring and restore its state afterwards."""

import random
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gramlab.measures.shards import local_tensor

# settings by which torch may round float32 products to TF32 or bfloat16. Parents come first: the others follow them
# unless they have a setting of their own, and only those are set back
_PRODUCTS: list[Any] = [torch.backends, torch.backends.cudnn] + [
    getattr(library, kind)
    for library, kinds in (
        (torch.backends.cuda, ["matmul"]),
        (torch.backends.cudnn, ["conv", "rnn"]),
        (torch.backends.mkldnn, ["matmul", "conv", "rnn"]),
    )
    for kind in kinds
]


# measurements in several threads take turns: they put functions in torch's place, and set its modes and random states
_TURNS = threading.RLock()

# the attributes of every module: mode, tensors, submodules and hooks
MODULE_ATTRIBUTES = frozenset(vars(nn.Module()))
# the hooks of forward and backward passes, and what torch keeps about each of them
_HOOKS = sorted(name for name in MODULE_ATTRIBUTES if re.match("_(forward|backward)(_pre)?_hooks", name))


@contextmanager
def preserved_state(model: nn.Module, x: Any = None) -> Iterator[None]:
    """Keep the model in evaluation mode while the context is open; restore what the model holds afterwards.

    Modes are set module by module, since a subclass may give ``eval()`` side effects. Parameters, buffers, tensors that
    are attributes, sparse ones too, get their old contents back, and every attribute its old value: lists and dicts get
    their old items, and parameters their ``.grad`` and ``requires_grad``. What the forward pass registers, hooks too,
    is removed, and a hook that it removes comes back. Random states are those of torch (CPU and the model's CUDA
    devices), numpy, ``random``, and the generators of a DataLoader: a pass over it draws a seed. float32 products are
    computed in float32, not in TF32 or bfloat16, whatever torch's settings are, and torch's fused encoder layers are
    switched off. What ``torch.compile`` compiled, a module or a function, runs uncompiled meanwhile, so that nothing is
    compiled again. Threads take turns.

    Other objects that attributes name, tensors within lists and dicts, and a sampler's or data set's own state are left
    as the forward passes leave them.

    Parameters
    ----------
    model : torch.nn.Module
    x : any, optional
        The data. The generators of a DataLoader are set back.

    Raises
    ------
    ValueError
        If ``model`` is not a module, is TorchScript's, or has weights on the meta device.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Dropout().train()
    >>> with preserved_state(model):
    ...     print(model.training)
    False
    >>> model.training
    True
    """
    if not isinstance(model, nn.Module):
        raise ValueError(f"the model must be a torch.nn.Module, not a {type(model).__name__}")
    if isinstance(model, torch.jit.ScriptModule):
        raise ValueError("TorchScript hides the model's layers: give the module that was traced or scripted")
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if tensor.is_meta:
            raise ValueError(
                f"the model's {name!r} is on the meta device, without numbers: move the model by"
                " to_empty(device=...) and load its weights first"
            )
    devices = sorted({p.device.index for p in model.parameters() if p.device.type == "cuda"})
    with _TURNS, ExitStack() as stack:  # all callbacks run, also after one that fails
        modes = [(module, module.training) for module in model.modules()]
        for restore in _restoring(model):
            stack.callback(restore)
        for generator in _generators(x):
            stack.callback(generator.set_state, generator.get_state())
        stack.callback(np.random.set_state, np.random.get_state())
        stack.callback(random.setstate, random.getstate())
        stack.enter_context(torch.random.fork_rng(devices))
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        for module, training in modes:
            stack.callback(setattr, module, "training", training)
        precisions: list[tuple[Any, str]] = []
        stack.callback(_set_precisions, precisions)
        for products in _PRODUCTS:
            if (precision := products.fp32_precision) != "ieee":
                precisions.append((products, precision))
                products.fp32_precision = "ieee"
        # torch's fused encoder layers call no layer, and give other numbers for padded tokens
        stack.callback(torch.backends.mha.set_fastpath_enabled, torch.backends.mha.get_fastpath_enabled())
        torch.backends.mha.set_fastpath_enabled(False)
        stack.enter_context(_uncompiled())
        for module, _ in modes:
            module.training = False
        yield


def _uncompiled() -> AbstractContextManager:
    """Run what is compiled uncompiled: with hooks, and in another mode, torch would compile it again."""
    if "torch._dynamo" not in sys.modules:  # then nothing is compiled; it takes long to import
        return nullcontext()
    # torch refuses it within a compiled function, such as a training step with a recorder, traced or not
    if torch.compiler.is_dynamo_compiling():
        return nullcontext()
    try:
        return torch.compiler.set_stance("force_eager")
    except RuntimeError:
        return nullcontext()


def _set_precisions(precisions: list[tuple[Any, str]]) -> None:
    for products, precision in precisions:
        products.fp32_precision = precision


def _restoring(model: nn.Module) -> Iterator[Callable[[], None]]:
    """Yield what restores the tensors of the model, then its attributes, to be called in the reverse order."""
    tensors: dict[int, Tensor] = {}
    for module in model.modules():
        attributes = {name: value for name, value in vars(module).items() if name not in MODULE_ATTRIBUTES}
        for values in (module._parameters, module._buffers, attributes):
            tensors |= {id(value): value for value in values.values() if isinstance(value, Tensor)}
        yield partial(_restore_attributes, module, attributes)
        for value in attributes.values():
            if type(value) in (list, dict):
                yield partial(_restore_items, value, value.copy())
        for names in (module._parameters, module._buffers, module._modules):
            if not isinstance(names, dict):  # a traced module's names cannot change
                continue
            yield partial(_restore_names, names, dict(names))
        for hooks in map(vars(module).get, _HOOKS):
            if isinstance(hooks, dict):
                yield partial(_restore_hooks, hooks, list(hooks.items()))
    for tensor in tensors.values():
        yield partial(_restore_requires_grad, tensor, tensor.requires_grad)
        if tensor.is_leaf and (tensor.requires_grad or tensor.grad is not None):
            # a backward pass within the forward pass gets a gradient of its own, so that this one needs no copy
            yield partial(setattr, tensor, "grad", tensor.grad)
            tensor.grad = None
        local = local_tensor(tensor.detach()) if hasattr(tensor, "to_local") else tensor
        if type(local) not in (Tensor, nn.Parameter) or local.is_meta or local.is_nested:
            continue
        if local.layout == torch.strided and _has_memory(local):
            yield partial(_restore_contents, local, local.detach().clone())
        elif local.layout != torch.strided:
            alias = local.detach()
            yield partial(_restore_sparse, local, alias)
            for dense in dense_parts(alias):
                yield partial(_restore_contents, dense, dense.clone())


def _restore_attributes(module: nn.Module, before: dict[str, Any]) -> None:
    attributes = vars(module)
    for name in [name for name in attributes if name not in before and name not in MODULE_ATTRIBUTES]:
        del attributes[name]
    attributes.update({name: value for name, value in before.items() if attributes.get(name) is not value})


def _restore_items(values: list | dict, before: Any) -> None:
    if isinstance(values, list):
        values[:] = before
    else:
        values.clear()
        values.update(before)


def _restore_names(values: dict[str, Any], before: dict[str, Any]) -> None:
    for name in values.keys() - before.keys():
        del values[name]
    for name, value in before.items():
        current = values.get(name)
        # FSDP itself puts whole weights in place of its pieces, and the pieces back
        if current is not value and not hasattr(value, "to_local") and not hasattr(current, "to_local"):
            values[name] = value


def _restore_hooks(hooks: dict[int, Any], before: list[tuple[int, Any]]) -> None:
    if list(hooks.items()) != before:  # torch may be going through hooks that have not changed
        hooks.clear()
        hooks.update(before)


def _restore_requires_grad(tensor: Tensor, before: bool) -> None:
    if tensor.is_leaf and tensor.requires_grad != before:
        tensor.requires_grad_(before)


def dense_parts(tensor: Tensor) -> list[Tensor]:
    """Return the dense tensors that hold the places and numbers of a sparse one; none of another layout."""
    if tensor.layout == torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    return []


def _restore_sparse(tensor: Tensor, before: Tensor) -> None:
    """Give a sparse tensor its dense parts back, if it has others now."""
    parts = zip(dense_parts(tensor.detach()), dense_parts(before), strict=True)
    if any(
        current.data_ptr() != part_before.data_ptr() or current.shape != part_before.shape
        for current, part_before in parts
    ):
        tensor.data = before


def _has_memory(tensor: Tensor) -> bool:
    """Whether a tensor has the memory of its entries, which FSDP frees of whole weights."""
    return tensor.numel() == 0 or tensor.untyped_storage().nbytes() > 0


def _restore_contents(tensor: Tensor, contents: Tensor) -> None:
    if not _has_memory(tensor):
        return
    with torch.inference_mode(tensor.is_inference()), torch.no_grad():
        if tensor.shape != contents.shape or tensor.dtype != contents.dtype or tensor.device != contents.device:
            tensor.data = contents
        elif not torch.equal(tensor, contents):
            tensor.data.copy_(contents)  # tensor.data keeps the version, so that graphs of these contents stay valid


def _generators(x: Any) -> list[torch.Generator]:
    """The generators of a DataLoader and of its sampler, from which a pass over the data draws."""
    owners = x, getattr(x, "sampler", None), getattr(x, "batch_sampler", None)
    generators = {id(g): g for owner in owners if isinstance(g := getattr(owner, "generator", None), torch.Generator)}
    return list(generators.values())
