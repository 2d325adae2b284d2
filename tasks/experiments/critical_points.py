"""C.thm3.1: small networks on digits at a critical point of L + (lambda / 2) ||theta||^2, and on rays into it.

Weights go from gradient steps (L-BFGS) to Newton's method in float64. FACT, from its definition with gradients
through the layer alone, is compared with W^T W at points ever closer to the critical one, and on the way there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from gramlab.data import prepare
from gramlab.losses import LOSSES
from gramlab.nets import ACTIVATIONS, initialize
from gramlab.streams import stream
from tasks.capture import watched

RAYS = [*(2.0**-power for power in range(25)), 0.0]  # how far from the end of the ray, in tenths of its norm


class Network(nn.Module):
    """Two hidden layers, the second with or without a skip connection around it."""

    def __init__(self, inputs: int, width: int, outputs: int, activation: str, skip: bool):
        super().__init__()
        self.first, self.second = nn.Linear(inputs, width), nn.Linear(width, width)
        self.last = nn.Linear(width, outputs)
        self.activation, self.skip = ACTIVATIONS[activation](), skip

    def forward(self, x: Tensor) -> Tensor:
        h = self.activation(self.first(x))
        return self.last(self.activation(self.second(h)) + (h if self.skip else 0))


@dataclass
class Problem:
    """A network with its data and loss; points are all parameters in one vector."""

    case: str
    model: nn.Module
    loss: str
    weight_decay: float
    x: Tensor
    y: Tensor

    def at(self, point: Tensor) -> dict[str, Tensor]:
        """The parameters at this point, by name."""
        parts = point.split([part.numel() for part in self.model.parameters()])
        return {key: part.reshape(p.shape) for part, (key, p) in zip(parts, self.model.named_parameters(), strict=True)}

    def objective(self, point: Tensor) -> Tensor:
        """L + (lambda / 2) ||theta||^2."""
        data_loss = LOSSES[self.loss](functional_call(self.model, self.at(point), (self.x,)), self.y).mean()
        return data_loss + self.weight_decay / 2 * point.square().sum()

    def path(self, point: Tensor) -> Iterator[Tensor]:
        """Points from this one to a critical one: L-BFGS, then Newton steps down to round-off."""
        flat = point.clone().requires_grad_()
        steps = torch.optim.LBFGS([flat], max_iter=10, history_size=50, tolerance_grad=0, tolerance_change=0,
                                  line_search_fn="strong_wolfe")  # fmt: skip

        def closure() -> Tensor:
            steps.zero_grad()
            value = self.objective(flat)
            value.backward()
            return value

        for _ in range(400):
            yield (before := flat.detach().clone())
            steps.step(closure)  # type: ignore[arg-type]
            if flat.grad is None or flat.grad.norm() < 1e-6 or torch.equal(flat, before):
                break
        point, slope = flat.detach().clone(), torch.func.grad(self.objective)
        for _ in range(20):
            yield point
            gradient, hessian = slope(point), torch.func.hessian(self.objective)(point)
            step = torch.linalg.solve(hessian, gradient)
            # halved until the gradient falls: far from the critical point a whole Newton step may lead away
            sizes = (0.5**halving for halving in range(12))
            better = (point - size * step for size in sizes)
            lower = next((one for one in better if slope(one).norm() < 0.9 * gradient.norm()), None)
            if lower is None:
                return  # round-off
            point = lower

    def errors(self, point: Tensor, arm: str, quantity: str, factor: float = 1.0) -> Iterator[dict]:
        """Each layer's ||W^T W - FACT|| / ||W^T W||, FACT at factor * lambda; x = ||gradient|| / (lambda ||theta||)."""
        gradient = torch.func.grad(self.objective)(point)
        x = float(gradient.norm() / (self.weight_decay * point.norm()))
        self.model.load_state_dict(self.at(point))
        for name in ("first", "second", "last"):
            layer = self.model.get_submodule(name)
            with watched(layer) as calls:
                losses = LOSSES[self.loss](self.model(self.x), self.y)
            ((h, _),) = calls
            (at_h,) = torch.autograd.grad(losses.sum(), h)
            fact = -(at_h @ h.detach().T) / (len(self.x) * factor * self.weight_decay)
            W = layer.get_parameter("weight").detach()
            gram = W.T @ W
            yield {"arm": arm, "case": self.case, "layer": name, "dtype": "float64", "quantity": quantity,
                   "x": x, "value": float((gram - fact).norm() / gram.norm())}  # fmt: skip


def problem(instance: int, x: Tensor, y: Tensor) -> tuple[Problem, Tensor]:
    """A network with drawn activation, loss, width, weight decay and initial point."""
    draw = stream("critical_points", instance)
    activation = str(draw.choice(["gelu", "tanh", "sigmoid", "softplus"]))
    loss, skip, decay = ("mse", "cross_entropy")[instance % 2], instance % 3 > 0, 10 ** draw.uniform(-3.5, -2)
    model = Network(x.shape[1], int(draw.integers(4, 9)), 10, activation, skip).double()
    initial = initialize(model, ("critical_points", instance))
    case = f"{instance}: {activation}, {loss}{', skip' if skip else ''}, lambda {decay:.2g}"
    return Problem(case, model, loss, decay, x, y), torch.cat([part.flatten() for part in initial.values()])


def measure(settings: Any) -> Iterator[dict]:
    """Rows: fact/error on rays into the critical point (and, as a control, into another), fact/descent on the way."""
    data = prepare("digits", Path(), train=200, test=0)
    x = data.numbers(data.x_train, torch.float64).flatten(1)[:, ::2]
    for instance in range(settings.instances):
        one, initial = problem(instance, x, data.y_train)
        path = list(one.path(initial))
        away = torch.from_numpy(stream("critical_points", instance, "away").normal(size=initial.shape))
        for arm, end, factor in (
            ("claim", path[-1], 1.0),
            ("control: lambda doubled", path[-1], 2.0),
            ("control: a point that is not critical", path[2], 1.0),
        ):
            for ray in RAYS:
                point = end + 0.1 * ray * end.norm() * away / away.norm()
                yield from one.errors(point, arm, "fact/error", factor)
        for point in path[:: max(1, len(path) // 30)]:
            yield from one.errors(point, "claim", "fact/descent")
