"""Exact identities of one layer, on random networks and on standard architectures (A.eq1, A.eq2, A.thm1, B.prop2).

Every side is computed by automatic differentiation from its own definition: gradients with respect to a layer's input h
flow through that layer alone (a copy of h feeds it), gradients of the weights come from the unchanged network.
``gramlab.measures`` rests on these identities, so it is not used here.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gramlab.nets import ACTIVATIONS, initialize
from gramlab.streams import stream
from tasks.measuring.counterexamples import Arrays, array, smallest
from tasks.measuring.layer_graph import watched
from tasks.settings.simulation import Simulation

GAMMAS = [2.0**-power for power in range(21)]  # step sizes for the O(gamma^2) claims
DTYPES = (torch.float64, torch.float32)
ANOTHER, PLUS = "control: another layer", "control: minus turned into plus"


class Settings(Simulation):
    """``instances`` counts the random networks."""


class Skip(nn.Module):
    """Two layers with a skip connection around them."""

    def __init__(self, width: int, activation: str):
        super().__init__()
        self.a, self.b = nn.Linear(width, width), nn.Linear(width, width)
        self.activation = ACTIVATIONS[activation]()

    def forward(self, x: Tensor) -> Tensor:
        return x + self.b(self.activation(self.a(x)))


class Twice(nn.Module):
    """A layer used twice: one use alone does not account for the gradient of its tied weight."""

    def __init__(self, width: int):
        super().__init__()
        self.tied = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.tied(torch.tanh(self.tied(x)))


class Block(nn.Module):
    """A block of a transformer encoder with separate linear layers; x (n, tokens, width)."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        split = lambda part: part.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # noqa: E731
        h = self.before(x)
        mixed = F.scaled_dot_product_attention(split(self.query(h)), split(self.key(h)), split(self.value(h)))
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.after(x))))


@dataclass
class Case:
    """A network in float64 with a batch."""

    name: str
    model: nn.Module
    x: Tensor
    y: Tensor
    layers: list[str]  # names of the layers to measure
    tied: bool = False  # whether a layer's weight is used twice
    unit: float = 1.0  # divisor of the loss

    def loss(self, model: nn.Module, x: Tensor) -> Tensor:
        """Mean squared error of the flattened outputs over ``unit``."""
        return (model(x).flatten(1) - self.y.to(x.dtype)).square().sum(1).mean() / self.unit


def random_case(instance: int) -> Case:
    """A random network: plain, with skip connections, or convolutional; its size and activation are drawn."""
    draw = stream("architectures", instance, "shape")
    activation = str(draw.choice(sorted(set(ACTIVATIONS) - {"linear"})))
    n, outputs, width = int(draw.integers(3, 12)), int(draw.integers(1, 5)), int(draw.integers(4, 24))
    kind = ("mlp", "skip", "cnn")[instance % 3]
    if kind == "cnn":
        channels, kernel, stride, pad = int(draw.integers(1, 4)), *(int(draw.integers(1, top)) for top in (4, 3, 3))
        size = 9
        # two layers of equal shape, so that a control can use another layer's gradient
        model: nn.Module = nn.Sequential(
            nn.Conv2d(channels, width, kernel, stride, pad), ACTIVATIONS[activation](),
            nn.Conv2d(width, width, 2, padding=1), ACTIVATIONS[activation](),
            nn.Conv2d(width, width, 2), ACTIVATIONS[activation](), nn.Flatten(), nn.LazyLinear(outputs),
        )  # fmt: skip
        x = torch.from_numpy(draw.normal(size=(n, channels, size, size)))
        with torch.no_grad():
            model(x.float())
    else:
        inputs = int(draw.integers(3, 20))
        bias = bool(draw.integers(2))
        middle = [Skip(width, activation), Skip(width, activation)] if kind == "skip" else [
            nn.Linear(width, width, bias), ACTIVATIONS[activation](), nn.Linear(width, width, bias)
        ]  # fmt: skip
        act = ACTIVATIONS[activation]
        model = nn.Sequential(nn.Linear(inputs, width, bias), act(), *middle, act(), nn.Linear(width, outputs, bias))
        x = torch.from_numpy(draw.normal(size=(n, inputs)))
    y = torch.from_numpy(draw.normal(size=(n, outputs)))
    layers = [name for name, module in model.named_modules() if isinstance(module, nn.Linear | nn.Conv2d)]
    return _initialized(Case(f"{instance}: {kind} {activation} {width}", model, x, y, layers))


