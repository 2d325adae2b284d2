"""Random networks, and standard architectures with random weights, on which the exact identities are measured."""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gramlab.nets import ACTIVATIONS, initialize
from gramlab.streams import stream


class Skip(nn.Module):
    """Two layers with a skip connection around them."""

    def __init__(self, width: int, activation: str):
        super().__init__()
        self.a, self.b = nn.Linear(width, width), nn.Linear(width, width)
        self.activation = ACTIVATIONS[activation]()

    def forward(self, x: Tensor) -> Tensor:
        return x + self.b(self.activation(self.a(x)))


class Twice(nn.Module):
    """A layer used twice: the gradient of its tied weight is a sum over both uses."""

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
    act = ACTIVATIONS[activation]
    n, outputs, width = int(draw.integers(3, 12)), int(draw.integers(1, 5)), int(draw.integers(4, 24))
    kind = ("mlp", "skip", "cnn")[instance % 3]
    if kind == "cnn":
        channels, kernel, stride, pad = int(draw.integers(1, 4)), *(int(draw.integers(1, top)) for top in (4, 3, 3))
        size = 9
        # two layers of equal shape, for the control with another layer's gradient
        model: nn.Module = nn.Sequential(
            nn.Conv2d(channels, width, kernel, stride, pad), act(),
            nn.Conv2d(width, width, 2, padding=1), act(),
            nn.Conv2d(width, width, 2), act(), nn.Flatten(), nn.LazyLinear(outputs),
        )  # fmt: skip
        x = torch.from_numpy(draw.normal(size=(n, channels, size, size)))
        with torch.no_grad():
            model(x.float())
    else:
        inputs = int(draw.integers(3, 20))
        bias = bool(draw.integers(2))
        middle = [Skip(width, activation), Skip(width, activation)] if kind == "skip" else [
            nn.Linear(width, width, bias), act(), nn.Linear(width, width, bias)
        ]  # fmt: skip
        model = nn.Sequential(nn.Linear(inputs, width, bias), act(), *middle, act(), nn.Linear(width, outputs, bias))
        x = torch.from_numpy(draw.normal(size=(n, inputs)))
    y = torch.from_numpy(draw.normal(size=(n, outputs)))
    layers = [name for name, module in model.named_modules() if isinstance(module, nn.Linear | nn.Conv2d)]
    return _initialized(Case(f"{instance}: {kind} {activation} {width}", model, x, y, layers))


def trained_case(instance: int, steps: int = 10) -> Case:
    """A random network after a few steps of Adam; instances 0, 1 and 2 are one of each kind.

    After many steps outputs and labels would cancel, and the gradients would hold more round-off than the residuals
    are compared with.
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
