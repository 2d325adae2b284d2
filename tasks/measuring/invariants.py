"""Invariants of all measurements. A stage checks them on the numbers that it writes, whether or not a claim fails."""

import copy
import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import gramlab

ROUND_OFF = 1e-9  # relative; all numbers are sums in float64
SLACK = 1e-5  # relative, between two measurements of a network in float32
CONDITION = 1e6  # of features whose rank is beyond doubt
SAMPLES = 64  # of the second measurement of a network; the invariants hold on any samples
AVERAGES = ("agop", "enfa", "fact", "ptk", "back_enfa", "back_fact")
AT_INPUT, AT_OUTPUT = ("gram", "agop", "enfa", "fact"), ("back_gram", "ptk", "back_enfa", "back_fact")


class BrokenInvariant(ArithmeticError):
    """A measurement that cannot be right."""


@contextmanager
def error_context(**place: Any) -> Iterator[None]:
    """Add a place, for example a seed and a layer, to the message of an invariant that breaks in this block.

    Raises
    ------
    BrokenInvariant
        If the block raises it; the message then begins with the place.
    """
    try:
        yield
    except BrokenInvariant as error:
        location = ", ".join(f"{name} {value}" for name, value in place.items())
        raise BrokenInvariant(f"{location}: {error}") from error


def check_traces(within: float, between: float, total: float) -> None:
    """Check tr(S_W) + tr(S_B) = tr(S_T), with the total computed independently (paper D, Figure 11).

    Raises
    ------
    BrokenInvariant
        If the traces do not add up.
    """
    if not abs(within + between - total) <= ROUND_OFF * total:
        relative_error = _relative(abs(within + between - total), total)
        raise BrokenInvariant(
            f"tr(S_W) = {within!r} and tr(S_B) = {between!r} do not add up to tr(S_T) = {total!r}; "
            f"they are off by {relative_error:.1e} of it"
        )


def check_linearity(value: float, Y: Tensor) -> None:
    """Check that the fit of the targets Y (n, c) is no worse than 0 and no better than Y: 1 − ‖Y‖²/‖Y − Ȳ‖² ≤ T ≤ 1.

    Raises
    ------
    BrokenInvariant
        If the target linearity is out of this range, or if all rows of Y are the same: then it has none.
    """
    if bool((Y[0] == Y).all()):
        raise BrokenInvariant(f"the target linearity {value!r} of targets whose rows are all the same is not defined")
    least = 1 - float(Y.double().square().sum() / (Y.double() - Y.double().mean(0)).square().sum())
    slack = ROUND_OFF * (1 + abs(least))
    if not least - slack <= value <= 1 + slack or not math.isfinite(value):
        distance = max(least - value, value - 1)
        raise BrokenInvariant(f"the target linearity {value!r} is not in [{least!r}, 1]; it is off by {distance:.1e}")


def check_shared_spectrum(fact: Tensor, back_fact: Tensor) -> None:
    """Check that FACT (d, d) and its backward form (k, k) have the same traces and traces of their squares.

    These are the first two power sums of their eigenvalues, which are the same but for zeros (paper C, Appendix A).

    Raises
    ------
    BrokenInvariant
        If a trace differs.
    """
    scale = float(torch.linalg.matrix_norm(fact) + torch.linalg.matrix_norm(back_fact))
    size = max(len(fact), len(back_fact)) ** 0.5
    for name, bound, trace in (("", size * scale, torch.trace), (" of the square", scale**2, _trace_of_square)):
        forward, backward = float(trace(fact)), float(trace(back_fact))
        if not abs(forward - backward) <= ROUND_OFF * bound:
            raise BrokenInvariant(
                f"the trace{name} is {forward!r} for FACT and {backward!r} for its backward form; "
                f"they differ by {_relative(abs(forward - backward), bound):.1e} of the matrices' size"
            )


def check_forms(layer: Any) -> None:
    """Check that the traces of the forward and the backward forms of a measured layer agree.

    tr(WᵀW) = tr(WWᵀ), and for the AGOP and the eNFA tr(WᵀKW) = tr(K WWᵀ), K their backward form (paper C, Appendix A).

    Raises
    ------
    BrokenInvariant
        If a trace differs.
    """
    for name in ("gram", "agop", "enfa"):
        back = getattr(layer, f"back_{name}")
        forward = float(getattr(layer, name).trace())
        backward = float(back.trace() if name == "gram" else (back * layer.back_gram).sum())
        if not abs(forward - backward) <= ROUND_OFF * abs(forward):
            raise BrokenInvariant(
                f"the trace of the {name} is {forward!r}, and {backward!r} by its backward form; "
                f"they differ by {_relative(abs(forward - backward), abs(forward)):.1e} of it"
            )


