"""Run a model for measuring and give it back as it was."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn

# where torch may have been told to round float32 products to TF32 or bfloat16: first what the others follow unless
# they have a setting of their own, which only those get back that had one
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
def untouched(model: nn.Module) -> Iterator[None]:
    """Inside, the model is in evaluation mode; afterwards mode, buffers and random states are as before.

    float32 products are taken in float32 inside, not in TF32 or bfloat16, whatever torch has been told.

    Modes are set module by module, not by ``model.eval()``, which a subclass may have given side effects.
    Buffers that a module writes to even in evaluation get their old contents, and their old tensors, back.
    The random states are those of torch (CPU and the model's CUDA devices), numpy and ``random``: a DataLoader
    takes a seed from torch's whenever it is iterated.
    Raises ValueError if ``model`` is no module.
    """
    if not isinstance(model, nn.Module):
        raise ValueError(f"the model must be a torch.nn.Module, not a {type(model).__name__}")
    modes = [(module, module.training) for module in model.modules()]
    buffers = [
        (module, name, buffer, buffer.detach().clone())
        for module in model.modules()
        for name, buffer in module._buffers.items()
        if buffer is not None
    ]
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
        for module, name, buffer, kept in buffers:
            if not torch.equal(buffer, kept):
                with torch.no_grad():
                    buffer.copy_(kept)
            if module._buffers.get(name) is not buffer:
                module._buffers[name] = buffer
        random.setstate(states[0])
        np.random.set_state(states[1])
