"""Networks at initialization: B.prop3, B.prop4, B.prop10, B.fig3 and B.fig6 on planted tables and against autograd."""

import numpy as np
import pytest
import torch
from centered_nfa_planted import findings, refuted, supported
from helpers import rows

from gramlab.data.alignment import alignment_reversing
from gramlab.streams import stream
from tasks.judging.finding import find
from tasks.judging.rows import Rows
from tasks.judging.verdict import judge
from tasks.papers.centered_nfa.claims import b_fig3, b_fig6, b_prop3, b_prop4, b_prop10
from tasks.papers.centered_nfa.experiments import b_dynamics, b_rmt
from tasks.papers.centered_nfa.experiments import b_fig3 as figure_3
from tasks.papers.centered_nfa.experiments import b_prop10 as proposition_10


def noise(*name) -> float:
    return float(stream("test_checks_b_theory", *map(str, name)).normal())


def planted_figure_3(offset: float = 0.0, low: float = 0.5, slope: float = 1.0, spread: float = 0.01) -> Rows:
    """Observed correlations that rise from ``low`` to 1, and predictions that differ by the offset.

    The predictions rise by ``slope`` times as much. The correlation of the inputs rises as the observed one does.
    """
    return rows(
        [
            {"seed": seed, "x": x, "quantity": f"fig3/{name}",
             "value": low + (1 - low) * (factor * (x - 0.5) + 0.5) + shift + spread * noise(name, seed, x)}
            for seed in range(10)
            for x in np.linspace(0, 1, 9)
            for name, factor, shift in (("observed", 1, 0.0), ("predicted", slope, offset), ("alignment", 1, 0.0))
        ]
        + [
            {"seed": seed, "x": x, "quantity": "null/fig3/observed", "value": 0.1 + 0.001 * noise("null", seed, x)}
            for seed in range(10)
            for x in np.linspace(0, 1, 9)
        ]
    )  # fmt: skip


def test_each_statement_on_figure_3_can_fail():
    close, sharper, low = "close prediction", "R² above 0.8", "low for our smallest balance"
    inputs, more = "the inputs lose their alignment", "the inputs lose more than a tenth"
    falls = {"reversal", inputs, more, low}
    assert supported(b_fig3, planted_figure_3()) == {close, sharper, *falls}
    assert refuted(b_fig3, planted_figure_3(offset=0.3)) == {close, sharper}
    assert refuted(b_fig3, planted_figure_3(offset=0.09)) == {sharper}
    assert refuted(b_fig3, planted_figure_3(low=1.4)) == falls
    assert not supported(b_fig3, planted_figure_3(low=1.0)) & falls
    assert refuted(b_fig3, planted_figure_3(low=0.6)) == {low}  # 0.6 lies nearer to 1 than to 0.1
    trend_of_a_ten_thousandth = planted_figure_3(low=0.9999, spread=1e-7)
    assert refuted(b_fig3, trend_of_a_ten_thousandth) == {"reversal", more, low}
    assert inputs in supported(b_fig3, trend_of_a_ten_thousandth)


def planted_expectations(quantity: str, best: float, others: float) -> Rows:
    """A number that has one value at the middle balance, and another at the other balances."""
    return rows(
        [
            {"seed": seed, "x": x, "quantity": quantity,
             "value": (best if x == 0.5 else others) + 0.001 * noise(quantity, seed, x)}
            for seed in range(10)
            for x in np.linspace(0, 1, 9)
        ]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("best", "others", "holds"), [(0.75, 0.1, True), (0.9, 0.9, True), (0.65, 0.65, False), (0.14, 0.03, False)]
)
def test_the_term_is_close_to_identity_if_half_of_its_squared_norm_is_along_it_at_some_balance(best, others, holds):
    planted = planted_expectations("cosine/unique term", best, others)
    assert findings(b_fig3, planted) == {"the term is close to identity": holds}


@pytest.mark.parametrize(
    ("one", "others", "holds"), [(0.55, 0.9, True), (0.6, 0.6, True), (0.45, 0.9, False), (0.1, 0.1, False)]
)
def test_the_entries_off_the_diagonal_have_most_of_the_squared_norm_at_every_balance(one, others, holds):
    planted = planted_expectations("off-diagonal/mass", one, others)
    assert findings(b_fig3, planted) == {"many large off-diagonal entries": holds}


@pytest.mark.parametrize("balance", [0.1, 0.25, 0.5, 0.75, 0.9])
@pytest.mark.parametrize("scale", [1.0, 64**-0.8])
def test_without_noise_and_offset_the_term_s_cosine_with_the_identity_is_bounded_by_the_balance(balance, scale):
    """The bound of docs/derivations.md: √γ of the whole term, √min(γ, 1 − γ) of the part with X₂."""
    data = alignment_reversing(64, 64, balance, scale=scale, noise=0.0, offset=0.0)
    X, y = data.x_train, data.y_train
    first, second = X[y[:, 0] == 1], X[y[:, 0] == 0]
    M, share = first.T @ first, len(first) / 64
    for term, limit in ((M @ X.T @ X @ M, share), (M @ second.T @ second @ M, min(share, 1 - share))):
        assert float(term.trace() / (term.norm() * 8)) <= limit**0.5 + 1e-9


