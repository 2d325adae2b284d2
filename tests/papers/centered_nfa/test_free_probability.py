"""Free probability: B.free and B.rmt on planted tables, and their experiments against other computations."""

import numpy as np
import pytest
import torch
from centered_nfa_planted import findings, refuted, supported
from helpers import rows

from gramlab.streams import stream
from tasks.papers.centered_nfa.claims import b_free, b_rmt
from tasks.papers.centered_nfa.experiments import b_free as free
from tasks.papers.centered_nfa.experiments.shared import appendix_e


def noise(*name) -> float:
    return float(stream("test_checks_b_theory", *map(str, name)).normal())


def errors(name: str, power: float, limit: float = 0.0) -> list[dict]:
    """Rows of random errors that fall with the size to this power, about ``limit``."""
    return [
        {"seed": seed, "x": x, "quantity": name, "value": limit + 0.3 * noise(name, seed, x) * (x / 32) ** power}
        for seed in range(150)
        for x in (32.0, 64.0, 128.0, 256.0)
    ]


def test_each_identity_of_free_families_can_fail():
    good = [row for equation in b_free.FORMULAS for row in errors(f"free/{equation}", -1)]
    assert supported(b_free, rows(good)) == {statement.name for statement in b_free.STATEMENTS}
    for equation in b_free.FORMULAS:
        others = [row for row in good if row["quantity"] != f"free/{equation}"]
        not_falling = findings(b_free, rows([*others, *errors(f"free/{equation}", 0.2)]))
        assert not not_falling.pop(equation)
        assert not not_falling.pop(f"{equation}, as 1/size")
        assert all(not_falling.values())
        assert equation in refuted(b_free, rows([*others, *errors(f"free/{equation}", -1, limit=0.5)]))


def test_the_data_tell_the_pairs_of_equation_15_apart():
    """Its covariances, and the products of traces that multiply them, differ by more than half of the larger."""
    C, R = (sum(traces) / 20 for traces in zip(*(traces_of_15(seed) for seed in range(20)), strict=True))
    for first, second in (C, R):
        assert abs(first - second) > 0.5 * max(abs(first), abs(second)) > 0.05


def traces_of_15(seed: int) -> tuple[np.ndarray, np.ndarray]:
    families = (free.first_family(96, seed), free.second_family(96, seed))
    C, R = (np.stack([matrix.numpy() for matrix in family]) for family in families)
    c, r = (np.einsum("iab,jba->ij", family, family) / 96 for family in (C, R))
    mean = np.trace(R, axis1=1, axis2=2) / 96
    covariance = r - np.outer(mean, mean)
    pairs = np.array([c[0, 1] * c[2, 3], c[1, 2] * c[0, 3]])
    return pairs, np.array([covariance[1, 3], covariance[0, 2]])


def test_each_equation_of_appendix_e_can_fail():
    terms = [f"{name}, terms" for name in b_rmt.WORD_BY_WORD]
    good = [row for name in (*b_rmt.FREE, *b_rmt.FALLING, *terms) for row in errors(f"rmt/{name}", -1)]
    good += [
        {
            "case": str(case),
            "dtype": dtype,
            "quantity": f"rmt/{name}",
            "value": unit * (1 + 0.1 * noise(name, case, dtype)),
        }
        for name in b_rmt.EXACT
        for case in range(6)
        for dtype, unit in (("float64", 2.0**-53), ("float32", 2.0**-24))
    ]
    several_networks = {"self-averaging"}  # these tables have one on each data set
    assert supported(b_rmt, rows(good)) == {statement.name for statement in b_rmt.STATEMENTS} - several_networks
    for name in b_rmt.EXACT:
        wrong = [row | {"value": 0.1} if row["quantity"] == f"rmt/{name}" else row for row in good]
        assert refuted(b_rmt, rows(wrong)) == {name}
    for name in (*b_rmt.FREE, *b_rmt.FALLING):
        others = [row for row in good if row["quantity"] != f"rmt/{name}"]
        assert name in refuted(b_rmt, rows([*others, *errors(f"rmt/{name}", -1, limit=1.0)]))
    for name in b_rmt.WORD_BY_WORD:
        wrong_word = [{**row, "layer": "another word"} for row in errors(f"rmt/{name}, terms", -1, limit=1.0)]
        assert refuted(b_rmt, rows([*good, *wrong_word])) == {f"{name}, word by word"}


def of_networks(powers: dict[str, float], prediction: float = 0.0) -> list[dict]:
    """Errors of three networks on each data set, by kind: they deviate by a power of the size about a common error."""
    return [
        {"case": case, "seed": seed, "x": x, "step": network, "quantity": "rmt/(10), predicted",
         "value": noise("data", seed, x) - prediction + 0.02 * noise(case, seed, x, network) * (x / 32) ** power}
        for case, power in powers.items() for seed in range(20) for x in (32.0, 64.0, 128.0, 256.0)
        for network in range(3)
    ]  # fmt: skip


def test_self_averaging_is_about_the_deviation_between_networks_on_one_data_set():
    def judged(**powers: float) -> bool | None:
        return findings(b_rmt, rows(of_networks(powers)))["self-averaging"]

    assert judged(isotropic=-0.5, decaying=-0.5)
    assert judged(isotropic=0.5, decaying=0.5) is False
    assert judged(isotropic=-0.5, decaying=0.5) is False  # every kind of data counts
    assert judged(isotropic=-0.5, decaying=0.0) is None
    alone = [row for row in of_networks({"isotropic": -0.5}) if row["step"] == 0]
    assert findings(b_rmt, rows(alone))["self-averaging"] is None


def test_the_deviation_between_networks_does_not_depend_on_the_prediction():
    tables = (rows(of_networks({"isotropic": -0.5}, prediction)) for prediction in (0.0, 0.3))
    first, second = (b_rmt._deviations(table) for table in tables)
    np.testing.assert_allclose(first, second, rtol=1e-9)
    values = [row["value"] for row in of_networks({"isotropic": -0.5}) if (row["seed"], row["x"]) == (3, 64.0)]
    assert first[3, 1] == pytest.approx(np.sqrt(np.mean((np.array(values) - np.mean(values)) ** 2)))


def test_the_expansions_are_identities_but_for_the_slip_of_19():
    """(19) as printed has tr[R]³ for tr[R³] and is off by exactly that difference; the others hold."""
    A, B, R = ((g := torch.from_numpy(stream("b", i).normal(size=(6, 6)))) @ g.T for i in range(3))
    sides = appendix_e.expansions(A, B, R)
    for name, right in sides.items():
        left = sides[max(expanded for expanded in ("(17)", "(21)", "(23)") if expanded <= name)]
        gap = appendix_e.tr(A) ** 2 * appendix_e.tr(B) * (appendix_e.tr(R, R, R) - appendix_e.tr(R) ** 3)
        assert left - right == pytest.approx(gap if name == "(19)" else 0, rel=1e-6, abs=1e-9 * abs(left))


def test_only_the_last_word_of_28_is_wrong_as_printed():
    """For R = 1 only the data are left of a word. All are right but that printed with the trace of the centered A."""
    A, B = ((g := torch.from_numpy(stream("words", i).normal(size=(6, 6)))) @ g.T for i in range(2))
    word_rows = list(appendix_e.word_errors(A, B, torch.eye(6, dtype=torch.float64), (1.0, 1.0, 1.0, 1.0)))
    assert len(word_rows) == 2 * (5 + 2 + 8)
    for row in word_rows:
        slip = row["arm"] == "claim" and row["layer"] == "RRARRA"
        assert row["value"] == pytest.approx(1.0 if slip else 0.0, abs=1e-9)
