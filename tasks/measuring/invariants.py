"""What must hold of every measurement: a stage checks it on the numbers that it writes, whatever the claim."""

import math
from typing import Any

import torch
from torch import Tensor

ROUND_OFF = 1e-9  # of the numbers' size: all of them are sums in float64


def check_traces(within: float, between: float, total: float) -> None:
    """Check tr(S_W) + tr(S_B) = tr(S_T), with the total computed independently (paper D, Figure 11).

    Raises
    ------
    ArithmeticError
        If the traces do not add up.
    """
    if not abs(within + between - total) <= ROUND_OFF * total:
        raise ArithmeticError(f"tr(S_W) = {within!r} and tr(S_B) = {between!r} do not add up to tr(S_T) = {total!r}")


def check_linearity(value: float, Y: Tensor) -> None:
    """Check that the fit of the targets Y (n, c) is no worse than 0 and no better than Y: 1 − ‖Y‖²/‖Y − Ȳ‖² ≤ T ≤ 1.

    Raises
    ------
    ArithmeticError
        If the target linearity is out of this range.
    """
    least = 1 - float(Y.double().square().sum() / (Y.double() - Y.double().mean(0)).square().sum())
    slack = ROUND_OFF * (1 + abs(least))
    if not least - slack <= value <= 1 + slack or not math.isfinite(value):
        raise ArithmeticError(f"the target linearity {value!r} is not in [{least!r}, 1]")


def check_shared_spectrum(fact: Tensor, back_fact: Tensor) -> None:
    """Check that FACT (d, d) and its backward form (k, k) have the same traces and traces of their squares.

    These are the first two power sums of their eigenvalues, which are the same but for zeros (paper C, Appendix A).

    Raises
    ------
    ArithmeticError
        If a trace differs.
    """
    scale = float(torch.linalg.matrix_norm(fact) + torch.linalg.matrix_norm(back_fact))
    size = max(len(fact), len(back_fact)) ** 0.5
    for name, bound, of in (("", size * scale, torch.trace), (" of the square", scale**2, _trace_of_square)):
        forward, backward = float(of(fact)), float(of(back_fact))
        if not abs(forward - backward) <= ROUND_OFF * bound:
            raise ArithmeticError(f"the trace{name} is {forward!r} for FACT and {backward!r} for its backward form")


def check_forms(layer: Any) -> None:
    """Check that the traces of the forward and the backward forms of a measured layer agree.

    tr(WᵀW) = tr(WWᵀ), and for the AGOP and the eNFA tr(WᵀKW) = tr(K WWᵀ), K their backward form (paper C, Appendix A).

    Raises
    ------
    ArithmeticError
        If a trace differs.
    """
    for name in ("gram", "agop", "enfa"):
        back = getattr(layer, f"back_{name}")
        forward = float(getattr(layer, name).trace())
        backward = float(back.trace() if name == "gram" else (back * layer.back_gram).sum())
        if not abs(forward - backward) <= ROUND_OFF * abs(forward):
            raise ArithmeticError(f"the trace of the {name} is {forward!r}, and {backward!r} by its backward form")


def _trace_of_square(matrix: Tensor) -> Tensor:
    return (matrix * matrix.mT).sum()
