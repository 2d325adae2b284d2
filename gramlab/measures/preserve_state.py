"""Run a model for measuring and restore its state afterwards."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn

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


@contextmanager
def preserved_state(model: nn.Module) -> Iterator[None]:
    """Keep the model in evaluation mode while the context is open; restore mode, buffers and random states after it.

    Modes are set module by module, since a subclass may give ``eval()`` side effects. Buffers that a module writes to
    even in evaluation get their old contents, and their old tensors, back. So do attributes that are numbers, strings
    or booleans, such as a count of calls. Random states are those of torch (CPU and the model's CUDA devices), numpy
    and ``random``: iterating over a DataLoader draws a seed from torch's. float32 products are computed in float32, not
    in TF32 or bfloat16, whatever torch's settings are.

    Parameters
    ----------
    model : torch.nn.Module

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
    modes = [(module, module.training) for module in model.modules()]
    buffers = [
        (module, name, buffer, buffer.detach().clone())
        for module in model.modules()
        for name, buffer in module._buffers.items()
        if buffer is not None
    ]
    attributes = [(module, _plain_attributes(module)) for module in model.modules()]
    devices = sorted({p.device.index for p in model.parameters() if p.device.type == "cuda"})
    states = random.getstate(), np.random.get_state()
    precisions = []
    try:
        with torch.random.fork_rng(devices), torch.inference_mode(False), torch.enable_grad():
            for products in _PRODUCTS:
                if (precision := products.fp32_precision) != "ieee":
                    precisions.append((products, precision))
                    products.fp32_precision = "ieee"
            for module, _ in modes:
                module.training = False
            yield
    finally:
        for products, precision in precisions:
            products.fp32_precision = precision
        for module, training in modes:
            module.training = training
        for module, before in attributes:
            after = _plain_attributes(module)
            for name in after.keys() - before.keys():
                del vars(module)[name]
            vars(module).update({name: value for name, value in before.items() if after.get(name) is not value})
        for module, name, buffer, contents in buffers:
            if not torch.equal(buffer, contents):
                with torch.no_grad():
                    buffer.copy_(contents)
            if module._buffers.get(name) is not buffer:
                module._buffers[name] = buffer
        random.setstate(states[0])
        np.random.set_state(states[1])


def _plain_attributes(module: nn.Module) -> dict[str, Any]:
    """A module's own numbers, strings and booleans."""
    return {name: value for name, value in vars(module).items()
            if isinstance(value, (bool, int, float, str)) and name != "training"}  # fmt: skip
