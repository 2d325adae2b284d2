"""B.prop3 and B.prop4: small networks without biases at initialization, by automatic differentiation.

Networks differ in activation, depth and loss. For B.prop3 all weights follow the gradient flow from the start to each
time t, by Runge-Kutta steps of order 4. The longest time takes eight steps, because one is not enough where the flow is
stiff; shorter times take fewer. The steps' error in the weights, O(t^5 / steps^4), is far below the remainders, O(t^3).
The change of the weights is summed apart from the weights, so that it loses no digits.
"""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from gramlab.nets import ACTIVATIONS
from gramlab.streams import stream
from tasks.settings.simulation import Simulation


class Settings(Simulation):
    """Settings of this experiment; ``instances`` are networks."""


TIMES = [2.0**-power for power in range(4, 25)]  # in units of the time that ``proposition_3`` computes
STEPS = 8  # of Runge and Kutta's method, to the longest time
SMOOTH = ("gelu", "tanh", "softplus", "sigmoid", "quadratic")  # ReLU's K jumps where a unit switches
LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {  # of outputs and targets, (n,) each
    "squares": lambda f, y: (f - y).square().sum() / 2,
    "logistic": lambda f, y: F.softplus(-y.sign() * f).sum(),
    "Huber": lambda f, y: F.huber_loss(f, y, reduction="sum"),
    "exponential": lambda f, y: torch.exp(-y.sign() * f).mean(),
}
UNCENTERED = "control: uncentered"
OTHER_LAYER = "control: kernel of another layer"
UNEQUAL = "control: unequal output weights"
FLAT = ("relu", "quadratic", "relu^2", "cosine")  # derivatives of units that are orthogonal for some pre-activations


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: prop3/remainder at each time x, prop4/nfm, prop4/agop and prop4/perfect residuals."""
    for instance in range(settings.instances):
        yield from proposition_3(instance)
        yield from proposition_4(instance)
        yield from perfect_correlation(instance)


def sample(claim: str, instance: int, activations: tuple[str, ...]) -> tuple[str, list[Tensor], Tensor, Tensor]:
    """An activation, the weights of one to three hidden layers and of an output of size about 1, x, and y."""
    draw = stream("b_dynamics", claim, instance)
    activation, depth = activations[instance % len(activations)], 1 + instance % 3
    n, sizes = int(draw.integers(4, 20)), [int(draw.integers(3, 12)) for _ in range(depth + 1)]
    shapes = zip([*sizes[1:], 1], sizes, strict=True)
    weights = [torch.from_numpy(draw.normal(size=(k, d))) / d**0.5 for k, d in shapes]
    x, y = torch.from_numpy(draw.normal(size=(n, sizes[0]))), torch.from_numpy(draw.normal(size=n))
    weights[-1] /= float(forward(weights, x, activation)[2].norm()) / n**0.5 or 1.0
    return activation, weights, x, y


def forward(weights: list[Tensor], x: Tensor, activation: str) -> tuple[list[Tensor], list[Tensor], Tensor]:
    """Inputs (n, d_l) and pre-activations (n, k_l) of the hidden layers, and the outputs (n,)."""
    inputs, pre_activations = [], []
    for W in weights[:-1]:
        inputs.append(x)
        pre_activations.append(x @ W.T)
        x = ACTIVATIONS[activation]()(pre_activations[-1])
    return inputs, pre_activations, (x @ weights[-1].T)[:, 0]


def tangents(weights: list[Tensor], x: Tensor, activation: str) -> list[Tensor]:
    """∂f(x_i)/∂h (n, k_l) of every hidden layer."""
    with torch.enable_grad():
        weights = [W.detach().requires_grad_() for W in weights]
        _, pre_activations, f = forward(weights, x, activation)
        return list(torch.autograd.grad(f.sum(), pre_activations))


def velocity(weights: list[Tensor], x: Tensor, y: Tensor, activation: str, loss: str) -> list[Tensor]:
    """Ẇ = −∂L/∂W of every weight matrix."""
    weights = [W.detach().requires_grad_() for W in weights]
    return [-gradient for gradient in torch.autograd.grad(LOSSES[loss](forward(weights, x, activation)[2], y), weights)]


def proposition_3(instance: int) -> Iterator[dict]:
    """Remainders of W̄ᵀW̄ and W̄ᵀKW̄ after t² ẆᵀẆ and t² ẆᵀK₀Ẇ, their Taylor polynomials of order 2."""
    activation, start, x, y = sample("prop3", instance, SMOOTH)

    def flow(changes: list[Tensor]) -> list[Tensor]:
        return velocity([W + change for W, change in zip(start, changes, strict=True)], x, y, activation, "squares")

    velocity_at_start = flow([torch.zeros_like(W) for W in start])
    K_start = [J.T @ J for J in tangents(start, x, activation)]
    # in a unit of time the fastest weight matrix would move by its own norm
    unit = min(float(W.norm() / W_dot.norm()) for W, W_dot in zip(start, velocity_at_start, strict=True))
    for t in (unit * time for time in TIMES):
        steps = min(STEPS, 1 + int(STEPS * math.sqrt(t / unit / max(TIMES))))
        changes = integrated(flow, [torch.zeros_like(W) for W in start], t, steps)
        J_now = tangents([W + change for W, change in zip(start, changes, strict=True)], x, activation)
        for layer, J in enumerate(J_now):
            W0, W_dot, W_bar = start[layer], velocity_at_start[layer], changes[layer]
            K0, K = K_start[layer], J.T @ J
            nfm, agop, W = t**2 * W_dot.T @ W_dot, t**2 * W_dot.T @ K0 @ W_dot, W0 + W_bar
            for arm, name, remainder in (
                ("claim", "NFM", W_bar.T @ W_bar - nfm),
                ("claim", "AGOP", W_bar.T @ K @ W_bar - agop),
                (UNCENTERED, "NFM", W.T @ W - W0.T @ W0 - nfm),
                (UNCENTERED, "AGOP", W.T @ K @ W - W0.T @ K0 @ W0 - agop),
            ):
                yield {"arm": arm, "case": f"{instance}: {activation}", "layer": f"{layer}, {name}", "x": t / unit,
                       "dtype": "float64", "quantity": "prop3/remainder", "value": float(remainder.norm())}  # fmt: skip


def integrated(
    flow: Callable[[list[Tensor]], list[Tensor]], changes: list[Tensor], time: float, steps: int
) -> list[Tensor]:
    """The changes of the weights after this time, by Runge and Kutta's method of order 4."""
    t = time / steps
    for _ in range(steps):
        k1 = flow(changes)
        k2 = flow([x + t / 2 * k for x, k in zip(changes, k1, strict=True)])
        k3 = flow([x + t / 2 * k for x, k in zip(changes, k2, strict=True)])
        k4 = flow([x + t * k for x, k in zip(changes, k3, strict=True)])
        changes = [x + t / 6 * (a + 2 * b + 2 * c + d) for x, a, b, c, d in zip(changes, k1, k2, k3, k4, strict=True)]
    return changes


