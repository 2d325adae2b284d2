"""C.thm3.1, C.thmA.1, C.rem3.3: small networks on digits at a critical point of L + (lambda / 2) ||theta||^2.

L-BFGS and then Newton's method lead to the critical point, in float64. FACT and bFACT follow their definitions, with
gradients through the layer alone. They are compared with W^T W and W W^T on the way to the critical point and on rays
into it. ``fact/ratio`` is ||W^T W - FACT|| over its bound ||W||_op ||grad_W L_lambda|| / lambda. The bound follows from
W^T W - FACT = W^T grad_W L_lambda / lambda, which holds at every point.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.func import functional_call

from gramlab.data import prepare
from gramlab.losses import LOSSES
from gramlab.nets import ACTIVATIONS, initialize
from gramlab.streams import stream
from tasks.measuring.layer_graph import layer_calls
from tasks.papers.fact.experiments.shared.matrices import root
from tasks.settings.simulation import Simulation

RAYS = [*(2.0**-power for power in range(25)), 0.0]  # distances from the ray's end, in tenths of the end's norm


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
    """A network with its data and loss. A point holds all parameters in one vector."""

    case: str
    model: nn.Module
    loss: str
    weight_decay: float
    x: Tensor
    y: Tensor

    def parameters_at(self, point: Tensor) -> dict[str, Tensor]:
        """The parameters at this point, by name."""
        flat = point.split([parameter.numel() for parameter in self.model.parameters()])
        named = self.model.named_parameters()
        return {name: part.reshape(parameter.shape) for part, (name, parameter) in zip(flat, named, strict=True)}

    def objective(self, point: Tensor) -> Tensor:
        """L + (lambda / 2) ||theta||^2."""
        data_loss = LOSSES[self.loss](functional_call(self.model, self.parameters_at(point), (self.x,)), self.y).mean()
        return data_loss + self.weight_decay / 2 * point.square().sum()

    def path(self, point: Tensor) -> Iterator[Tensor]:
        """Points from this one to a critical one: L-BFGS, then Newton steps down to round-off."""
        flat = point.clone().requires_grad_()
        optimizer = torch.optim.LBFGS([flat], max_iter=10, history_size=50, tolerance_grad=0, tolerance_change=0,
                                      line_search_fn="strong_wolfe")  # fmt: skip

        def closure() -> Tensor:
            optimizer.zero_grad()
            value = self.objective(flat)
            value.backward()
            return value

        for _ in range(400):
            yield (before := flat.detach().clone())
            optimizer.step(closure)  # type: ignore[arg-type]
            if flat.grad is None or flat.grad.norm() < 1e-6 or torch.equal(flat, before):
                break
        point, slope = flat.detach().clone(), torch.func.grad(self.objective)
        for _ in range(20):
            yield point
            gradient, hessian = slope(point), torch.func.hessian(self.objective)(point)
            step = torch.linalg.solve(hessian, gradient)
            # halve the step until the gradient falls, because a full Newton step may lead away from the critical point
            steps = (0.5**halving * step for halving in range(12))
            lower = (point - step for step in steps if slope(point - step).norm() < 0.9 * gradient.norm())
            if (next_point := next(lower, None)) is None:
                return  # round-off
            point = next_point

    def errors(self, point: Tensor, factor: float = 1.0, with_bias: bool = False) -> Iterator[dict]:
        """Each layer's errors over ||W^T W||, with FACT at factor * lambda; x = ||gradient|| / (lambda ||theta||).

        With ``with_bias`` bFACT takes the layer's output with the bias instead of W h.
        """
        gradient = torch.func.grad(self.objective)(point)
        slopes = self.parameters_at(gradient)
        x = float(gradient.norm() / (self.weight_decay * point.norm()))
        self.model.load_state_dict(self.parameters_at(point))
        for name in ("first", "second", "last"):
            layer = self.model.get_submodule(name)
            with layer_calls(layer) as calls:
                losses = LOSSES[self.loss](self.model(self.x), self.y)
            ((h, z),) = calls
            h_gradient, z_gradient = torch.autograd.grad(losses.sum(), (h, z))
            scale = len(self.x) * factor * self.weight_decay
            fact = -(h_gradient @ h.detach().T) / scale
            W = layer.get_parameter("weight").detach()
            out = z.detach() + layer.get_parameter("bias").detach()[:, None] if with_bias else z.detach()
            back, gram, back_gram = -(out @ z_gradient.T) / scale, W.T @ W, W @ W.T
            differences = {
                "fact/error": gram - fact,
                "fact/transposed/error": gram - fact.T,
                "fact/root/error": gram - root(fact),
                "fact/cone/error": fact - psd_part(fact),
                "back_fact/error": back_gram - back,
                "back_fact/root/error": back_gram - root(back),
            }
            labels = {"case": self.case, "layer": name, "dtype": "float64", "x": x}
            for quantity, difference in differences.items():
                yield {**labels, "quantity": quantity, "value": float(difference.norm() / gram.norm())}
            if x > 1e-8:  # below, the gradient is round-off
                bound = torch.linalg.matrix_norm(W, 2) * slopes[f"{name}.weight"].norm() / self.weight_decay
                yield {**labels, "quantity": "fact/ratio", "value": float((gram - fact).norm() / bound)}


def psd_part(A: Tensor) -> Tensor:
    """The positive semi-definite matrix closest to A."""
    values, vectors = torch.linalg.eigh((A + A.T) / 2)
    return (vectors * values.clamp(min=0)) @ vectors.T


def problem(instance: int, x: Tensor, y: Tensor) -> tuple[Problem, Tensor]:
    """A network with random activation, width, weight decay and initial point; loss and skip by instance."""
    draw = stream("critical_points", instance)
    activation = str(draw.choice(["gelu", "tanh", "sigmoid", "softplus"]))
    loss, skip, decay = ("mse", "cross_entropy")[instance % 2], instance % 3 > 0, 10 ** draw.uniform(-3.5, -2)
    model = Network(x.shape[1], int(draw.integers(4, 9)), 10, activation, skip).double()
    initial = initialize(model, ("critical_points", instance))
    case = f"{instance}: {activation}, {loss}{', skip' if skip else ''}, lambda {decay:.2g}"
    return Problem(case, model, loss, decay, x, y), torch.cat([part.flatten() for part in initial.values()])


class Settings(Simulation):
    """``instances`` counts networks."""


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: errors on rays into the critical point (and, as a control, into another point), fact/descent on the way."""
    data = prepare("digits", Path(), train=200, test=0)
    x = data.scaled(data.x_train, torch.float64).flatten(1)[:, ::2]
    for instance in range(settings.instances):
        network, initial = problem(instance, x, data.y_train)
        path = list(network.path(initial))
        direction = torch.from_numpy(stream("critical_points", instance, "away").normal(size=initial.shape))
        for arm, end, options in (
            ("claim", path[-1], {}),
            ("control: lambda doubled", path[-1], {"factor": 2.0}),
            ("control: a point that is not critical", path[2], {}),
            ("control: bFACT with the bias", path[-1], {"with_bias": True}),
        ):
            for ray in RAYS:
                point = end + 0.1 * ray * end.norm() * direction / direction.norm()
                for row in network.errors(point, **options):
                    if not options.get("with_bias") or row["quantity"].startswith("back_fact/"):
                        yield {"arm": arm, **row}
        for point in path[:: max(1, len(path) // 30)]:
            for row in network.errors(point):
                if row["quantity"] == "fact/error":
                    yield {"arm": "claim", **row, "quantity": "fact/descent"}
                elif row["quantity"] == "fact/ratio":
                    yield {"arm": "claim", **row}
