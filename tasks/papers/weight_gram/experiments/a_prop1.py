"""A.prop1: a gradient step on one sample moves a layer's output no further than L^2 times the virtual step.

Each instance is a layer h_l = sigma(W h_{l-1}) with ||h_{l-1}|| = 1 below a random head. Sizes, weight scales and
learning rates are random; some layers are trained on their sample first, some have zero weights or a dead head.
"""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from gramlab.nets import ACTIVATIONS
from gramlab.streams import stream
from tasks.measuring.counterexamples import Arrays, array, smallest
from tasks.settings.simulation import Simulation

LIPSCHITZ = {"relu": 1.0, "leaky_relu": 1.0, "tanh": 1.0, "sigmoid": 0.25, "softplus": 1.0, "linear": 1.0}
Activation = Callable[[Tensor], Tensor]
# by name the function and its Lipschitz constant, rounded up
NOT_MONOTONE: dict[str, tuple[Activation, float]] = {"gelu": (nn.GELU(), 1.1290), "sin": (torch.sin, 1.0)}
UNIT_ROUNDOFF = 2.0**-53


class Settings(Simulation):
    """``instances`` counts the random layers of each activation."""


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: the largest ratio of the two sides over the elements, and the number of opposite signs."""
    yield from adversaries()
    for name, constant in LIPSCHITZ.items():
        for instance in range(settings.instances):
            actual, virtual, allowance = _random_steps(ACTIVATIONS[name](), name, instance)
            yield from _compared("claim", name, instance, actual, constant**2 * virtual, allowance)
            yield from _compared("control: L halved", name, instance, actual, constant**2 / 4 * virtual, allowance)
    for name, (activation, constant) in NOT_MONOTONE.items():
        for instance in range(settings.instances):
            actual, virtual, allowance = _random_steps(activation, name, instance)
            arm = f"control: {name}, not monotone"
            yield from _compared(arm, name, instance, actual, constant**2 * virtual, allowance)


def _random_steps(activation: Activation, name: str, instance: int) -> tuple[Tensor, Tensor, Tensor]:
    """``_steps`` of a random layer."""
    draw = stream("a_prop1", name, instance)
    inputs, width = int(draw.integers(1, 20)), int(draw.integers(1, 20))
    rate = 10.0 ** draw.uniform(-3, 2)
    W = torch.from_numpy(draw.normal(size=(width, inputs)) * 10.0 ** draw.uniform(-1, 1.5))
    head = torch.from_numpy(draw.normal(size=width) * 10.0 ** draw.uniform(-1, 1))
    h = torch.from_numpy(draw.normal(size=inputs))
    h, target = h / h.norm(), float(draw.normal())
    kind = instance % 10
    if kind == 8:
        W = torch.zeros_like(W)  # every pre-activation at the kink
    if kind == 9:
        head = torch.where(torch.from_numpy(draw.random(width)) < 0.5, 0.0, head)  # some outputs without a gradient

    for _ in range(50 if kind in (5, 6, 7) else 0):
        W = W.requires_grad_()
        (step,) = torch.autograd.grad(_loss(activation(W @ h), head, target, kind % 2 > 0), W)
        W = (W - 0.05 * step / (1 + step.norm())).detach()
    return _steps(activation, W, head, h, target, rate, kind % 2 > 0)


def _loss(features: Tensor, head: Tensor, target: float, bounded: bool) -> Tensor:
    output = torch.tanh(head @ features) if bounded else head @ features
    return (output - target).square()


def _steps(
    activation: Activation, W: Tensor, head: Tensor, h: Tensor, target: float, rate: float, bounded: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The actual step sigma(W+ h) - sigma(W h), the virtual step h_l^+ - h_l, and the round-off of the actual one."""
    W = W.requires_grad_()
    before = activation(W @ h)
    at_W, at_h = torch.autograd.grad(_loss(before, head, target, bounded), [W, before])
    after = activation((W - rate * at_W) @ h)
    reach = (W.detach().abs() + rate * at_W.abs()) @ h.abs()
    allowance = 8 * UNIT_ROUNDOFF * (1 + len(h)) * (reach + before.detach().abs() + after.detach().abs())
    return (after - before).detach(), -rate * at_h, allowance


def adversaries() -> Iterator[dict]:
    """The smallest layers that violate the proposition, by hypothesis, with h of norm 1 and the rate 1."""
    instances = Arrays(lambda instance: any(instance["h"]), W=(0, 1), head=(0,), h=(1,), target=())
    arms: dict[str, tuple[Activation, float]] = {
        "claim": (torch.relu, 1.0),
        "control: L halved": (torch.relu, 0.5),
        **{f"control: {name}, not monotone": known for name, known in NOT_MONOTONE.items()},
    }
    for arm, (activation, constant) in arms.items():

        def rows(
            instance: dict, arm: str = arm, activation: Activation = activation, constant: float = constant
        ) -> list[dict]:
            W, head, h = (torch.from_numpy(array(instance[name])) for name in ("W", "head", "h"))
            actual, virtual, allowance = _steps(activation, W, head, h / h.norm(), float(instance["target"]), 1.0)
            return [*_compared(arm, "", 0, actual, constant**2 * virtual, allowance)]

        yield from smallest("prop1", [arm], instances, rows)


def _compared(arm: str, case: str, instance: int, actual: Tensor, scaled: Tensor, allowance: Tensor) -> Iterator[dict]:
    left, right = (actual.abs() - allowance).clamp(min=0), scaled.abs()
    columns = {"arm": arm, "case": case, "seed": instance, "dtype": "float64"}
    ratio = torch.where(right > 0, left / right, torch.where(left > 0, math.inf, 0.0)).clamp(max=1e6)
    yield {**columns, "quantity": "prop1/ratio", "value": float(ratio.max())}
    # sgn(0) may be read as either sign, so only opposite signs count
    opposite = (actual.abs() > allowance) & (actual * scaled < 0)
    yield {**columns, "quantity": "prop1/opposite signs", "value": float(opposite.sum())}
