"""The tables of B.free and B.rmt, number by number, from products of small matrices in numpy."""

import numpy as np
import pytest
from centered_nfa_oracle import (
    appendix_e,
    assert_same_table,
    cosine,
    data_matrices,
    moments_of_the_weights,
    quadratic_derivatives,
    ratio,
    trace,
)

from gramlab.streams import stream
from tasks.papers.centered_nfa.experiments import b_free, b_rmt


def unit(A: np.ndarray) -> np.ndarray:
    return A / np.sqrt(trace(A, A))


def wishart(size: int, seed: int, name: str) -> np.ndarray:
    G = stream("b_free", size, seed, name).normal(size=(4 * size, size))
    return sum(np.outer(row, row) for row in G) / (4 * size)


def families(size: int, seed: int) -> dict[str, tuple[list[np.ndarray], list[np.ndarray]]]:
    """C and R of both arms."""
    eye = np.eye(size)
    D, G = np.diag([(2 * i / (size - 1)) ** 2 / 2 for i in range(size)]), wishart(size, seed, "C")
    D, G = (unit(A - trace(A) * eye) for A in (D, G))
    C = [unit(np.cos(degrees * np.pi / 180) * D + np.sin(degrees * np.pi / 180) * G) for degrees in (0, 40, 80, 120)]
    S, T = wishart(size, seed, "R1"), wishart(size, seed, "R2")
    R = [S - 0.7 * eye, T - 0.5 * eye, S @ S - 0.8 * eye, 0.5 * eye - T @ T]
    return {"claim": (C, [unit(A) for A in R]),
            "control: R with the eigenvectors of C": (C, [unit(A + A @ A) for A in C])}  # fmt: skip


def test_free_families_equation_by_equation():
    expected = []
    for seed in (0, 1, 2):
        for size in (5, 8):
            for arm, ((C1, C2, C3, C4), (R1, R2, R3, R4)) in families(size, seed).items():
                r1, r2, r3, r4 = (trace(R) for R in (R1, R2, R3, R4))
                # (15) as printed: tr[C₁R₁C₂R₂C₃R₃C₄R₄]
                right = (
                    r1 * r2 * r3 * r4 * trace(C1, C2, C3, C4)
                    + r1 * r3 * (trace(R2, R4) - r2 * r4) * trace(C1, C2) * trace(C3, C4)
                    + r2 * r4 * (trace(R1, R3) - r1 * r3) * trace(C2, C3) * trace(C1, C4)
                )
                errors = {
                    "free/(12)": trace(C1, R1),
                    "free/(13)": trace(C1, R1, C2, R2) - r1 * r2 * trace(C1, C2),
                    "free/(14)": trace(C1, R1, C2, R2, C3, R3) - r1 * r2 * r3 * trace(C1, C2, C3),
                    "free/(15)": trace(C1, R1, C2, R2, C3, R3, C4, R4) - right,
                }
                for quantity, error in errors.items():
                    expected.append({"arm": arm, "seed": seed, "x": size, "quantity": quantity, "value": error})
    assert_same_table(b_free.measure(b_free.Settings(instances=3, sizes=[5, 8])), expected, rel=1e-8, abs=1e-12)


SPECTRA = {
    "isotropic": lambda k, d: 1.0,
    "two levels": lambda k, d: 1.0 if k <= d / 2 else 0.1,
    "smooth decay": lambda k, d: 1 / (1 + 9 * (k / d) ** 2),
    "1/(1 + k)": lambda k, d: 1 / (1 + k),
    "1/(1 + k²)": lambda k, d: 1 / (1 + k * k),
}
CASES = (
    ((1, 1, 1), "isotropic", "normal"), ((1, 1, 1), "two levels", "signs"), ((1, 1, 1), "smooth decay", "ones"),
    ((2, 1, 1), "smooth decay", "normal"), ((1, 2, 1), "isotropic", "signs"), ((1, 1, 2), "two levels", "normal"),
    ((1, 1, 1), "1/(1 + k)", "normal"), ((1, 1, 1), "1/(1 + k²)", "normal"),
)  # fmt: skip
DEPENDENT = "control: R has the data's eigenvectors"


