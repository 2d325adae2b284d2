"""B.free: the identities (12)–(15) for alternating words of two families of large random matrices.

The centered C are functions of a fixed spectrum and of a Wishart matrix; the R are functions of two other Wishart
matrices, whose eigenvectors are uniform whatever the C are. So the families become free as the size grows. C and R are
scaled to tr[C²] = 1 and tr[R²] = 1, and an error is the difference of both sides.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from gramlab.streams import stream
from tasks.settings.fields import Count
from tasks.settings.simulation import Simulation


class Settings(Simulation):
    """Settings of this experiment; ``instances`` are seeds."""

    sizes: list[Count]  # of the matrices


DEPENDENT = "control: R with the eigenvectors of C"


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: free/(equation), the signed error at each size x."""
    for seed in range(settings.instances):
        for size in settings.sizes:
            C = first_family(size, seed)
            families = {"claim": second_family(size, seed), DEPENDENT: [matrix + matrix @ matrix for matrix in C]}
            for arm, R in families.items():
                for equation, error in errors(C, scaled(R)).items():
                    yield {"arm": arm, "case": "", "seed": seed, "x": float(size), "quantity": f"free/{equation}",
                           "value": error}  # fmt: skip


def first_family(d: int, seed: int) -> list[Tensor]:
    """Four centered matrices C that do not commute, with tr[C_i C_j] the cosines of angles from 40 to 120 degrees.

    So no term of (15) is small, and tr[C₁C₂] tr[C₃C₄] and tr[C₂C₃] tr[C₁C₄] have different signs.
    """
    D, G = torch.diag(torch.linspace(0, 2, d, dtype=torch.float64) ** 2 / 2), wishart(d, seed, "C")
    D, G = scaled([matrix - tr(matrix) * torch.eye(d, dtype=torch.float64) for matrix in (D, G)])
    return scaled([math.cos(angle) * D + math.sin(angle) * G for angle in (math.radians(40 * i) for i in range(4))])


def second_family(d: int, seed: int) -> list[Tensor]:
    """Four matrices that do not commute, with different traces other than 0.

    The first and third are positively correlated, the second and fourth negatively.
    """
    G, H, I = wishart(d, seed, "R1"), wishart(d, seed, "R2"), torch.eye(d, dtype=torch.float64)  # noqa: E741
    return [G - 0.7 * I, H - 0.5 * I, G @ G - 0.8 * I, 0.5 * I - H @ H]


def wishart(d: int, *name: str | int) -> Tensor:
    """GᵀG/4d of a standard normal G (4d, d)."""
    G = torch.from_numpy(stream("b_free", d, *name).normal(size=(4 * d, d)))
    return G.T @ G / (4 * d)


def scaled(matrices: list[Tensor]) -> list[Tensor]:
    """The matrices, each scaled so that the trace of its square is 1."""
    return [matrix / tr(matrix, matrix) ** 0.5 for matrix in matrices]


def errors(C: list[Tensor], R: list[Tensor]) -> dict[str, float]:
    """Left minus right side of (12), (13), (14) and (15); indices start at 0 here."""
    r = [tr(matrix) for matrix in R]
    CR = [C[i] @ R[i] for i in range(4)]
    CR_01, CR_23, C_01 = CR[0] @ CR[1], CR[2] @ CR[3], C[0] @ C[1]
    covariance = {(i, j): tr(R[i], R[j]) - r[i] * r[j] for i, j in ((0, 2), (1, 3))}
    return {
        "(12)": tr(CR[0]),
        "(13)": tr(CR_01) - r[0] * r[1] * tr(C_01),
        "(14)": tr(CR_01, CR[2]) - r[0] * r[1] * r[2] * tr(C_01, C[2]),
        "(15)": tr(CR_01, CR_23) - r[0] * r[1] * r[2] * r[3] * tr(C_01, C[2] @ C[3])
        - r[0] * r[2] * covariance[1, 3] * tr(C_01) * tr(C[2], C[3])
        - r[1] * r[3] * covariance[0, 2] * tr(C[1], C[2]) * tr(C[0], C[3]),
    }  # fmt: skip


def tr(A: Tensor, B: Tensor | None = None) -> float:
    """The trace of A, or of AB, divided by the size."""
    return float(A.trace() if B is None else (A * B.T).sum()) / len(A)