def trained_case(instance: int, steps: int = 10) -> Case:
    """A random network after a few steps of Adam; instances 0, 1 and 2 are one of each kind.

    After many steps outputs and labels would cancel, and the gradients would hold more round-off than ``roundoff``
    accounts for.
    """
    case = random_case(instance)
    optimizer = torch.optim.Adam(case.model.parameters(), 0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        case.loss(case.model, case.x).backward()
        optimizer.step()
    return replace(case, name=f"{case.name}, {steps} steps")


def dead_case() -> Case:
    """A network whose third layer gets zeros, so that this layer and those below it have no gradient."""
    draw = stream("architectures", "dead")
    model = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 7), nn.ReLU(), nn.Linear(7, 7), nn.Linear(7, 2))
    x, y = (torch.from_numpy(draw.normal(size=(6, size))) for size in (5, 2))
    case = _initialized(Case("a dead layer", model, x, y, ["0", "2", "4", "5"]))
    model.get_parameter("2.bias").data.fill_(-1e3)
    return case


def standard_cases() -> list[Case]:
    """ResNet-18, a transformer's linear layers, and a tied weight."""
    from torchvision.models import resnet18

    draw = stream("architectures", "standard")
    images = torch.from_numpy(draw.normal(size=(2, 3, 32, 32)))
    layers = ["conv1", "layer1.0.conv1", "layer1.1.conv2", "layer2.0.downsample.0", "layer3.0.downsample.0", "fc"]
    resnet = Case("ResNet-18", resnet18(num_classes=5), images, torch.from_numpy(draw.normal(size=(2, 5))), layers)
    block = Block(16, 2)
    tokens = torch.from_numpy(draw.normal(size=(4, 7, 16)))
    linear = [name for name, module in block.named_modules() if isinstance(module, nn.Linear)]
    transformer = Case("transformer block", block, tokens, torch.from_numpy(draw.normal(size=(4, 112))), linear)
    tied = Case("a weight used twice", Twice(12), torch.from_numpy(draw.normal(size=(6, 12))),
                torch.from_numpy(draw.normal(size=(6, 12))), ["tied"], tied=True)  # fmt: skip
    return [_initialized(resnet), _initialized(transformer), _initialized(tied)]


def _initialized(case: Case) -> Case:
    """The case in float64 and evaluation mode, with the weights of all layers from named streams."""
    case.model.double().eval()
    named = {name.replace(".", "/"): module for name, module in case.model.named_modules()}
    kinds = (nn.Linear, nn.Conv2d)
    layers = nn.ModuleDict({name: module for name, module in named.items() if isinstance(module, kinds)})
    layers.load_state_dict(initialize(layers, ("architectures", case.name), scale=1.5))
    # the claims hold for any multiple of the loss; powers of powers can give gradients beyond the range of float32
    loss = float(case.loss(case.model, case.x).detach())
    case.unit = 2.0 ** max(0, round(math.log2(loss)) - 20) if loss > 0 else 1.0
    return case


@dataclass
class Layer:
    """One layer of a case in one precision: W (k, d), grad_W L, the input h (d, N), grad_h L, and grad_z L (k, N)."""

    weight: Tensor
    weight_gradient: Tensor
    h: Tensor
    h_gradient: Tensor
    z_gradient: Tensor

    def roundoff(self) -> float:
        """The size that round-off of W^T grad_z h^T is compared with: inner lengths times norms of the factors."""
        k, n = self.z_gradient.shape
        return (k + n) * float(self.weight.norm() * self.z_gradient.norm() * self.h.norm())


def layers(case: Case, dtype: torch.dtype) -> dict[str, Layer]:
    """All measured layers of the case at its weights, by name."""
    model, x = case.model.to(dtype), case.x.to(dtype)
    weights = {name: model.get_parameter(f"{name}.weight") for name in case.layers}
    gradients = torch.autograd.grad(case.loss(model, x), list(weights.values()))
    measured = {}
    for (name, weight), gradient in zip(weights.items(), gradients, strict=True):
        with watched(model.get_submodule(name)) as calls:
            loss = case.loss(model, x)
        h, z = calls[-1]
        h_gradient, z_gradient = torch.autograd.grad(loss, [h, z])
        measured[name] = Layer(weight.detach().flatten(1), gradient.flatten(1), h.detach(), h_gradient, z_gradient)
    model.double()
    return measured