def network(k: int, d: int, *name: str | int) -> tuple[np.ndarray, np.ndarray]:
    draw = stream("b_rmt", "network", *name)
    return draw.normal(size=k), draw.normal(size=(k, d)) / np.sqrt(k)


def drawn_data(case: tuple, size: int, *name: str | int) -> tuple[np.ndarray, np.ndarray]:
    (n, d, _), spectrum, labels = case
    draw = stream("b_rmt", "data", str(case), size, *name)
    X, y = draw.normal(size=(n * size, d * size)), draw.normal(size=n * size)
    for column in range(d * size):
        X[:, column] *= np.sqrt(SPECTRA[spectrum](column + 1, d * size))
    return X, {"normal": y, "signs": np.sign(y), "ones": np.ones(n * size)}[labels]


def traces(X: np.ndarray, y: np.ndarray, a: np.ndarray, W: np.ndarray) -> tuple[float, float, float]:
    nfm, agop = quadratic_derivatives(X, y, a, W)
    return trace(nfm, agop), trace(nfm, nfm), trace(agop, agop)


def limiting_moments(d: int, k: int) -> list[float]:
    """Of compound free Poisson R: sums over the partitions of up to four places, all but one of which cross nowhere."""
    c = d / k
    k1, k2, k3, k4 = 1, 3 * c, 15 * c**2, 105 * c**3
    return [k1, k2 + k1**2, k3 + 3 * k2 * k1 + k1**3, k4 + 4 * k3 * k1 + 2 * k2**2 + 6 * k2 * k1**2 + k1**4]


def turned(A: np.ndarray, R: np.ndarray) -> np.ndarray:
    """R's eigenvalues with A's eigenvectors, the largest with the largest."""
    vectors = np.linalg.eigh(A)[1]
    return sum(value * np.outer(v, v) for value, v in zip(np.linalg.eigvalsh(R), vectors.T, strict=True))


def weight_matrix(a: np.ndarray, W: np.ndarray) -> np.ndarray:
    return W.T @ np.diag(a**2) @ W


def words(A: np.ndarray, B: np.ndarray, R: np.ndarray) -> list[tuple[str, str, float, float, float]]:
    """Equation, word, its trace for centered A and B of norm 1, that if they are free, and the error's denominator."""
    eye = np.eye(len(A))
    P, Q = unit(A - trace(A) * eye), unit(B - trace(B) * eye)
    letters = {"A": P, "B": Q, "R": R}
    r1, r2, r3, r4 = (trace(*[R] * power) for power in (1, 2, 3, 4))
    pq = trace(P, Q)
    values = {
        ("(20)", "ARARBR"): r1**3 * trace(P, P, Q),
        ("(20)", "ARBRR"): r1 * r2 * pq,
        ("(20)", "ARARR"): r1 * r2,
        ("(20)", "ARRR"): 0.0,
        ("(20)", "BRRR"): 0.0,
        ("(22)", "ARAR"): r1**2,
        ("(22)", "ARR"): 0.0,
        ("(28)", "ARBRARBR"): r1**4 * trace(P, Q, P, Q) + 2 * r1**2 * (r2 - r1**2) * pq**2,
        ("(28)", "ARBRARR"): r1**2 * r2 * trace(P, P, Q),
        ("(28)", "ARBRRBR"): r1**2 * r2 * trace(P, Q, Q),
        ("(28)", "RRRARB"): r1 * r3 * pq,
        ("(28)", "RRRRA"): 0.0,
        ("(28)", "RRRRB"): 0.0,
        ("(28)", "RRBRRB"): r2**2,
        ("(28)", "RRARRA"): r2**2,
    }
    power_of_R = {"ARRR": r3, "BRRR": r3, "ARR": r2, "RRRRA": r4, "RRRRB": r4}
    return [
        (equation, word, trace(*[letters[letter] for letter in word]), value, value or power_of_R[word])
        for (equation, word), value in values.items()
    ]


