"""Networks at initialization: B.prop3, B.prop4, B.prop10, B.fig3 and B.fig6 on planted tables and against autograd."""

import numpy as np
import pytest
import torch

from gramlab import tables
from gramlab.streams import stream
from tasks.judging.finding import find
from tasks.judging.rows import Rows
from tasks.judging.verdict import judge
from tasks.papers.centered_nfa.claims import b_fig3, b_fig6, b_prop3, b_prop4, b_prop10
from tasks.papers.centered_nfa.experiments import b_dynamics, b_rmt
from tasks.papers.centered_nfa.experiments import b_fig3 as figure_3
from tasks.papers.centered_nfa.experiments import b_prop10 as proposition_10


def rows(table: list[dict]) -> Rows:
    return Rows(tables.table([{"arm": "claim", **row} for row in table]))


def noise(*name) -> float:
    return float(stream("test_checks_b_theory", *map(str, name)).normal())


def planted_figure_3(offset: float = 0.0, low: float = 0.5) -> Rows:
    """Observed correlations that rise from ``low`` to 1, and predictions that differ by the offset."""
    return rows(
        [
            {"seed": seed, "x": x, "quantity": f"fig3/{name}",
             "value": low + (1 - low) * x + shift + 0.01 * noise(name, seed, x)}
            for seed in range(10)
            for x in np.linspace(0, 1, 9)
            for name, shift in (("observed", 0.0), ("predicted", offset))
        ]
    )  # fmt: skip


def test_figure_3_needs_a_close_prediction_and_a_fall():
    assert b_fig3.rule(planted_figure_3()).holds
    assert b_fig3.rule(planted_figure_3(offset=0.2)).holds is False
    assert b_fig3.rule(planted_figure_3(low=1.0)).holds is False


def planted_figure_6(
    relu: float = 0.05, quadratic: float = 0.01, narrow: float = 0.03, dip: float = 0.3, flat: str = "",
    against: str = "",
) -> Rows:  # fmt: skip
    """Predicted curves with a dip, and observed ones with offsets by activation and for the narrow network.

    ``flat`` is the width whose curves have no dip (0: the prediction), ``against`` the activation whose observed curves
    have a bump instead.
    """
    alpha = np.linspace(0, 8, 9)
    shape = dip * np.exp(-((alpha - 2) ** 2))
    table = []
    for seed in range(10):
        for case, offset in (("quadratic, low rank", quadratic), ("relu, low rank", relu)):
            for quantity, width, shift in (
                ("predicted", "0", 0.0),
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


def test_figure_6_needs_every_part():
    assert b_fig6.rule(planted_figure_6()).holds
    assert not b_fig6.rule(planted_figure_6(quadratic=0.3, relu=0.5)).holds
    # a small error, but as large as the curve's variation
    assert not b_fig6.rule(planted_figure_6(quadratic=0.08, relu=0.09, dip=0.1)).holds
    assert not b_fig6.rule(planted_figure_6(relu=0.0)).holds
    assert not b_fig6.rule(planted_figure_6(narrow=0.0, quadratic=0.03)).holds
    assert not b_fig6.rule(planted_figure_6(dip=-0.3)).holds
    broken_parts = {
        "quadratic_explained": planted_figure_6(quadratic=0.025, dip=0.1),  # R² about 1/3
        "relu_rough": planted_figure_6(against="relu"),
        "dip_predicted": planted_figure_6(flat="0"),
        "dip_observed": planted_figure_6(flat="1024"),
    }
    for part, planted in broken_parts.items():
        assert b_fig6.rule(planted).parts[part].holds is False
    assert b_fig6.rule(planted_figure_6(flat="128")).parts["dip_observed"].holds  # the dip is the wide network's


def test_proposition_10_needs_every_coefficient():
    def planted(wrong: str, offset: float = 0.2) -> Rows:
        return rows(
            [
                {"case": "a", "seed": seed, "x": k, "quantity": f"prop10/{name}",
                 "value": 0.01 * noise(name, seed, k) + offset * (name == wrong and k == 4)}
                for name in b_prop10.FORMS for k in (1.0, 4.0) for seed in range(20)
            ]
        )  # fmt: skip

    assert b_prop10.rule(planted("")).holds
    for name in b_prop10.FORMS:
        assert b_prop10.rule(planted(name)).holds is False
        assert b_prop10.rule(planted(name, -0.2)).holds is False


def test_proposition_10_is_judged_at_each_width():
    """Large errors of both signs at one width are not hidden by small ones at another."""
    large = [{"seed": seed, "x": 4.0, "quantity": "prop10/nfm", "value": 3 * noise("wide", seed)} for seed in range(20)]
    small = [{"seed": seed, "x": 1.0, "quantity": "prop10/nfm", "value": 0.01} for seed in range(20)]
    others = [
        {"seed": seed, "x": 1.0, "quantity": f"prop10/{name}", "value": 0.001 * seed}
        for seed in range(20) for name in b_prop10.FORMS if name != "nfm"
    ]  # fmt: skip
    assert b_prop10.rule(rows([*large, *small, *others])).parts["nfm"].holds is None


def test_least_squares_recovers_planted_coefficients_of_proposition_10():
    X, y = proposition_10.data(1)
    B, M = X.T @ X, X.T @ (y * X)
    coefficients = proposition_10.coefficients(B, M, 2 * M @ M, 0.7 * B.trace() * M @ M + 1.9 * M @ B @ M)
    assert coefficients == pytest.approx(
        {"nfm": 2, "nfm, rest": 0, "agop, trace": 0.7, "agop, product": 1.9, "agop, rest": 0}, abs=1e-10
    )


def test_propositions_3_and_4_hold_on_a_few_networks():
    measured = rows(list(b_dynamics.measure(b_dynamics.Settings(instances=6))))
    for claim in (b_prop3, b_prop4):
        assert judge({"claim": find(claim, "B", measured)})["claim"]["verdict"] == "holds"


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