def measure(settings: Settings) -> Iterator[dict]:
    """Rows of all four claims on every case."""
    yield from adversaries()
    random = [random_case(instance) for instance in range(settings.instances)]
    trained = [trained_case(instance) for instance in range(3)]
    for case in [*random, *trained, dead_case(), *standard_cases()]:
        for dtype in DTYPES:
            yield from identities(case, dtype)
        if not case.tied and case.x.ndim == 2:
            yield from _alignment(case)


def adversaries() -> Iterator[dict]:
    """The smallest ReLU networks and batches with which hypothesis finds A (1), (2), Theorem 1 or B.prop2 violated."""

    def network(instance: dict) -> Case:
        U, V, w, x, y = (array(instance[name]) for name in ("U", "V", "w", "x", "y"))
        weights = [U, V, w[None]]
        linear = [nn.Linear(W.shape[1], W.shape[0], bias=False).double() for W in weights]
        for module, W in zip(linear, weights, strict=True):
            module.weight.data = torch.from_numpy(W)
        model = nn.Sequential(linear[0], nn.ReLU(), linear[1], nn.ReLU(), linear[2])
        return Case("", model, torch.from_numpy(x), torch.from_numpy(y), ["0", "2"])

    def residuals(instance: dict) -> list[dict]:
        rows = [row for dtype in DTYPES for row in identities(network(instance), dtype)]
        return [row for row in rows if row["quantity"].endswith("/residual")]

    def slopes(instance: dict) -> list[dict]:
        """The remainders of (2) in layers with a gradient above round-off, and the distance of their slope from 2."""
        rows: list[dict] = []
        for name, layer in layers(network(instance), torch.float64).items():
            if float(layer.weight_gradient.norm()) <= 1e-9 * float(layer.z_gradient.norm() * layer.h.norm()):
                continue
            for arm, sign in (("claim", -1), (PLUS, +1)):
                columns = {"arm": arm, "case": "", "layer": name, "dtype": "float64"}
                remainders = [{**columns, **row} for row in _equation_2(layer, sign)]
                # the entries are integers, so at the larger steps round-off is negligible beside the remainder
                steps, sizes = (np.log2([row[key] for row in remainders[:10]]) for key in ("x", "value"))
                slope = float(np.polyfit(steps, sizes, 1)[0])
                rows += [*remainders, {**columns, "quantity": "eq2/slope", "value": abs(slope - 2)}]
        return rows

    def alignments(instance: dict) -> list[dict]:
        return [*_alignment(network(instance))]

    instances = Arrays(U=(0, 0), V=(0, 0), w=(0,), x=(1, 0), y=(1, 2))
    for name in ("eq1", "thm1"):
        yield from smallest(name, ["claim", ANOTHER], instances, residuals)
    yield from smallest("eq2", ["claim", PLUS], instances, slopes)
    yield from smallest("prop2", ["claim", ANOTHER], instances, alignments)


def identities(case: Case, dtype: torch.dtype) -> Iterator[dict]:
    """Rows of A (1), (2) and Theorem 1 for every measured layer, in one precision."""
    measured = layers(case, dtype)
    for name, layer in measured.items():
        columns = {"case": case.name, "layer": name, "dtype": str(dtype).removeprefix("torch.")}
        # the control needs another layer of the same shapes with another input
        alike = [other for key, other in measured.items() if key != name and other.h.shape == layer.h.shape
                 and other.weight.shape == layer.weight.shape and not torch.equal(other.h, layer.h)]  # fmt: skip
        arms = [("control: one use of a tied weight" if case.tied else "claim", layer)]
        if alike and not case.tied:
            arms.append((ANOTHER, alike[0]))
        for arm, other in arms:
            for row in _equation_1(layer, other):
                yield {"arm": arm, **columns, **row}
            if not case.tied:
                for row in _gram_steps(layer, other, arm != "claim", dtype):
                    yield {"arm": arm, **columns, **row}
        if not case.tied and dtype == torch.float64:
            for row in _equation_2(layer, +1):
                yield {"arm": PLUS, **columns, **row}


def _equation_1(layer: Layer, other: Layer) -> Iterator[dict]:
    """A (1): grad_h f h^T against W^T grad_W f."""
    left, right = layer.h_gradient @ layer.h.T, layer.weight.T @ other.weight_gradient
    yield {"quantity": "eq1/residual", "value": _relative(left - right, layer.roundoff())}


