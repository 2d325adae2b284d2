"""The whitened gradient of paper A, B.1: the part of the gradient that changes the Gram matrix of the weights."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from gramlab.losses import all_finite
from gramlab.nets.errors import CHECK, NetError
from gramlab.nets.polar import METHODS, same_gram


def whiten(W: Tensor, target: Tensor, method: str, complement: bool, stacked: bool) -> Tensor:
    """The weight after a whitened step, where a plain step gives ``target = W - lr * gradient`` (paper A, B.1).

    The whitened step gives W^+, see `gramlab.nets.polar.same_gram`; the whitened gradient is
    ``Delta = (W - W^+) / lr``. Its complement ``Delta' = gradient - Delta`` is the part that B.1 removes:
    ``W - lr * Delta' = target + W - W^+``, whose Gram matrix is that of W up to O(lr^2).

    Parameters
    ----------
    W, target : Tensor of shape (k, ...), or (members, k, ...) if stacked
        The dimensions after k, such as the channels and positions of a kernel, are flattened.
    method : {"newton-schulz", "svd", "ten-steps"}
        See `gramlab.nets.polar.orthogonal_factor`.
    complement : bool
        Step by the complement instead.
    stacked : bool
        Whether the first dimension runs over networks.

    Returns
    -------
    Tensor in the shape of W

    Examples
    --------
    >>> import torch
    >>> whiten(torch.eye(2), 0.9 * torch.eye(2), "svd", complement=False, stacked=False)
    tensor([[0.9000, 0.0000],
            [0.0000, 0.9000]])
    """
    start = 2 if stacked else 1
    matrix, target = W.flatten(start), target.flatten(start)
    moved = same_gram(matrix, target, method)
    return (target + matrix - moved if complement else moved).view_as(W)


class WhitenedSGD(torch.optim.Optimizer):
    """SGD that moves each weight matrix as little as possible to the Gram matrix that the plain step gives it.

    ``W^+ = argmin ||W^+ - W||`` subject to ``W^+^T W^+ = T^T T``, where ``T = W - lr * G`` is the weight after a step
    of ``torch.optim.SGD`` (paper A, B.1). With momentum, G is the buffer of SGD, so the momentum accumulates plain
    gradients and their sum is whitened. Weight decay is part of the gradient, as in ``torch.optim.SGD``.

    Weights are parameters of two or more dimensions. The kernel (k, channels, height, width) of a convolution is a
    matrix with k rows, as it acts on im2col patches (C.1). Other parameters, such as biases, take the plain step.
    Weights in float16 or bfloat16 take the step of float32, rounded.

    All whitened weights are computed before the first parameter changes, so that a step that fails changes nothing.
    During a step the optimizer therefore holds a second copy of the weights, as torch's own optimizers do by default
    on a GPU.

    Parameters
    ----------
    params : iterable of Tensor or of dict
        Parameters, or groups of them with settings of their own.
    lr : float
        The step size.
    momentum : float, optional
        Factor of the momentum buffer, in [0, 1).
    weight_decay : float, optional
        Factor of the weights that are added to their gradients.
    method : {"newton-schulz", "svd", "ten-steps"}, optional
        "newton-schulz" iterates matrix products, and is faster on a GPU. Before them come an LU factorisation, which
        estimates the smallest singular value, and, for a weight with more rows than columns, two QR factorisations.
        A singular ``W T^T`` takes the step of "svd". "svd" is faster on a CPU for layers up to some hundred outputs.
        "ten-steps", as in the published code, is not exact, and leaves a weight of zeros as it is. See
        `gramlab.nets.polar.orthogonal_factor`.
    complement : bool, optional
        Step by the part of the gradient that B.1 removes, as a control; see `whiten`.
    stacked : bool, optional
        Whether the first dimension of the parameters runs over several networks.

    Raises
    ------
    NetError
        If a setting, also one of a group, is out of range.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Linear(3, 2)
    >>> optimizer = WhitenedSGD(model.parameters(), lr=0.1, method="svd")
    >>> model(torch.ones(1, 3)).sum().backward()
    >>> W = model.weight.detach().clone()
    >>> target = W - 0.1 * model.weight.grad
    >>> optimizer.step()
    >>> torch.allclose(model.weight.T @ model.weight, target.T @ target, atol=1e-6)
    True
    """

    def __init__(self, params: Iterable[Any], lr: float, momentum: float = 0.0, weight_decay: float = 0.0,
                 method: str = "newton-schulz", complement: bool = False, stacked: bool = False):  # fmt: skip
        settings = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "method": method,
                    "complement": complement, "stacked": stacked}  # fmt: skip
        super().__init__(params, settings)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters, as in ``torch.optim.Optimizer``.

        Parameters
        ----------
        param_group : dict
            ``params``, and settings of the group.

        Raises
        ------
        NetError
            If a setting is out of range.
        """
        settings = {**self.defaults, **param_group}
        CHECK.choice("method", settings["method"], METHODS)
        for name, expected in (("lr", "a positive number"), ("momentum", "a number from 0 to below 1"),
                               ("weight_decay", "a number of at least 0")):  # fmt: skip
            value = settings[name]
            CHECK.number(name, value.item() if isinstance(value, Tensor) else value, expected)
        super().add_param_group(param_group)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Take one step.

        Parameters
        ----------
        closure : callable, optional
            Computes the gradients and returns the loss; it is called first.

        Returns
        -------
        float or None
            The loss of the closure.

        Raises
        ------
        NetError
            If a weight or its gradient holds a NaN or an infinity, from which no whitened step can be computed. All
            parameters and momentum buffers are then as before the step.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        whitened: dict[Tensor, Tensor] = {}  # the weights after the step
        for group in self.param_groups:
            for index, parameter in enumerate(group["params"]):
                if parameter.grad is None or parameter.ndim - group["stacked"] < 2:
                    continue
                target = parameter.add(self._direction(parameter, group), alpha=-group["lr"])
                options = group["method"], group["complement"], group["stacked"]
                try:
                    moved = whiten(parameter, target, *options)
                except torch.linalg.LinAlgError as error:
                    raise NetError(_not_finite(parameter, group, index)) from error
                if not all_finite(moved):  # products alone, as those of "ten-steps", raise no error
                    raise NetError(_not_finite(parameter, group, index))
                whitened[parameter] = moved
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, group, whitened.pop(parameter, None))
        return loss

    def _direction(self, parameter: Tensor, group: dict[str, Any]) -> Tensor:
        """The direction of SGD's step: the gradient with weight decay or, with momentum, the next buffer."""
        gradient = parameter.grad
        assert gradient is not None
        if group["weight_decay"]:
            gradient = gradient.add(parameter, alpha=group["weight_decay"])
        if not group["momentum"]:
            return gradient
        buffer = self.state.get(parameter, {}).get("momentum_buffer")
        return (torch.zeros_like(parameter) if buffer is None else buffer.mul(group["momentum"])).add_(gradient)

    def _update(self, parameter: Tensor, group: dict[str, Any], whitened: Tensor | None) -> None:
        """Change a parameter and its momentum buffer; a parameter without a whitened value takes the plain step."""
        direction = self._direction(parameter, group)  # a second time for whitened weights: none is held meanwhile
        if group["momentum"]:
            self.state[parameter]["momentum_buffer"] = direction
        if whitened is None:
            parameter.add_(direction, alpha=-group["lr"])
        else:
            parameter.copy_(whitened)


def _not_finite(parameter: Tensor, group: dict[str, Any], index: int) -> str:
    """Why a weight has no whitened step."""
    names = group.get("param_names")  # torch keeps them if the optimizer was given named parameters
    name = repr(names[index]) if names else f"number {index} of its group"
    gradient = parameter.grad
    holds = "gradient" if gradient is not None and not bool(torch.isfinite(gradient).all()) else "step"
    return (
        f"the {holds} of the parameter {name}, of shape {tuple(parameter.shape)}, holds a NaN or an infinity, so that"
        " it has no whitened step: lower lr or clip the gradients"
    )
