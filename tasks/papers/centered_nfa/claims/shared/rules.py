"""What checks of paper B share: the rule of Figures 7 and 8, and the reading of the scales of Figures 2 to 8."""

from dataclasses import replace

import numpy as np

from tasks.judging.rules import Finding, Rows, curves, every, positive

SCALES = (
    "Scales are of torch's default variance 1/(3k), as in the authors' code; with the printed 1/k the first steps "
    "overshoot on isotropic data at width 256 and scale 1."
)
ROBUST = ("nfa/uncentered", "nfa/centered", "null/uncentered", "test_loss")


def robust(rows: Rows) -> Finding:
    """Per seed, layers at their worst; the spread over the scales is a mean over the measured steps.

    Small and high are less and more than half the way from the null, the mean correlation if the two matrices'
    eigenvectors were independent, to 1: before training at every scale, after it at the smallest, where it is highest.
    """
    U, C, null = (curves(rows.where(quantity=name), "seed", "layer", "x") for name in ROBUST[:3])
    way = (U - null) / (1 - null)
    test = curves(rows.where(quantity="test_loss"), "seed", "x")[..., -1]
    spread = np.ptp(U[..., -C.shape[-1] :], 2) - np.ptp(C, 2)  # before the first step there is no C-NFA
    found = every(
        robust=positive(spread.mean(-1).min(1), "spread of the UC-NFA over the scales minus that of the C-NFA"),
        small=positive(0.5 - way[..., 0].max((1, 2)), "1/2 less the way of the first UC-NFA from its null to 1"),
        high=positive(way[:, :, 0, -1].min(1) - 0.5, "that of the last one at the smallest scale, less 1/2"),
        rises=positive((U[..., -1] - U[..., 0]).min((1, 2)), "last UC-NFA minus first"),
        test_loss=positive(test[:, -1] - test[:, 0], "final test loss at the largest scale minus at the smallest"),
        uncentered=positive(
            (U[:, :, 0, -1] - U[:, :, -1, -1]).min(1), "final UC-NFA at the smallest scale minus at the largest"
        ),
        centered=positive((C[:, :, 0, -1] - C[:, :, -1, -1]).min(1), "the same of the C-NFA"),
    )
    last = [
        f"{name} {part[..., -1].mean(0).min():.2f} to {part[..., -1].mean(0).max():.2f}"
        for name, part in (("UC-NFA", U), ("C-NFA", C))
    ]
    losses = ", ".join(f"{a:.2f} at s₀ = {s:g}" for a, s in zip(test.mean(0), np.unique(rows.x), strict=True))
    return replace(found, measured=f"final {last[0]}, {last[1]}; final test loss {losses}")