def _gram_steps(layer: Layer, other: Layer, control: bool, dtype: torch.dtype) -> Iterator[dict]:
    """A (2) and Theorem 1: the Gram of the updated weight against both right sides, and Theorem 1's exact residual."""
    W, G = layer.weight, layer.weight_gradient
    h, g = other.h, layer.h_gradient
    residual = G.T @ G - g @ g.T
    gamma = GAMMAS[2]
    stepped, virtual = W - gamma * G, h - gamma * g
    shift, vcs = stepped.T @ stepped - W.T @ W, virtual @ virtual.T - h @ h.T
    size = (len(W) + h.shape[1]) * float(stepped.norm() ** 2 + W.norm() ** 2 + virtual.norm() ** 2 + h.norm() ** 2)
    yield {"quantity": "thm1/residual", "value": _relative(shift - vcs - gamma**2 * residual, size)}
    if dtype != torch.float64:
        return
    for gamma in GAMMAS:
        stepped, virtual = W - gamma * G, h - gamma * g
        shift, vcs = stepped.T @ stepped - W.T @ W, virtual @ virtual.T - h @ h.T
        yield from _remainder("thm1", gamma, shift - vcs)
    if not control:
        yield from _equation_2(layer, -1)


def _equation_2(layer: Layer, sign: int) -> Iterator[dict]:
    """A (2): the remainder of W^T W - gamma (grad_h h^T + h grad_h^T); the control adds where it subtracts."""
    W, G = layer.weight, layer.weight_gradient
    cross = layer.h_gradient @ layer.h.T
    for gamma in GAMMAS:
        stepped = W - gamma * G
        remainder = stepped.T @ stepped - (W.T @ W + sign * gamma * (cross + cross.T))
        yield from _remainder("eq2", gamma, remainder)


def _relative(difference: Tensor, size: float) -> float:
    # in a dead layer the factors and so both sides are 0; there the difference is absolute
    return float(difference.norm()) / (size or 1.0)


def _remainder(name: str, gamma: float, remainder: Tensor) -> Iterator[dict]:
    # a remainder of 0, as in a dead layer, has no slope
    if remainder.any():
        yield {"quantity": f"{name}/remainder", "x": gamma, "value": float(remainder.norm())}


def _alignment(case: Case) -> Iterator[dict]:
    """B, Proposition 2: rho(F, AGOP) with the AGOP from gradients at h, against rho(W^T W, W^T K W)."""
    for dtype in DTYPES:
        model, x = case.model.to(dtype), case.x.to(dtype)
        kernels: dict[str, tuple[Tensor, Tensor, Tensor]] = {}  # by layer W, the AGOP and K
        for name in case.layers:
            with watched(model.get_submodule(name)) as calls:
                outputs = model(x)
            (h, z), agop, K = calls[0], torch.zeros(()), torch.zeros(())
            for output in outputs.flatten(1).unbind(1):
                h_gradient, z_gradient = torch.autograd.grad(output.sum(), [h, z], retain_graph=True)
                agop, K = agop + h_gradient @ h_gradient.T, K + z_gradient @ z_gradient.T
            kernels[name] = (model.get_parameter(f"{name}.weight").detach(), agop, K)
        for name, (W, agop, K) in kernels.items():
            others = [other for key, (_, _, other) in kernels.items() if key != name and other.shape == K.shape]
            for arm, kernel in [("claim", K), *((ANOTHER, other) for other in others[:1])]:
                if _degenerate(W.T @ kernel @ W) or _degenerate(agop):
                    continue  # the AGOP of a dead layer is 0 and has no correlation
                gap = abs(_cosine(W.T @ W, agop) - _cosine(W.T @ W, W.T @ kernel @ W))
                yield {"arm": arm, "case": case.name, "layer": name, "dtype": str(dtype).removeprefix("torch."),
                       "quantity": "prop2/residual", "value": gap / (len(W) + len(case.x))}  # fmt: skip
    case.model.double()


def _cosine(a: Tensor, b: Tensor) -> float:
    # in the precision of its arguments, unlike gramlab.cosine, so that the error of float32 shows
    return float((a * b).sum() / (a.norm() * b.norm()))


def _degenerate(a: Tensor) -> bool:
    return not np.isfinite(float(a.norm())) or float(a.norm()) == 0.0