def proposition_4(instance: int) -> Iterator[dict]:
    """Residuals of (3) over (lengths of the sums) x (norms of the factors). The left side comes from ∂L/∂W."""
    activation, weights, x, y = sample("prop4", instance, tuple(sorted(ACTIVATIONS)))
    loss = list(LOSSES)[instance % len(LOSSES)]
    for dtype in (torch.float64, torch.float32):
        weights, x, y = [W.to(dtype) for W in weights], x.to(dtype), y.to(dtype)
        inputs, _, f = forward(weights, x, activation)
        f = f.detach().requires_grad_()
        (loss_slopes,) = torch.autograd.grad(LOSSES[loss](f, y), f)
        J, W_dot = tangents(weights, x, activation), velocity(weights, x, y, activation, loss)
        for layer in range(len(J)):
            step, LX = W_dot[layer], loss_slopes[:, None] * inputs[layer]
            K = J[layer].T @ J[layer]
            kernels = {"claim": J[layer]} | ({OTHER_LAYER: J[(layer + 1) % len(J)]} if len(J) > 1 else {})
            size = float(J[layer].norm() * LX.norm()) ** 2 * (len(x) + J[layer].shape[1])
            for arm, J_kernel in kernels.items():
                kernel = J_kernel @ J_kernel.T
                nfm, agop = step.T @ step - LX.T @ kernel @ LX, step.T @ K @ step - LX.T @ kernel @ kernel @ LX
                for name, residual, factor in (("nfm", nfm, 1.0), ("agop", agop, float(J[layer].norm()) ** 2)):
                    yield {"arm": arm, "case": f"{instance}: {activation}, {loss}", "layer": str(layer),
                           "dtype": str(dtype).removeprefix("torch."), "quantity": f"prop4/{name}",
                           "value": float(residual.norm()) / size / factor}  # fmt: skip


