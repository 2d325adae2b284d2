"""Gradient descent by the whitened gradient of paper A, B.1: only what changes the weights' Gram matrices."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from gramlab.nets.errors import NetError
from gramlab.nets.polar import METHODS, same_gram


def whiten(W: Tensor, target: Tensor, method: str, complement: bool, stacked: bool) -> Tensor:
    """The weight that takes the place of ``target`` = W - lr * gradient: W^+ of B.1, or the complement's.

    W and target (k, ...), or (members, k, ...) if ``stacked``; what comes after k (a kernel's channels and places) is
    one dimension of the matrix. The whitened gradient is Delta = (W - W^+) / lr; the complement, Delta' = gradient -
    Delta, is what B.1 takes away: W - lr * Delta' = target + W - W^+, whose Gram is that of W up to O(lr^2).
    """
    start = 2 if stacked else 1
    matrix, wanted = W.flatten(start), target.flatten(start)
    moved = same_gram(matrix, wanted, method)
    return (wanted + matrix - moved if complement else moved).view_as(W)


class WhitenedSGD(torch.optim.Optimizer):
    """SGD whose step gives every weight matrix the Gram matrix of SGD's step, and moves it as little as that allows.

    Paper A, B.1: W^+ = argmin ||W^+ - W|| subject to W^+^T W^+ = T^T T, with T = W - lr * G the weight after torch's
    SGD. With momentum, G is SGD's buffer, buffer = momentum * buffer + gradient: momentum gathers plain gradients, and
    what they together ask for is whitened. Weight decay is part of the gradient, as in torch's SGD. Weights are the
    parameters of two or more dimensions, a convolution's (k, channels, height, width) as a matrix of k rows, as it
    acts on im2col patches (C.1); other parameters (biases) take SGD's step.

    Args:
        params: parameters or groups of them.
        lr: the step size gamma.
        momentum: of the buffer; 0 keeps none.
        weight_decay: factor of the weights that is added to their gradients.
        method: "newton-schulz" (matrix products; the faster one on a GPU) or "svd" (the faster one on a CPU for
            layers up to some hundred outputs, and exact for rank-deficient weights too), or "ten-steps", the published
            code's, which is not exact; see ``polar.same_gram``.
        complement: take only the part Delta' of the gradient that B.1 removes, as a control.
        stacked: parameters hold the weights of several networks, along a first dimension of their own.

    Weights in float16 or bfloat16 take the step that float32 gives, rounded.

    Raises NetError on a setting outside its range, a group's own among them.
    """

    def __init__(self, params: Iterable[Any], lr: float, momentum: float = 0.0, weight_decay: float = 0.0,
                 method: str = "newton-schulz", complement: bool = False, stacked: bool = False):  # fmt: skip
        settings = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "method": method,
                    "complement": complement, "stacked": stacked}  # fmt: skip
        super().__init__(params, settings)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """As torch's; raises NetError on a setting outside its range."""
        given = {**self.defaults, **param_group}
        if given["method"] not in METHODS:
            raise NetError(f"no method {given['method']!r}; there are {', '.join(METHODS)}")
        lr, momentum, decay = (given[name] for name in ("lr", "momentum", "weight_decay"))
        for name, value, good in (("lr", lr, lr > 0), ("momentum", momentum, 0 <= momentum < 1),
                                  ("weight_decay", decay, decay >= 0)):  # fmt: skip
            if not good:
                raise NetError(f"{name} cannot be {value}")
        super().add_param_group(param_group)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """One step; ``closure``, if given, is called first, with gradients on, and its loss is returned."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._move(parameter, group)
        return loss

    def _move(self, parameter: Tensor, group: dict[str, Any]) -> None:
        gradient = parameter.grad
        assert gradient is not None
        if group["weight_decay"]:
            gradient = gradient.add(parameter, alpha=group["weight_decay"])
        if group["momentum"]:
            state = self.state[parameter]
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = torch.zeros_like(parameter)
            gradient = state["momentum_buffer"].mul_(group["momentum"]).add_(gradient)
        if parameter.ndim - group["stacked"] < 2:
            parameter.add_(gradient, alpha=-group["lr"])
        else:
            target = parameter.add(gradient, alpha=-group["lr"])
            parameter.copy_(whiten(parameter, target, group["method"], group["complement"], group["stacked"]))
