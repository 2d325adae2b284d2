"""A.prop1: a gradient step on one sample moves a layer's output no further than L^2 times the virtual step.

Each instance is a layer h_l = sigma(W h_{l-1}) with ||h_{l-1}|| = 1 below a random head. Sizes, weight scales and
learning rates are random; some layers are trained on their sample first, some have zero weights or a dead head.

z - sin z increases strictly, and its derivative is 0 at z = 0. So a layer with zero weights stays where it is, while
the virtual step moves: the printed equality of signs, which grants either sign of 0 only to activations that are
constant somewhere, fails there. The corrected arm grants it to all.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

from gramlab.nets import ACTIVATIONS
from gramlab.streams import stream
from tasks.measuring.counterexamples import Arrays, array, smallest
from tasks.settings.simulation import Simulation

Activation = Callable[[Tensor], Tensor]


def flat_at_0(z: Tensor) -> Tensor:
    """z - sin z, which increases strictly; its derivative 1 - cos z is 0 at 0."""
    return z - torch.sin(z)


# by name the function and its Lipschitz constant, rounded up
LIPSCHITZ = {"relu": 1.0, "leaky_relu": 1.0, "tanh": 1.0, "sigmoid": 0.25, "softplus": 1.0, "linear": 1.0}
INCREASING: dict[str, tuple[Activation, float]] = {
    **{name: (ACTIVATIONS[name](), constant) for name, constant in LIPSCHITZ.items()},
    "z - sin z": (flat_at_0, 2.0),
}
CONSTANT_SOMEWHERE = {"relu"}  # to which the paper grants either sign of 0
NOT_MONOTONE: dict[str, tuple[Activation, float]] = {"gelu": (nn.GELU(), 1.1290), "sin": (torch.sin, 1.0)}
UNIT_ROUNDOFF = 2.0**-53


class Settings(Simulation):
    """``instances`` counts the random layers of each activation."""


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: the largest ratio of the two sides over the elements, and the number of unequal signs."""
    yield from adversaries()
    for name, (activation, constant) in INCREASING.items():
        for instance in range(settings.instances):
            steps = _random_steps(activation, name, instance)
            yield from _compared("claim", name, instance, steps, constant**2, name in CONSTANT_SOMEWHERE)
            yield _signs("corrected", name, instance, steps, either_sign_of_0=True)
            yield from _compared("control: L halved", name, instance, steps, constant**2 / 4)
    for name, (activation, constant) in NOT_MONOTONE.items():
        for instance in range(settings.instances):
            steps = _random_steps(activation, name, instance)
            yield from _compared(f"control: {name}, not monotone", name, instance, steps, constant**2)


class Steps(NamedTuple):
    """The steps of a layer's outputs (d,).

    Attributes
    ----------
    actual, virtual
        sigma(W+ h) - sigma(W h), and h_l^+ - h_l.
    round_off
        A bound on the error of ``actual``.
    at_rest
        Where ``actual`` is 0 because sigma' is 0 at 0, and not because a small number is rounded to 0.
    """

    actual: Tensor
    virtual: Tensor
    round_off: Tensor
    at_rest: Tensor


def _random_steps(activation: Activation, name: str, instance: int) -> Steps:
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
) -> Steps:
    """The steps of a layer after a gradient step on the sample ``h``."""
    W = W.requires_grad_()
    z = W @ h
    before = activation(z)
    at_W, at_h = torch.autograd.grad(_loss(before, head, target, bounded), [W, before])
    after = activation((W - rate * at_W) @ h)
    reach = (W.detach().abs() + rate * at_W.abs()) @ h.abs()
    round_off = 8 * UNIT_ROUNDOFF * (1 + len(h)) * (reach + before.detach().abs() + after.detach().abs())
    actual = (after - before).detach()
    return Steps(actual, -rate * at_h, round_off, (z.detach() == 0) & (actual == 0))


def adversaries() -> Iterator[dict]:
    """The smallest layers that violate the proposition, by hypothesis, with h of norm 1 and the rate 1."""
    instances = Arrays(lambda instance: any(instance["h"]), W=(0, 1), head=(0,), h=(1,), target=())
    arms: dict[str, tuple[Activation, float]] = {
        "claim": (flat_at_0, 2.0),
        "corrected": (flat_at_0, 2.0),
        "control: L halved": (torch.relu, 0.5),
        **{f"control: {name}, not monotone": known for name, known in NOT_MONOTONE.items()},
    }
    for arm, (activation, constant) in arms.items():

        def rows(
            instance: dict, arm: str = arm, activation: Activation = activation, constant: float = constant
        ) -> list[dict]:
            W, head, h = (torch.from_numpy(array(instance[name])) for name in ("W", "head", "h"))
            steps = _steps(activation, W, head, h / h.norm(), float(instance["target"]), 1.0)
            return [*_compared(arm, "", 0, steps, constant**2, either_sign_of_0=arm != "claim")]

        yield from smallest("prop1", [arm], instances, rows)


def _compared(
    arm: str, case: str, instance: int, steps: Steps, factor: float, either_sign_of_0: bool = True
) -> Iterator[dict]:
    left, right = (steps.actual.abs() - steps.round_off).clamp(min=0), factor * steps.virtual.abs()
    ratio = torch.where(right > 0, left / right, torch.where(left > 0, math.inf, 0.0)).clamp(max=1e6)
    signs = _signs(arm, case, instance, steps, either_sign_of_0)
    yield {**signs, "quantity": "prop1/ratio", "value": float(ratio.max())}
    yield signs


def _signs(arm: str, case: str, instance: int, steps: Steps, either_sign_of_0: bool) -> dict:
    """The number of unequal signs; unless 0 has either sign, an output at rest counts where the virtual one moves."""
    unequal = (steps.actual.abs() > steps.round_off) & (steps.actual * steps.virtual < 0)
    if not either_sign_of_0:
        unequal |= steps.at_rest & (steps.virtual != 0)
    return {"arm": arm, "case": case, "seed": instance, "dtype": "float64", "quantity": "prop1/unequal signs",
            "value": float(unequal.sum())}  # fmt: skip
