"""The equations of Appendix E on matrices and numbers, with A = (XᵀYX)², B = XᵀX and R = Wᵀ diag(a²) W as in (16)."""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce

import torch
from torch import Tensor


def tr(*factors: Tensor) -> float:
    """The trace of a product, divided by the dimension."""
    *first, last = factors
    if not first:
        return float(last.trace()) / len(last)
    return float((reduce(torch.matmul, first) * last.T).sum()) / len(last)


def derivatives(X: Tensor, y: Tensor, a: Tensor, W: Tensor) -> tuple[Tensor, Tensor]:
    """S = ẆẆᵀ and KS (k, k) of f = ½ aᵀ(Wx)², with Ẇ = JᵀYX, K = JᵀJ and J = ∂f/∂h (n, k)."""
    J = X @ W.T * a
    W_dot = J.T @ (y * X)
    S = W_dot @ W_dot.T
    return S, J.T @ J @ S


def printed(A: Tensor, B: Tensor) -> Callable[[Sequence[float]], tuple[float, float, float]]:
    """The right sides of (20), (22) and (28) as printed, of R's moments; tr[Ā]² in the last term of (28) is 0."""
    eye = torch.eye(len(A), dtype=A.dtype)
    a, b, aa, bb = tr(A), tr(B), tr(A, A), tr(B, B)
    P, Q = A - a * eye, B - b * eye
    PQ = P @ Q
    p, pp, qq, pq, ppq, pqq, pqpq = tr(P), tr(P, P), tr(Q, Q), tr(PQ), tr(P, PQ), tr(PQ, Q), tr(PQ, PQ)

    def equations(r: Sequence[float]) -> tuple[float, float, float]:
        r1, r2, r3, r4 = r
        return (
            a**2 * b * r3 + 2 * a * r2 * r1 * pq + b * r1 * r2 * pp + r1**3 * ppq,
            aa * r1**2 + a**2 * r2 - a**2 * r1**2,
            r1**4 * pqpq + 2 * r1**2 * (r2 - r1**2) * pq**2 + 2 * r1**2 * r2 * (b * ppq + a * pqq)
            + 4 * a * b * r3 * r1 * pq + a**2 * b**2 * r4 + a**2 * qq * r2**2 + p**2 * bb * r2**2,
        )  # fmt: skip

    return equations


def expansions(A: Tensor, B: Tensor, R: Tensor) -> dict[str, float]:
    """Right sides of (17)–(19), (21) and (23)–(27). "corrected": as derived, where the print is wrong.

    (18), (19) and (24)–(27) substitute A = P + a, B = Q + b with the means a, b and the centered P, Q.
    """
    eye = torch.eye(len(A), dtype=A.dtype)
    a, b = tr(A), tr(B)
    P, Q = A - a * eye, B - b * eye
    other_words = (
        tr(P, R, P, R, Q, R) + 2 * a * tr(P, R, Q, R, R) + b * tr(P, R, P, R, R)
        + a**2 * tr(Q, R, R, R) + 2 * a * b * tr(P, R, R, R)
    )  # fmt: skip
    return {
        "(17)": tr(A, R, A, R, B, R),
        "(21)": tr(A, R, A, R),
        "(23)": tr(A, R, B, R, A, R, B, R),
        "(18)": tr(P + a * eye, R, P + a * eye, R, Q + b * eye, R),
        "(19)": other_words + a**2 * b * tr(R) ** 3,
        "(19) corrected": other_words + a**2 * b * tr(R, R, R),
        "(24)": (tr(P, R, B, R, A, R, B, R) + a * tr(R, R, B, R, A, R, B)),
        "(25)": (tr(P, R, Q, R, A, R, B, R) + b * tr(P, R, R, A, R, B, R) + a * b * tr(R, R, R, A, R, B)
                 + a * tr(R, R, Q, R, A, R, B)),
        "(26)": (tr(P, R, Q, R, P, R, B, R) + 2 * a * tr(P, R, Q, R, R, B, R) + b * tr(P, R, R, P, R, B, R)
                 + 2 * a * b * tr(R, R, R, P, R, B) + a**2 * b * tr(R, R, R, R, B) + a**2 * tr(R, R, Q, R, R, B)),
        "(27)": (tr(P, R, Q, R, P, R, Q, R) + 2 * b * tr(P, R, Q, R, P, R, R) + 2 * a * tr(P, R, Q, R, R, Q, R)
                 + 4 * a * b * tr(R, R, R, P, R, Q) + 2 * a * b**2 * tr(R, R, R, R, P)
                 + 2 * a**2 * b * tr(R, R, R, R, Q) + a**2 * b**2 * tr(R, R, R, R) + a**2 * tr(R, R, Q, R, R, Q)
                 + b**2 * tr(R, R, P, R, R, P)),
    }  # fmt: skip


def word_errors(A: Tensor, B: Tensor, R: Tensor, r: Sequence[float]) -> Iterator[dict]:
    """Rows of the relative error that (20), (22) and (28) make in each word of (19), (22) and (27); r are R's moments.

    P and Q replace A and B: they are centered, with tr[P²] = tr[Q²] = 1. If the right side is 0, the error is relative
    to the trace of the word's power of R. (28) as printed has tr[P]² = 0 instead of tr[P²].
    """
    r1, r2, r3, r4 = r
    eye = torch.eye(len(A), dtype=A.dtype)
    P, Q = A - tr(A) * eye, B - tr(B) * eye
    P, Q = P / tr(P, P) ** 0.5, Q / tr(Q, Q) ** 0.5
    PR, QR, RR = P @ R, Q @ R, R @ R
    PRR, QRR, PQ = PR @ R, QR @ R, P @ Q
    pq, ppq, pqq, pqpq = tr(PQ), tr(P, PQ), tr(PQ, Q), tr(PQ, PQ)
    words: dict[str, dict[str, tuple[float, ...]]] = {  # left side, right side and, where that is 0, the scale
        "(20)": {
            "ARARBR": (tr(PR, PR @ QR), r1**3 * ppq),
            "ARBRR": (tr(PR, QRR), r1 * r2 * pq),
            "ARARR": (tr(PR, PRR), r1 * r2),
            "ARRR": (tr(PRR, R), 0.0, r3),
            "BRRR": (tr(QRR, R), 0.0, r3),
        },
        "(22)": {"ARAR": (tr(PR, PR), r1**2), "ARR": (tr(PRR), 0.0, r2)},
        "(28)": {
            "ARBRARBR": (tr(PR @ QR, PR @ QR), r1**4 * pqpq + 2 * r1**2 * (r2 - r1**2) * pq**2),
            "ARBRARR": (tr(PR @ QR, PRR), r1**2 * r2 * ppq),
            "ARBRRBR": (tr(PR @ QRR, QR), r1**2 * r2 * pqq),
            "RRRARB": (tr(RR, R @ PR @ Q), r3 * r1 * pq),
            "RRRRA": (tr(RR, RR @ P), 0.0, r4),
            "RRRRB": (tr(RR, RR @ Q), 0.0, r4),
            "RRBRRB": (tr(RR @ Q, RR @ Q), r2**2),
            "RRARRA": (tr(RR @ P, RR @ P), r2**2),
        },
    }
    for equation, sides in words.items():
        for word, (left, derived, *scale) in sides.items():
            for arm in ("claim", "corrected"):
                right = 0.0 if (arm, word) == ("claim", "RRARRA") else derived
                error = (left - right) / (derived or scale[0])
                yield {"arm": arm, "layer": word, "quantity": f"rmt/{equation}, terms", "value": error}
