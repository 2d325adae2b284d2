"""B.free: the identities (12)-(15) for alternating words of two families of large random matrices.

The centred C are functions of a fixed spectrum and of a Wishart matrix, the R of two Wishart matrices of their own,
whose eigenvectors are uniform whatever the C are: the families are free as the size grows. C and R are scaled to
tr[C²] = 1 and tr[R²] = 1, and errors are the difference of both sides.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from gramlab.streams import stream
from tasks.settings.fields import Count
from tasks.settings.simulation import Simulation

DEPENDENT = "control: R with the eigenvectors of C"


class Settings(Simulation):
    """Settings of this experiment."""

    sizes: list[Count]  # of the matrices


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: free/(equation), the signed error at each size x."""
    for seed in range(settings.instances):
        for size in settings.sizes:
            C = first_family(size, seed)
            for arm, R in (("claim", second_family(size, seed)), (DEPENDENT, [one + one @ one for one in C])):
                for equation, error in errors(C, [one / tr(one, one) ** 0.5 for one in R]).items():
                    yield {"arm": arm, "case": "", "seed": seed, "x": float(size), "quantity": f"free/{equation}",
                           "value": error}  # fmt: skip


def first_family(d: int, seed: int) -> list[Tensor]:
    """Four centred matrices that do not commute, whose pairs' correlations are cosines of 40 degrees to 120.

    So no term of (15) is small, and tr[C₁C₂] tr[C₃C₄] and tr[C₂C₃] tr[C₁C₄] are as unlike as in their sign.
    """
    D, G = torch.diag(torch.linspace(0, 2, d, dtype=torch.float64) ** 2 / 2), wishart(d, seed, "C")
    D, G = (one - tr(one) * torch.eye(d) for one in (D, G))
    D, G = (one / tr(one, one) ** 0.5 for one in (D, G))
    made = [math.cos(angle) * D + math.sin(angle) * G for angle in (math.radians(40 * i) for i in range(4))]
    return [one / tr(one, one) ** 0.5 for one in made]


def second_family(d: int, seed: int) -> list[Tensor]:
    """Four matrices that do not commute, with traces unlike 0 and each other, every other two correlated.

    The first and third rise together; of the second and fourth one falls as the other rises.
    """
    G, H, I = wishart(d, seed, "R1"), wishart(d, seed, "R2"), torch.eye(d)  # noqa: E741
    return [G - 0.7 * I, H - 0.5 * I, G @ G - 0.8 * I, 0.5 * I - H @ H]


def wishart(d: int, *name: str | int) -> Tensor:
    """GᵀG/4d of a standard normal G (4d, d)."""
    G = torch.from_numpy(stream("b_free", d, *name).normal(size=(4 * d, d)))
    return G.T @ G / (4 * d)


def errors(C: list[Tensor], R: list[Tensor]) -> dict[str, float]:
    """Left less right side of (12), (13), (14) and (15), whose indices begin at 0 here."""
    r = [tr(one) for one in R]
    word = [C[i] @ R[i] for i in range(4)]
    first, last, centred_first = word[0] @ word[1], word[2] @ word[3], C[0] @ C[1]
    covariance = {(i, j): tr(R[i], R[j]) - r[i] * r[j] for i, j in ((0, 2), (1, 3))}
    return {
        "(12)": tr(word[0]),
        "(13)": tr(first) - r[0] * r[1] * tr(centred_first),
        "(14)": tr(first, word[2]) - r[0] * r[1] * r[2] * tr(centred_first, C[2]),
        "(15)": tr(first, last) - r[0] * r[1] * r[2] * r[3] * tr(centred_first, C[2] @ C[3])
        - r[0] * r[2] * covariance[1, 3] * tr(centred_first) * tr(C[2], C[3])
        - r[1] * r[3] * covariance[0, 2] * tr(C[1], C[2]) * tr(C[0], C[3]),
    }  # fmt: skip


def tr(A: Tensor, B: Tensor | None = None) -> float:
    """The trace of A, or of AB, over the size."""
    return float(A.trace() if B is None else (A * B.T).sum()) / len(A)