def check_invertible_maps(H: Tensor, Y: Tensor, random: np.random.Generator) -> None:
    """Check that a random invertible map of features H (n, d) leaves their target linearity at ridge 0 as it is.

    Directions in which the features have less than 1e-6 of their largest singular value are left out: a map can
    move such directions across the cutoff of the rank.

    Raises
    ------
    BrokenInvariant
        If the map changes the target linearity.
    """
    squares, directions = torch.linalg.eigh(H.double().mT @ H.double())
    kept = squares > squares[-1] / CONDITION**2
    if not kept.all():
        H = H.double() @ directions[:, kept]
    d = H.shape[1]
    first, second = (_rotation(d, random).to(H.device) for _ in range(2))
    A = first * torch.linspace(1, 2, d, dtype=torch.float64, device=H.device) @ second
    value, mapped = gramlab.target_linearity(H, Y), gramlab.target_linearity(H.double() @ A, Y)
    if not abs(value - mapped) <= SLACK * (1 + abs(value)):
        raise BrokenInvariant(
            f"an invertible map changes the target linearity by {abs(value - mapped):.1e}, from {value!r} to {mapped!r}"
        )


def check_rotated_collapse(H: Tensor, labels: Tensor, random: np.random.Generator) -> None:
    """Check that a random rotation and another scale of features H (n, d) leave their NC1 and NC2 as they are.

    Both are 0 up to round-off where the features have collapsed; NC1 is a quotient of squares.

    Raises
    ------
    BrokenInvariant
        If either changes by more than round-off.
    """
    H = H.double()
    collapse = gramlab.neural_collapse(H, labels)
    rotated = gramlab.neural_collapse(3 * H @ _rotation(H.shape[1], random).to(H.device), labels)
    for name, zero in (("nc1", ROUND_OFF**2), ("nc2", ROUND_OFF)):
        value, other = getattr(collapse, name), getattr(rotated, name)
        if not abs(value - other) <= SLACK * abs(value) + zero:
            raise BrokenInvariant(
                f"a rotation and a scale change {name} by {_relative(abs(value - other), abs(value)):.1e} of it, "
                f"from {value!r} to {other!r}"
            )


def check_network(
    model: nn.Sequential, x: Tensor, y: Tensor, loss: str, weight_decay: float, random: np.random.Generator
) -> None:
    """Check that three changes leave the averages over the first samples of x (n, d) and y as they are.

    Every sample occurs twice, in random order; hidden units are permuted; units with zero weights are added. The
    changes of units keep the matrices at the input of the first layer and at the output of the last layer. A matrix of
    zeros, which a dead layer has, must stay one.

    Raises
    ------
    BrokenInvariant
        If a matrix changes by more than round-off.
    """
    x, y = x[:SAMPLES], y[:SAMPLES]
    order = torch.from_numpy(random.permutation(2 * len(x))).to(x.device) % len(x)
    linear = [name for name, part in model.named_modules() if isinstance(part, nn.Linear)]
    before = gramlab.measure(model, x, y, loss=loss, weight_decay=weight_decay)
    doubled = gramlab.measure(model, x[order], y[order.to(y.device)], loss=loss, weight_decay=weight_decay)
    with_other_units = gramlab.measure(_with_other_units(model, random), x, y, loss=loss, weight_decay=weight_decay)
    for change, after, by_layer in (
        ("copies of the samples", doubled, dict.fromkeys(linear, AVERAGES)),
        ("permuted and added units", with_other_units, {linear[0]: AT_INPUT, linear[-1]: AT_OUTPUT}),
    ):
        for name, quantities in by_layer.items():
            for quantity in quantities:
                value = getattr(before[name], quantity)
                error = _relative(float((value - getattr(after[name], quantity)).norm()), float(value.norm()))
                if not error <= SLACK:
                    raise BrokenInvariant(f"layer {name}: {change} change the {quantity} by {error:.1e} of its norm")


def _with_other_units(model: nn.Sequential, random: np.random.Generator) -> nn.Sequential:
    """The same function, with the hidden units of every layer in random order and one more unit of zero weights."""
    model = copy.deepcopy(model)
    for layer, next_layer in pairwise(part for part in model.modules() if isinstance(part, nn.Linear)):
        order = torch.from_numpy(random.permutation(len(layer.weight) + 1)).to(layer.weight.device)
        rows = nn.functional.pad(layer.weight.detach(), (0, 0, 0, 1))[order]
        columns = nn.functional.pad(next_layer.weight.detach(), (0, 1))[:, order]
        layer.weight, next_layer.weight = nn.Parameter(rows), nn.Parameter(columns)
        if layer.bias is not None:
            layer.bias = nn.Parameter(nn.functional.pad(layer.bias.detach(), (0, 1))[order])
        layer.out_features = next_layer.in_features = len(order)
    return model


def _relative(error: float, size: float) -> float:
    """An error as a share of a size; of size 0 no error is 0, and every other is infinite."""
    return error / size if size else 0.0 if error == 0 else math.inf


def _rotation(size: int, random: np.random.Generator) -> Tensor:
    return torch.linalg.qr(torch.from_numpy(random.normal(size=(size, size))))[0]


def _trace_of_square(matrix: Tensor) -> Tensor:
    return (matrix * matrix.mT).sum()