def test_our_factor_does_not_decide_whether_the_inputs_lose_their_alignment():
    by_name = {statement.name: statement for statement in b_fig3.STATEMENTS}
    assert by_name["the inputs lose their alignment"].forms == ("claim",)
    sharper = by_name["the inputs lose more than a tenth"]  # has the trend with our factor
    assert (sharper.kind, sharper.forms) == ("ours", ("claim", "corrected"))


def test_a_close_prediction_needs_a_small_error_and_where_the_observed_varies_r_squared():
    def judged(**planted) -> bool | None:
        return findings(b_fig3, planted_figure_3(**planted))["close prediction"]

    assert judged(low=1.0, spread=1e-6)  # nothing varies, and R² would be far below 0
    assert findings(b_fig3, planted_figure_3(low=1.0, spread=1e-6))["R² above 0.8"] is None
    assert judged(low=1.0, spread=1e-6, offset=0.09)
    assert judged(low=1.0, spread=1e-6, offset=0.11) is False
    assert judged(low=0.8, slope=-0.4) is False  # an error of 0.09; the observed varies by 0.2
    assert judged(low=0.94, slope=-1.0, spread=1e-6)  # an error of 0.04; the observed varies by 0.06


def planted_figure_6(
    relu: float = 0.05, quadratic: float = 0.01, narrow: float = 0.03, dip: float = 0.3, flat: str = "",
    against: str = "", all_terms: float = 0.03,
) -> Rows:  # fmt: skip
    """Predicted curves with a dip, and observed ones with offsets by activation and for the narrow network.

    The prediction with all terms of φ' is as far off for the quadratic, and off by ``whole`` for ReLU.

    ``flat`` is the width whose curves have no dip (0: the prediction), ``against`` the activation whose observed curves
    have a bump instead.
    """
    alpha = np.linspace(0, 8, 9)
    shape = dip * np.exp(-((alpha - 2) ** 2))
    table = []
    for seed in range(10):
        for case, offset in (("quadratic, low rank", quadratic), ("relu, low rank", relu)):
            for quantity, width, shift in (
                ("predicted, linear", "0", 0.0),
                ("predicted", "0", offset - all_terms if case.startswith("relu") else 0.0),
                ("observed", "1024", offset),
                ("observed", "128", offset + narrow),
            ):
                sign = -1.0 if quantity == "observed" and case.partition(",")[0] == against else 1.0
                curve = 0.9 - (0.0 if width == flat else sign) * shape
                table += [
                    {"seed": seed, "case": case, "layer": width, "x": x, "quantity": f"fig6/{quantity}",
                     "value": value + shift + 0.002 * noise(case, seed, width, x)}
                    for x, value in zip(alpha, curve, strict=True)
                ]  # fmt: skip
    return rows(table)


def test_each_statement_on_figure_6_can_fail():
    asserted = {statement.name for statement in b_fig6.STATEMENTS if statement.kind == "asserted"}
    assert supported(b_fig6, planted_figure_6()) == {statement.name for statement in b_fig6.STATEMENTS}
    for statement, wrong in (
        ("quadratic", planted_figure_6(against="quadratic")),
        ("ReLU", planted_figure_6(against="relu")),
        ("closer when wider", planted_figure_6(narrow=-0.03, quadratic=0.04)),
        ("dip", planted_figure_6(dip=-0.3)),
        ("dip in every panel", planted_figure_6(dip=-0.3)),
        ("small error", planted_figure_6(quadratic=0.3, relu=0.5)),
        ("small error", planted_figure_6(quadratic=0.025, dip=0.1)),  # a small error, but most of the variation
        ("less closely for ReLU", planted_figure_6(relu=0.0)),
        ("more terms are closer", planted_figure_6(all_terms=0.08)),
        ("ReLU, all terms", planted_figure_6(against="relu")),
        ("less closely for ReLU, all terms", planted_figure_6(all_terms=0.0)),
    ):
        assert statement not in supported(b_fig6, wrong)
    assert "dip" not in supported(b_fig6, planted_figure_6(flat="0"))
    assert "dip" not in supported(b_fig6, planted_figure_6(flat="1024"))
    assert supported(b_fig6, planted_figure_6(flat="128")) >= asserted - {"closer when wider"}  # the wide one's dip


def test_figure_6_names_the_correlation_on_which_it_is_judged():
    """A bump in place of a dip turns its sign."""
    for against, correlation in (("", "1.00"), ("quadratic", "-1.00")):
        measured = b_fig6.follows(planted_figure_6(against=against), "quadratic", b_fig6.OWN).measured
        words = "for the quadratic activation prediction and observation have Pearson's correlation"
        assert measured.startswith(f"{words} {correlation} at")


def test_a_curve_of_noise_does_not_dip():
    """Its lowest value would be below its ends; at the place where the other seeds are lowest it is not."""
    curves = np.array([[noise("flat", seed, x) for x in range(9)] for seed in range(400)])
    assert (np.minimum(curves[:, 0], curves[:, -1]) - curves[:, 1:-1].min(1)).mean() > 0.5
    assert b_fig6._depths(curves).mean() < 0