def perfect_correlation(instance: int) -> Iterator[dict]:
    """The residual of ẆᵀKẆ from the multiple of ẆᵀẆ with its norm, on the scale of prop4/agop, where 𝒦 ∝ 𝒦²."""
    activation, (W, a), x, y = flat_sample(instance)
    loss = list(LOSSES)[instance // len(FLAT) % len(LOSSES)]
    unequal = a.clone()
    unequal[0, 0] *= 2
    for arm, outputs in (("claim", a), (UNEQUAL, unequal)):
        for dtype in (torch.float64, torch.float32):
            weights, inputs, targets = [W.to(dtype), outputs.to(dtype)], x.to(dtype), y.to(dtype)
            f = forward(weights, inputs, activation)[2].requires_grad_()
            (loss_slopes,) = torch.autograd.grad(LOSSES[loss](f, targets), f)
            (J,) = tangents(weights, inputs, activation)
            step = velocity(weights, inputs, targets, activation, loss)[0]
            nfm, agop = step.T @ step, step.T @ (J.T @ J) @ step
            residual = agop - agop.norm() / nfm.norm() * nfm
            size = float(J.norm() ** 2 * (loss_slopes[:, None] * inputs).norm()) ** 2 * sum(J.shape)
            yield {"arm": arm, "case": f"{instance}: {activation}, {loss}", "dtype": str(dtype).removeprefix("torch."),
                   "quantity": "prop4/perfect", "value": float(residual.norm()) / size}  # fmt: skip


def flat_sample(instance: int) -> tuple[str, list[Tensor], Tensor, Tensor]:
    """An activation, the weights of a hidden layer of two to four units and of an output with 𝒦 ∝ 𝒦², x, and y.

    𝒦 = JJᵀ, and the columns of J, one for each unit, are orthogonal and have one norm. So all eigenvalues of 𝒦 that are
    not 0 are equal. There are more inputs than samples, so that some weights give any pre-activations.
    """
    draw = stream("b_dynamics", "perfect", instance)
    activation, k = FLAT[instance % len(FLAT)], int(draw.integers(2, 5))
    n = k + int(draw.integers(0, 5))
    x, y = torch.from_numpy(draw.normal(size=(n, 2 * n))), torch.from_numpy(draw.normal(size=n))
    if activation.startswith("relu"):  # each sample is in the half-space of a single unit
        own = torch.arange(n)[:, None] % k == torch.arange(k)
        h = torch.from_numpy(draw.uniform(0.5, 1.5, size=(n, k))) * (2.0 * own - 1)
    else:  # the derivatives, 2h and -sin(h), are multiples of a matrix with orthonormal columns
        columns = torch.linalg.qr(torch.from_numpy(draw.normal(size=(n, k)))).Q
        h = columns if activation == "quadratic" else columns.asin()
    W = torch.linalg.lstsq(x, h).solution.T
    signs = torch.from_numpy(draw.choice([-1.0, 1.0], size=k))
    (slopes,) = tangents([W, torch.ones(1, k, dtype=W.dtype)], x, activation)
    a = float(draw.uniform(0.5, 2)) * signs / slopes.norm(dim=0)
    return activation, [W, a[None]], x, y