def rows_of_free_equations(case: tuple, size: int, seed: int) -> list[dict]:
    (n, d, k), spectrum, labels = case
    X, y = drawn_data(case, size, seed)
    M, B = data_matrices(X, y)
    A, limit = M @ M, limiting_moments(d, k)
    row = {"case": f"{n}:{d}:{k}, {spectrum}, {labels}", "seed": seed, "x": size}
    rows = []
    for number in range(3):
        row["step"] = number
        name = (str(case), size, seed, number) if number else (str(case), size, seed)
        a, W = network(k * size, d * size, *name)
        R, r, measured = weight_matrix(a, W), moments_of_the_weights(a, W), traces(X, y, a, W)
        if not spectrum.startswith("1/"):
            for equation, word, value, derived, scale in words(A, B, R) if number == 0 else ():
                for arm in ("claim", "corrected"):
                    right = 0.0 if arm == "claim" and word == "RRARRA" else derived
                    rows.append({**row, "arm": arm, "layer": word, "quantity": f"rmt/{equation}, terms",
                                 "value": (value - right) / scale})  # fmt: skip
            for arm in ("claim", "corrected"):
                right = appendix_e(A, B, r, last_term=arm == "corrected")
                for equation, value, derived in zip(("(20)", "(22)", "(28)"), measured, right, strict=True):
                    rows.append({**row, "arm": arm, "quantity": f"rmt/{equation}", "value": value / derived - 1})
        for arm in ("claim", "corrected"):
            error = ratio(measured) - ratio(appendix_e(A, B, limit, last_term=arm == "corrected"))
            rows.append({**row, "arm": arm, "quantity": "rmt/(10), predicted", "value": error})
    row["step"] = 0
    if case == CASES[0]:
        R = turned(A, R)
        measured = trace(A, R, A, R, B, R), trace(A, R, A, R), trace(A, R, B, R, A, R, B, R)
        for equation, value, derived in zip(
            ("(20)", "(22)", "(28)"), measured, appendix_e(A, B, r, last_term=True), strict=True
        ):
            rows.append({**row, "arm": DEPENDENT, "quantity": f"rmt/{equation}", "value": value / derived - 1})
        error = ratio(measured) - ratio(appendix_e(A, B, limit, last_term=True))
        rows.append({**row, "arm": DEPENDENT, "quantity": "rmt/(10), predicted", "value": error})
    return rows


def rows_of_equation_6(shape: tuple, labels: str, size: int, seed: int) -> list[dict]:
    case, row = (shape, "isotropic", labels), {"seed": seed, "x": size, "quantity": "rmt/(6)"}
    row["case"] = f"{':'.join(map(str, shape))}, XᵀX = 1, {labels}"
    X, y = drawn_data(case, size, seed, "XᵀX = 1")
    X = np.linalg.qr(X)[0]
    a, W = network(shape[2] * size, shape[1] * size, str(case), size, seed, "XᵀX = 1")
    M, _ = data_matrices(X, y)
    A, R, (r1, r2, r3, _) = M @ M, weight_matrix(a, W), moments_of_the_weights(a, W)
    centered = A - trace(A) * np.eye(len(A))
    right = trace(A) ** 2 * r3 + r1 * r2 * trace(centered, centered)
    error = traces(X, y, a, W)[0] / right - 1
    R = turned(A, R)
    values = {"claim": error, "corrected": error, DEPENDENT: trace(A, R, A, R, R) / right - 1}
    return [{**row, "arm": arm, "value": value} for arm, value in values.items()]