COEFFICIENTS = ("nfm", "nfm, rest", "agop, trace", "agop, product", "agop, rest")


def test_proposition_10_needs_every_coefficient():
    def planted(wrong: str, offset: float = 0.2) -> Rows:
        return rows(
            [
                {"case": "a", "seed": seed, "x": k, "quantity": f"prop10/{name}",
                 "value": 0.01 * noise(name, seed, k) + offset * (name == wrong and k == 4)}
                for name in COEFFICIENTS for k in (1.0, 4.0) for seed in range(20)
            ]
        )  # fmt: skip

    nfm, agop = "mean of the NFM's derivative", "mean of the AGOP's derivative"
    assert supported(b_prop10, planted("")) == {nfm, agop}
    for name in COEFFICIENTS:
        for offset in (0.2, -0.2):
            assert refuted(b_prop10, planted(name, offset)) == {nfm if name.startswith("nfm") else agop}


def test_proposition_10_is_judged_at_each_width():
    """Large errors of both signs at one width are not hidden by small ones at another."""
    large = [{"seed": seed, "x": 4.0, "quantity": "prop10/nfm", "value": 3 * noise("wide", seed)} for seed in range(20)]
    small = [{"seed": seed, "x": 1.0, "quantity": "prop10/nfm", "value": 0.01} for seed in range(20)]
    others = [
        {"seed": seed, "x": 1.0, "quantity": f"prop10/{name}", "value": 0.001 * seed}
        for seed in range(20) for name in COEFFICIENTS if name != "nfm"
    ]  # fmt: skip
    assert findings(b_prop10, rows([*large, *small, *others]))["mean of the NFM's derivative"] is None


def test_least_squares_recovers_planted_coefficients_of_proposition_10():
    X, y = proposition_10.data(1)
    B, M = X.T @ X, X.T @ (y * X)
    coefficients = proposition_10.coefficients(B, M, 2 * M @ M, 0.7 * B.trace() * M @ M + 1.9 * M @ B @ M)
    assert coefficients == pytest.approx(
        {"nfm": 2, "nfm, rest": 0, "agop, trace": 0.7, "agop, product": 1.9, "agop, rest": 0}, abs=1e-10
    )


def test_derivatives_are_perfectly_correlated_up_to_round_off():
    """In both precisions, on enough networks, and on each of them."""

    def planted(double: float = 2.0**-54, single: float = 2.0**-25, networks: int = 8, worst: float = 1.0) -> Rows:
        return rows(
            [{"case": f"{number}: relu, squares", "dtype": dtype, "quantity": "prop4/perfect",
              "value": value * (worst if number == 3 else 1)}
             for number in range(networks) for dtype, value in (("float64", double), ("float32", single))]
        )  # fmt: skip

    assert supported(b_prop4, planted()) == {"perfectly correlated"}
    for wrong in (
        planted(double=1e-3, single=1e-3),  # derivatives that are not proportional
        planted(double=0.0, single=0.0),  # both sides are one computation
        planted(single=2.0**-54),  # does not shrink
        planted(networks=4),
        planted(worst=1e9),  # one network
    ):
        assert refuted(b_prop4, wrong) == {"perfectly correlated"}


def test_propositions_3_and_4_hold_on_a_few_networks():
    settings = b_dynamics.Settings(instances=14)
    measured = rows([{**row, "experiment": "b_dynamics", "scale": "quick"} for row in b_dynamics.measure(settings)])
    for claim in (b_prop3, b_prop4):
        finding = find(claim, "B", measured, "b_dynamics", "quick", set())
        assert judge({"claim": finding})["claim"]["verdict"] == "holds"


def test_the_observed_correlation_equals_that_by_automatic_differentiation():
    """ρ(ẆᵀẆ, ẆᵀKẆ) with Ẇ from the gradient of the loss whose residuals are the labels."""
    n, d, k = 7, 5, 6
    X, y, a, W = (
        torch.from_numpy(stream("observed", i).normal(size=shape))
        for i, shape in enumerate([(n, d), (n, 1), k, (k, d)])
    )
    weights, h = W.clone().requires_grad_(), (X @ W.T).requires_grad_()
    f = 0.5 * (X @ weights.T).square() @ a
    (W_dot,) = torch.autograd.grad(0.5 * (f - f.detach() + y[:, 0]).square().sum(), weights)
    (J,) = torch.autograd.grad((0.5 * h.square() @ a).sum(), h)
    nfm, agop = W_dot.T @ W_dot, W_dot.T @ (J.T @ J) @ W_dot
    rho = float((nfm * agop).sum() / nfm.norm() / agop.norm())
    assert figure_3.observed(X, y, a, W) == pytest.approx(rho, rel=1e-12)
    traces = [float((P * Q).sum()) / d for P, Q in ((nfm, agop), (nfm, nfm), (agop, agop))]
    assert b_rmt.observed(X, y, a, W) == pytest.approx(traces)
