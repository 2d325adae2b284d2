"""The papers' predictions, as formulas of the data and of the initialization. Never imports gramlab.measures."""

from gramlab.theory.free_probability import mixed_moment, noncrossing
from gramlab.theory.kernels import expected_kernel, first_order
from gramlab.theory.nfa import (
    Traces,
    centered_nfa,
    combined,
    data_moments,
    expected_derivatives,
    gaussian_moments,
    mean_term,
    moments,
    traces,
)

__all__ = [
    "Traces",
    "centered_nfa",
    "combined",
    "data_moments",
    "expected_derivatives",
    "expected_kernel",
    "first_order",
    "gaussian_moments",
    "mean_term",
    "mixed_moment",
    "moments",
    "noncrossing",
    "traces",
]