def rows_of_equation_11(case: tuple, size: int, seed: int) -> list[dict]:
    (n, d, k), spectrum, labels = case
    X, y = drawn_data(case, size, seed, "means")
    rows = []
    for arms, width in ((("claim", "corrected"), k * size), (("control: four hidden units at every size",), 4)):
        of_networks = [
            traces(X, y, *network(width, d * size, str(case), size, seed, "means", number)) for number in range(10)
        ]
        mean_of_ratios = sum(ratio(parts) for parts in of_networks) / 10
        ratio_of_means = ratio(tuple(sum(parts[part] for parts in of_networks) / 10 for part in range(3)))
        rows += [{"arm": arm, "case": f"{n}:{d}:{k}, {spectrum}, {labels}", "seed": seed, "x": size,
                  "quantity": "rmt/(11)", "value": mean_of_ratios - ratio_of_means} for arm in arms]  # fmt: skip
    return rows


@pytest.fixture(scope="module")
def appendix_e_table() -> list[dict]:
    return list(b_rmt.measure(b_rmt.Settings(instances=2, sizes=[3, 5])))


def test_the_equations_of_free_families(appendix_e_table):
    expected = []
    for seed in (0, 1):
        for size in (3, 5):
            for case in CASES:
                expected += rows_of_free_equations(case, size, seed)
            expected += rows_of_equation_6((2, 1, 1), "normal", size, seed)
            expected += rows_of_equation_6((3, 1, 2), "signs", size, seed)
        for case in (CASES[0], CASES[1], CASES[3]):  # not at the largest size
            expected += rows_of_equation_11(case, 3, seed)
    measured = [row for row in appendix_e_table if "dtype" not in row]
    assert_same_table(measured, expected, rel=1e-6, abs=1e-8)


# right sides of the identities as printed: the power of tr[A], that of tr[B], a number, a word; P, Q are centered A, B
EXPANSIONS = {
    "(17)": [(0, 0, 1, "ARARBR")],
    "(21)": [(0, 0, 1, "ARAR")],
    "(23)": [(0, 0, 1, "ARBRARBR")],
    "(18)": [(0, 0, 1, "ARARBR")],
    "(19)": [(0, 0, 1, "PRPRQR"), (1, 0, 2, "PRQRR"), (0, 1, 1, "PRPRR"), (2, 0, 1, "QRRR"), (1, 1, 2, "PRRR"),
             (2, 1, 1, "RRR")],
    "(24)": [(0, 0, 1, "PRBRARBR"), (1, 0, 1, "RRBRARB")],
    "(25)": [(0, 0, 1, "PRQRARBR"), (0, 1, 1, "PRRARBR"), (1, 1, 1, "RRRARB"), (1, 0, 1, "RRQRARB")],
    "(26)": [(0, 0, 1, "PRQRPRBR"), (1, 0, 2, "PRQRRBR"), (0, 1, 1, "PRRPRBR"), (1, 1, 2, "RRRPRB"),
             (2, 1, 1, "RRRRB"), (2, 0, 1, "RRQRRB")],
    "(27)": [(0, 0, 1, "PRQRPRQR"), (0, 1, 2, "PRQRPRR"), (1, 0, 2, "PRQRRQR"), (1, 1, 4, "RRRPRQ"),
             (1, 2, 2, "RRRRP"), (2, 1, 2, "RRRRQ"), (2, 2, 1, "RRRR"), (2, 0, 1, "RRQRRQ"), (0, 2, 1, "RRPRRP")],
}  # fmt: skip


def right_sides(A: np.ndarray, B: np.ndarray, R: np.ndarray) -> dict[str, float]:
    eye = np.eye(len(A))
    letters = {"A": A, "B": B, "R": R, "P": A - trace(A) * eye, "Q": B - trace(B) * eye}
    sides = {
        equation: sum(trace(A) ** power_of_a * trace(B) ** power_of_b * number * trace(*[letters[c] for c in word])
                      for power_of_a, power_of_b, number, word in terms)
        for equation, terms in EXPANSIONS.items()
    }  # fmt: skip
    sides["(19) corrected"] = sides["(19)"]
    sides["(19)"] += trace(A) ** 2 * trace(B) * (trace(R) ** 3 - trace(R, R, R))
    return sides


