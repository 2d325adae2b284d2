"""B.prop3 and B.prop4: small networks without biases at initialization, by automatic differentiation.

For B.prop3 all weights follow the gradient flow for a time t, by one Runge-Kutta step of order 4, whose error O(t^5)
in the weights is far below the remainders, O(t^3); what a weight has moved is summed by itself: it keeps its digits.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from gramlab.nets import ACTIVATIONS
from gramlab.streams import stream
from tasks.settings.simulation import Simulation

TIMES = [2.0**-power for power in range(4, 25)]
SMOOTH = ("gelu", "tanh", "softplus", "sigmoid", "quadratic")  # ReLU's K jumps where a unit switches
LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {  # of (outputs, targets), each (n,)
    "squares": lambda f, y: (f - y).square().sum() / 2,
    "logistic": lambda f, y: F.softplus(-y.sign() * f).sum(),
    "Huber": lambda f, y: F.huber_loss(f, y, reduction="sum"),
    "exponential": lambda f, y: torch.exp(-y.sign() * f).mean(),
}


class Settings(Simulation):
    """Settings of this experiment."""


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: prop3/remainder at each time x, prop4/nfm and prop4/agop residuals."""
    for instance in range(settings.instances):
        yield from proposition_3(instance)
        yield from proposition_4(instance)


def drawn(claim: str, instance: int, names: tuple[str, ...]) -> tuple[str, list[Tensor], Tensor, Tensor]:
    """An activation, weights of one to three hidden layers and one output of size about 1, x, y."""
    draw = stream("b_dynamics", claim, instance)
    activation, depth = names[instance % len(names)], 1 + instance % 3
    n, sizes = int(draw.integers(4, 20)), [int(draw.integers(3, 12)) for _ in range(depth + 1)]
    shapes = zip([*sizes[1:], 1], sizes, strict=True)
    weights = [torch.from_numpy(draw.normal(size=(k, d))) / d**0.5 for k, d in shapes]
    x, y = torch.from_numpy(draw.normal(size=(n, sizes[0]))), torch.from_numpy(draw.normal(size=n))
    weights[-1] /= float(forward(weights, x, activation)[2].norm()) / n**0.5 or 1.0
    return activation, weights, x, y


def forward(weights: list[Tensor], x: Tensor, activation: str) -> tuple[list[Tensor], list[Tensor], Tensor]:
    """Inputs (n, d_l) and pre-activations (n, k_l) of the hidden layers, and the outputs (n,)."""
    inputs, before = [], []
    for W in weights[:-1]:
        inputs.append(x)
        before.append(x @ W.T)
        x = ACTIVATIONS[activation]()(before[-1])
    return inputs, before, (x @ weights[-1].T)[:, 0]


def tangents(weights: list[Tensor], x: Tensor, activation: str) -> list[Tensor]:
    """∂f(x_i)/∂h (n, k_l) of every hidden layer."""
    with torch.enable_grad():
        live = [W.detach().requires_grad_() for W in weights]
        _, before, f = forward(live, x, activation)
        return list(torch.autograd.grad(f.sum(), before))


def velocity(weights: list[Tensor], x: Tensor, y: Tensor, activation: str, loss: str) -> list[Tensor]:
    """Ẇ = −∂L/∂W of every weight."""
    live = [W.detach().requires_grad_() for W in weights]
    return [-one for one in torch.autograd.grad(LOSSES[loss](forward(live, x, activation)[2], y), live)]


def proposition_3(instance: int) -> Iterator[dict]:
    """Remainders of W̄ᵀW̄ and W̄ᵀKW̄ less t² ẆᵀẆ and t² ẆᵀK₀Ẇ: all of their Taylor polynomials of order 2."""
    activation, start, x, y = drawn("prop3", instance, SMOOTH)

    def flow(moved: list[Tensor]) -> list[Tensor]:
        return velocity([W + step for W, step in zip(start, moved, strict=True)], x, y, activation, "squares")

    still = [torch.zeros_like(W) for W in start]
    first = flow(still)
    kernels = [J.T @ J for J in tangents(start, x, activation)]
    # in units of the time in which the fastest weight would move by its own norm
    unit = min(float(W.norm() / rate.norm()) for W, rate in zip(start, first, strict=True))
    for t in (unit * power for power in TIMES):
        second = flow([t / 2 * one for one in first])
        third = flow([t / 2 * one for one in second])
        fourth = flow([t * one for one in third])
        moved = [t / 6 * (a + 2 * b + 2 * c + d) for a, b, c, d in zip(first, second, third, fourth, strict=True)]
        later = tangents([W + step for W, step in zip(start, moved, strict=True)], x, activation)
        for layer, J in enumerate(later):
            W, rate, step, kernel, K = start[layer], first[layer], moved[layer], kernels[layer], J.T @ J
            nfm, agop, now = t**2 * rate.T @ rate, t**2 * rate.T @ kernel @ rate, W + step
            uncentered = "control: uncentered"
            for arm, name, remainder in (
                ("claim", "NFM", step.T @ step - nfm),
                ("claim", "AGOP", step.T @ K @ step - agop),
                (uncentered, "NFM", now.T @ now - W.T @ W - nfm),
                (uncentered, "AGOP", now.T @ K @ now - W.T @ kernel @ W - agop),
            ):
                yield {"arm": arm, "case": f"{instance}: {activation}", "layer": f"{layer}, {name}", "x": t / unit,
                       "dtype": "float64", "quantity": "prop3/remainder", "value": float(remainder.norm())}  # fmt: skip


def proposition_4(instance: int) -> Iterator[dict]:
    """Both sides of (3), the left from the loss's gradient, over (lengths of the sums) x (norms of the factors)."""
    activation, weights, x, y = drawn("prop4", instance, tuple(sorted(ACTIVATIONS)))
    loss = list(LOSSES)[instance % len(LOSSES)]
    for dtype in (torch.float64, torch.float32):
        W, x, y = [one.to(dtype) for one in weights], x.to(dtype), y.to(dtype)
        inputs, _, f = forward(W, x, activation)
        f = f.detach().requires_grad_()
        (slopes,) = torch.autograd.grad(LOSSES[loss](f, y), f)
        J, steps = tangents(W, x, activation), velocity(W, x, y, activation, loss)
        for layer in range(len(J)):
            step, LX = steps[layer], slopes[:, None] * inputs[layer]
            K = J[layer].T @ J[layer]
            arms = {"claim": layer} | ({"control: kernel of another layer": (layer + 1) % len(J)} if len(J) > 1 else {})
            for arm, at in arms.items():
                kernel = J[at] @ J[at].T
                gaps = {"nfm": step.T @ step - LX.T @ kernel @ LX,
                        "agop": step.T @ K @ step - LX.T @ kernel @ kernel @ LX}  # fmt: skip
                size = float(J[layer].norm() * LX.norm()) ** 2 * (len(x) + J[layer].shape[1])
                for name, gap in gaps.items():
                    value = float(gap.norm()) / size / (1.0 if name == "nfm" else float(J[layer].norm()) ** 2)
                    yield {"arm": arm, "case": f"{instance}: {activation}, {loss}", "layer": str(layer),
                           "dtype": str(dtype).removeprefix("torch."), "quantity": f"prop4/{name}",
                           "value": value}  # fmt: skip