def rows_of_identities(number: int, seed: int) -> list[dict]:
    draw = stream("b_rmt", "identities", number, seed)
    n, d, k = (int(draw.integers(3, 9)) for _ in range(3))
    X, y, a, W, other_a, other_W = (draw.normal(size=shape) for shape in ((n, d), n, k, (k, d), k, (k, d)))
    M, B = data_matrices(X, y)
    nfm, agop = quadratic_derivatives(X, y, a, W)
    kernel = np.array([[sum(a[s] ** 2 * (W[s] @ p) * (W[s] @ q) for s in range(k)) for q in X] for p in X])
    left = {"(17)": trace(nfm, agop), "(21)": trace(nfm, nfm), "(23)": trace(agop, agop)}
    m, b, r = (2 * np.linalg.svd(matrix)[1][0] for matrix in (M, B, weight_matrix(a, W)))
    scales = {"(17)": 8 * m**4 * b * r**3, "(21)": 6 * m**4 * r**2, "(23)": 10 * m**4 * b**2 * r**4}
    of_kernel = (2 * d + k) * (X**2).sum() * (W**2).sum() * (a**2).sum()
    rows = []
    for R, of_own_network in ((weight_matrix(a, W), True), (weight_matrix(other_a, other_W), False)):
        sides = right_sides(M @ M, B, R)
        root = (sides["(21)"] * sides["(23)"]) ** 0.5
        residuals = {"(16)": np.linalg.norm(kernel - X @ R @ X.T) / of_kernel,
                     "(10)": (cosine(nfm, agop) - sides["(17)"] * root) / (10 * d),
                     "(10) corrected": (cosine(nfm, agop) - sides["(17)"] / root) / (10 * d)}  # fmt: skip
        for equation, side in sides.items():
            printed_number = int(equation[1:3])
            name = "(17)" if printed_number in (17, 18, 19) else "(21)" if printed_number == 21 else "(23)"
            residuals[equation] = (left[name] - side) / scales[name]
        for equation, residual in residuals.items():
            name = equation.removesuffix(" corrected")
            printed, corrected = equation == name, equation != name or name not in ("(10)", "(19)")
            arms = ["claim"] * printed + ["corrected"] * corrected
            if not of_own_network:
                arms = ["control: R of another network"] * corrected
            rows += [
                {"arm": arm, "case": f"matrices {number}", "seed": seed, "dtype": dtype,
                 "quantity": f"rmt/{name}", "value": abs(residual)}
                for arm in arms for dtype in ("float64", "float32")
            ]  # fmt: skip
    return rows


@pytest.mark.parametrize(("dtype", "rel", "abs"), [("float64", 1e-7, 1e-15), ("float32", 1e-2, 1e-7)])
def test_the_identities_of_appendix_e(appendix_e_table, dtype, rel, abs):
    """Residuals of what holds are 0 up to round-off; the others have their values."""
    expected = [row for seed in (0, 1) for number in range(5) for row in rows_of_identities(number, seed)]
    tables = ([row for row in rows if row.get("dtype") == dtype] for rows in (appendix_e_table, expected))
    assert_same_table(*tables, rel=rel, abs=abs)


def test_both_sides_of_an_identity_are_computed(appendix_e_table):
    """Two computations of a number differ by round-off, a number and itself do not."""
    residuals: dict[str, list[float]] = {}
    for row in appendix_e_table:
        if row.get("dtype") == "float32" and row["arm"] != "control: R of another network":
            residuals.setdefault(row["quantity"], []).append(row["value"])
    assert len(residuals) == 11
    assert all(any(values) for values in residuals.values())
