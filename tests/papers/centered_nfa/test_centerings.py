"""Centerings of the NFA against the chain rule and the authors' code; Figures 2, 4, 5, 7, 8 on planted tables."""

from itertools import product

import numpy as np
import pytest
import torch
from centered_nfa_planted import refuted, supported

import gramlab
from gramlab import tables
from gramlab.data.polynomials import chain_monomial
from gramlab.nets import initialize, mlp
from gramlab.streams import stream
from tasks.judging.rows import Rows
from tasks.papers.centered_nfa.claims import b_fig2, b_fig4, b_fig5, b_fig7, b_fig8
from tasks.papers.centered_nfa.experiments import b_centerings

SEEDS, SCALES, STEPS = range(6), (0.01, 0.1, 1.0), (5, 80, 160, 400, 800)


def weights(*name):
    net = mlp(4, [6, 6], 1, "relu", bias=False)
    return initialize(net, name, "normal")


def tangents(W, x):
    """∂f/∂h of both hidden layers at every sample, (n, k) each, by the chain rule."""
    W1, W2, a = (weight.numpy() for weight in W.values())
    h1 = x @ W1.T
    h2 = np.maximum(h1, 0) @ W2.T
    g2 = a * (h2 > 0)
    return {"0": (g2 @ W2) * (h1 > 0), "2": g2}


def cosine(A, B):
    return np.sum(A * B) / np.linalg.norm(A) / np.linalg.norm(B)


KEYS = [("claim", "isotropic", seed, scale) for seed in range(3) for scale in (1.0, 0.1)]  # of the networks below


@pytest.fixture(scope="module")
def networks():
    """Samples, and the weights now and at the start, of networks that are measured together."""
    x = torch.from_numpy(stream("test_checks_b", "x").normal(size=(len(KEYS), 30, 4)))
    now, start = ([weights("test_checks_b", name, *key) for key in KEYS] for name in ("now", "start"))
    return x, *(b_centerings.stacked(each, torch.device("cpu")) for each in (now, start))


def other_of(index):
    """The network of the same scale and the next of three seeds."""
    return (index + 2) % 6


def measured_together(x, now, start):
    """Values by arm, layer and quantity of each network of the stack."""
    K, fixed = b_centerings.tangents(x, now, start), b_centerings.controls_of(KEYS, start, 3)
    columns = [*b_centerings.centerings(K, now, start), *b_centerings.controls(x, K, now, start, fixed, 5)]
    values = [{} for _ in KEYS]
    for row in b_centerings.rows(KEYS, columns, 5):
        values[KEYS.index((*KEYS[0][:2], row["seed"], row["x"]))][row["arm"], row["layer"], row["quantity"]] = row[
            "value"
        ]
    return values


def test_centerings_against_the_chain_rule(networks):
    x, now, start = networks
    for index, measured in enumerate(measured_together(x, now, start)):
        trained, initial, another = (
            b_centerings.select(stack, of) for stack, of in ((now, index), (start, index), (start, other_of(index)))
        )
        g, g0, gx = (tangents(W, x[index].numpy()) for W in (trained, initial, another))
        for layer in ("0", "2"):
            W, W0 = (network[f"{layer}.weight"].numpy() for network in (trained, initial))
            V = W - W0
            K, centered, misplaced = (G.T @ G / 30 for G in (g[layer], g[layer] - g0[layer], g[layer] - gx[layer]))
            pairs = {
                "uncentered": (W, K),
                "centered": (V, K),
                "double_centered": (V, centered),
                "ptk_centered": (W0, centered),
            }
            for name, (A, P) in pairs.items():
                assert measured["claim", layer, f"nfa/{name}"] == pytest.approx(cosine(A.T @ A, A.T @ P @ A), rel=1e-10)
            denominator = np.trace(V.T @ V @ V.T @ K @ V)
            for arm, P in (("claim", centered), ("control: another start", misplaced)):
                ratio = np.trace(V.T @ V @ V.T @ P @ V) / denominator
                assert measured[arm, layer, "double_over_centered"] == pytest.approx(ratio, rel=1e-10)


def test_networks_measured_together_against_the_library_on_each(networks):
    x, now, start = networks
    net = mlp(4, [6, 6], 1, "relu", bias=False).double()
    for index, measured in enumerate(measured_together(x, now, start)):
        trained, initial = b_centerings.select(now, index), b_centerings.select(start, index)
        net.load_state_dict(trained)
        layers = gramlab.measure(net, x[index], layers=["0", "2"], quantities=["ptk", "centered_ptk"], initial=initial)
        for name, layer in layers.items():
            W, W0 = trained[f"{name}.weight"], initial[f"{name}.weight"]
            turned, turned_centered = (
                gramlab.random_eigenvectors(K, stream("b_centerings", "isotropic", KEYS[index][2], "K", name))
                for K in (layer.ptk, layer.centered_ptk)
            )
            for arm, ansatz, V, K in (
                ("claim", "uncentered", W, layer.ptk),
                ("claim", "centered", W - W0, layer.ptk),
                ("claim", "double_centered", W - W0, layer.centered_ptk),
                ("claim", "ptk_centered", W0, layer.centered_ptk),
                ("control: random K", "uncentered", W, turned),
                ("control: random K", "centered", W - W0, turned),
                ("control: random K", "ptk_centered", W0, turned_centered),
            ):
                both = V.T @ V, V.T @ K @ V
                values = measured[arm, name, f"nfa/{ansatz}"], measured[arm, name, f"null/{ansatz}"]
                assert values == pytest.approx((gramlab.cosine(*both), gramlab.cosine_null(*both)[0]), rel=1e-10)


def test_the_table_is_the_same_for_each_network_measured_alone(monkeypatch):
    settings = b_centerings.Settings(instances=2, steps=5, every=5, width=6)
    together = list(b_centerings.measure(settings))
    monkeypatch.setattr(b_centerings, "ENTRIES", 1)
    alone = list(b_centerings.measure(settings))
    assert [{**row, "value": 0} for row in alone] == [{**row, "value": 0} for row in together]
    assert [row["value"] for row in alone] == pytest.approx([row["value"] for row in together], rel=1e-6)  # float32


def test_a_network_that_diverged_is_refused(networks):
    x, now, start = networks
    broken = {name: W.clone() for name, W in now.items()}
    broken["2.weight"][1, 0, 0] = torch.inf
    with pytest.raises(ValueError, match="not finite"):
        measured_together(x, broken, start)


# by step and layer: UC-NFA and C-NFA by the authors' code (its MLP, training step, get_Ks and mat_cov, which is
# Pearson's correlation), with full-batch SGD at 0.05 on the samples and initial weights of the test below
AUTHORS = {
    (5, "0"): (0.672068282877, 0.949748782782), (5, "2"): (0.465960688914, 0.9617862714),
    (40, "0"): (0.715970883518, 0.895033837618), (40, "2"): (0.432726703989, 0.865736260045),
}  # fmt: skip


def test_centerings_against_the_authors_code():
    data = chain_monomial(64, 8, 5, seed=0)
    net = mlp(8, [16, 16], 1, "relu", bias=False).double()
    start = initialize(net, ("authors",), "normal")
    stack = {key: value[None].clone().requires_grad_() for key, value in start.items()}
    for step in b_centerings.train(stack, data.x_train[None], data.y_train[None], 40, {5, 40}):
        net.load_state_dict(b_centerings.select(stack, 0))
        quantities = ["gram", "agop", "centered_gram", "centered_agop"]
        layers = gramlab.measure(net, data.x_train, layers=["0", "2"], quantities=quantities, initial=start)
        for name, layer in layers.items():
            ours = gramlab.pearson(layer.gram, layer.agop), gramlab.pearson(layer.centered_gram, layer.centered_agop)
            assert ours == pytest.approx(AUTHORS[step, name], abs=1e-10)


def test_only_the_uncentered_nfa_is_defined_before_the_first_step(networks):
    x, _, start = networks
    columns = b_centerings.centerings(b_centerings.tangents(x, start, start), start, start)
    rows = list(b_centerings.rows(KEYS, list(columns), 0))
    assert {row["quantity"] for row in rows} == {"nfa/uncentered", "null/uncentered"}
    assert len(rows) == 2 * 2 * len(KEYS)  # in both layers


def test_the_stack_trains_as_each_network_alone():
    networks = [weights("test_checks_b", seed) for seed in range(3)]
    x, y = torch.randn(3, 20, 4, dtype=torch.float64), torch.randn(3, 20, 1, dtype=torch.float64)
    stack = {key: torch.stack([network[key] for network in networks]).requires_grad_() for key in networks[0]}
    assert list(b_centerings.train(stack, x, y, 10, {0, 5, 10})) == [0, 5, 10]
    for index, network in enumerate(networks):
        net = mlp(4, [6, 6], 1, "relu", bias=False).double()
        net.load_state_dict(network)
        optimizer = torch.optim.SGD(net.parameters(), b_centerings.LR)
        for _ in range(10):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(net(x[index]), y[index]).backward()
            optimizer.step()
        for key, value in net.state_dict().items():
            torch.testing.assert_close(stack[key][index].detach(), value)


def planted(exceptions=None, **laws) -> Rows:
    """Rows of each quantity by its law of (layer, scale, step), with a little noise, the same on every spectrum.

    ``exceptions`` are laws by (quantity, spectrum), which replace the others there.
    """
    return Rows(
        tables.table(
            [
                {"seed": seed, "case": case, "layer": layer, "x": scale, "step": step, "quantity": quantity,
                 "value": float((exceptions or {}).get((quantity, case), law)(layer, scale, step)
                                + 0.003 * stream("test_checks_b", seed, step, layer, str(scale)).normal())}
                for seed in SEEDS for case in b_centerings.SPECTRA for scale in SCALES for step in STEPS
                for quantity, law in laws.items() for layer in ([""] if quantity == "test_loss" else ["0", "2"])
            ]
        )
    )  # fmt: skip


def in_one_place(good, bad, scales=SCALES):
    """The good law, replaced by the bad one in one layer at one scale: a law for each layer and scale."""
    for place in product(("0", "2"), scales):
        yield lambda layer, scale, step, place=place: (bad if (layer, scale) == place else good)(layer, scale, step)


def in_one_layer(good, bad):
    """The good law, replaced by the bad one in one layer: a law for each layer."""
    for only in ("0", "2"):
        yield lambda layer, scale, step, only=only: (bad if layer == only else good)(layer, scale, step)


def in_the_mean(good, bad):
    """A law by which both layers are bad in the mean, while one of them is good: one for each layer."""
    for only in ("0", "2"):
        yield (
            lambda layer, scale, step, only=only: (
                2 * bad(layer, scale, step) - good(layer, scale, step) if layer == only else good(layer, scale, step)
            )
        )


def wide(layer, scale, step):  # a UC-NFA that ends higher for smaller scales
    return 0.3 + 0.1 * (step / 800) * (2 - np.log10(scale))


def falling(layer, scale, step):
    return 0.95 - 0.1 * step / 800 - 0.01 * np.log10(scale) * step / 800


def low(layer, scale, step):
    return 0.3


def rising(layer, scale, step):
    return 0.8 + 0.1 * step / 800


def names(claim, kind="asserted"):
    return {statement.name for statement in claim.STATEMENTS if statement.kind == kind}


def spreading(layer, scale, step):  # a C-NFA that falls, less at smaller scales
    return 0.95 - (0.1 + 0.03 * np.log10(scale)) * step / 800


@pytest.mark.parametrize("claim", [b_fig2, b_fig7, b_fig8])
def test_what_section_2_3_cites_appendix_g_for(claim):
    early = {"highest early", "invariant to scale early"}
    assert "high throughout" in names(claim)
    assert names(claim) & early == (early if claim is b_fig2 else set())


@pytest.mark.parametrize("claim", [b_fig2, b_fig7, b_fig8])
def test_each_statement_of_section_2_3_can_fail(claim):
    def least_early(layer, scale, step):  # alike over the scales after the first measurement
        return 0.8 if step > 5 else 0.9 + 0.04 * np.log10(scale)

    good = {"nfa/uncentered": wide, "nfa/centered": spreading, "null/centered": low}
    assert supported(claim, planted(**good)) >= {"high throughout", "highest early", "invariant to scale early"}
    for statement, bad in (
        ("high throughout", lambda *_: 0.6),
        ("highest early", rising),
        ("invariant to scale early", least_early),
    ):
        for law in (bad, *in_the_mean(spreading, bad)):
            assert statement not in supported(claim, planted(**{**good, "nfa/centered": law}))
        elsewhere = {("nfa/centered", spectrum): bad for spectrum in b_centerings.SPECTRA if spectrum != claim.SPECTRUM}
        assert statement in supported(claim, planted(exceptions=elsewhere, **good))
    for place in SCALES:  # once is enough, at one scale

        def low_once(layer, scale, step, place=place):
            return 0.5 if (scale, step) == (place, 400) else falling(layer, scale, step)

        assert "high throughout" in refuted(claim, planted(**{**good, "nfa/centered": low_once}))
    each_layer = "high throughout, in each layer"
    assert each_layer in supported(claim, planted(**good))
    for law in in_one_place(falling, lambda *_: 0.5):
        rows = planted(**{**good, "nfa/centered": law})
        assert each_layer in refuted(claim, rows)
        assert "high throughout" in supported(claim, rows)  # in the mean over both layers


def test_each_other_statement_on_figure_2_can_fail():
    good = {"nfa/uncentered": wide, "nfa/centered": spreading, "null/centered": low}
    assert supported(b_fig2, planted(**good)) >= names(b_fig2)
    for law in (low, *in_one_layer(wide, low)):
        unspread = planted(**{**good, "nfa/uncentered": law})
        in_layer_2 = law("2", 0.01, 800) > 0.5
        assert ("UC-NFA sensitive to scale" in supported(b_fig2, unspread)) == in_layer_2
        assert ("UC-NFA sensitive to scale" in refuted(b_fig2, unspread)) != in_layer_2
        assert "UC-NFA sensitive to scale, in each layer" in refuted(b_fig2, unspread)

    def late(layer, scale, step):  # a C-NFA that is alike over the scales at first, and at last less so than the UC-NFA
        return 0.9 + 0.2 * np.log10(scale) * step / 800

    assert "UC-NFA sensitive to scale" in refuted(b_fig2, planted(**{**good, "nfa/centered": late}))
    assert "C-NFA more robust" in refuted(b_fig2, planted(**{**good, "nfa/centered": late}))
    elsewhere = {("nfa/centered", spectrum): late for spectrum in ("1/(1+k)", "1/(1+k^2)")}
    assert "C-NFA more robust" in supported(b_fig2, planted(exceptions=elsewhere, **good))
    for law in in_one_place(falling, rising):
        assert "highest early at each scale" in refuted(b_fig2, planted(**{**good, "nfa/centered": law}))


@pytest.mark.parametrize("claim", [b_fig7, b_fig8])
def test_each_statement_on_figures_7_and_8_can_fail(claim):
    good = {"nfa/uncentered": wide, "nfa/centered": falling, "null/uncentered": lambda *_: 0.1, "null/centered": low,
            "test_loss": lambda layer, scale, step: 1 + 0.1 * scale}  # fmt: skip

    def sinking(layer, scale, step):
        return wide(layer, scale, step) - 0.6 * (step / 800)

    def rising_too_little(layer, scale, step):
        return 0.2 + 0.2 * (step / 800)

    def high_at_first(layer, scale, step):
        return 0.65 + 0.1 * (step / 800)

    def rising_in_scale(layer, scale, step):
        return 0.9 + 0.1 * np.log10(scale)

    assert supported(claim, planted(**good)) >= names(claim)
    losses = planted(**{**good, "test_loss": lambda layer, scale, step: 1 - 0.1 * scale})
    assert refuted(claim, losses) == {"smaller test loss for smaller scales"}
    for statement, quantity, bad in (
        ("UC-NFA becomes high", "nfa/uncentered", sinking),
        ("UC-NFA becomes high", "nfa/uncentered", rising_too_little),
        ("UC-NFA becomes high", "nfa/uncentered", high_at_first),
        ("higher UC-NFA for smaller scales", "nfa/uncentered", rising_in_scale),
        ("higher C-NFA for smaller scales", "nfa/centered", rising_in_scale),
        ("C-NFA more robust", "nfa/centered", rising_in_scale),
    ):
        for law in (bad, *in_the_mean(good[quantity], bad)):
            assert statement in refuted(claim, planted(**{**good, quantity: law}))
    for name, quantity in (("C-NFA", "nfa/centered"), ("UC-NFA", "nfa/uncentered")):
        for law in in_one_layer(good[quantity], rising_in_scale):
            assert f"higher {name} for smaller scales, in each layer" in refuted(
                claim, planted(**{**good, quantity: law})
            )
    sharper = "small at initialization, high after training"
    for law in in_one_place(wide, lambda *_: 0.9):
        assert sharper in refuted(claim, planted(**{**good, "nfa/uncentered": law}))
    for law in in_one_place(wide, low, scales=(0.01,)):
        assert sharper in refuted(claim, planted(**{**good, "nfa/uncentered": law}))


def test_each_statement_on_figure_4_can_fail():
    def grows(layer, scale, step):
        return 0.02 + {0.01: 0.5, 0.1: 0.3, 1.0: 0.1}[scale] * step / 800

    def judged(law):
        return refuted(b_fig4, planted(double_over_centered=law))

    assert supported(b_fig4, planted(double_over_centered=grows)) >= names(b_fig4)
    assert "minor early" in judged(lambda *_: 0.7)
    late = planted(double_over_centered=lambda layer, scale, step: 0.02 + 0.9 * step / 800)
    assert "minor early" in supported(b_fig4, late)
    for law in in_one_place(grows, lambda *_: 0.3):
        assert "minor early" not in judged(law)
        assert "below a tenth early" in judged(law)
    assert "less for large initialization" in judged(lambda layer, scale, step: 0.02 + scale * step / 800)
    for law in in_the_mean(grows, lambda layer, scale, step: 0.02 + (0.6 + scale) * step / 800):
        assert "less for large initialization" in judged(law)
    for law in in_one_place(grows, lambda layer, scale, step: 0.02 + 3 * step / 800, scales=(1.0,)):
        assert "below half for our largest scale" in judged(law)
    for law in in_the_mean(grows, lambda layer, scale, step: 0.4 - 0.3 * step / 800):
        assert "grows" in judged(law)


def test_one_seed_with_a_small_denominator_does_not_decide_figure_4():
    rows = planted(double_over_centered=lambda layer, scale, step: 0.02 + 0.5 * step / 800).frame.copy()
    rows.loc[(rows["seed"] == 0) & (rows["x"] == 1) & (rows["step"] == 5), "value"] = 237
    assert "grows" in supported(b_fig4, Rows(rows))
    assert "minor early" not in refuted(b_fig4, Rows(rows))


def test_the_share_of_figure_4_is_small_at_each_scale_and_least_at_the_largest():
    """Two tiny shares do not make up for a large one; the order of the smaller scales decides a statement of ours."""

    def early(*shares: float) -> Rows:
        of_scale = dict(zip(SCALES, shares, strict=True))
        return planted(double_over_centered=lambda layer, scale, step: of_scale[scale] / (1 - of_scale[scale]))

    assert "minor early" in supported(b_fig4, early(0.3, 0.2, 0.3))
    for shares in ((0.01, 0.01, 0.9), (0.9, 0.01, 0.01), (0.01, 0.4, 0.01)):
        assert "minor early" in refuted(b_fig4, early(*shares))
    less, at_each_step = "less for large initialization", "falls at each step of the scale"
    assert {less, at_each_step} <= supported(b_fig4, early(0.42, 0.41, 0.40))
    assert less in supported(b_fig4, early(0.40, 0.41, 0.30))
    assert at_each_step in refuted(b_fig4, early(0.40, 0.41, 0.30))
    for shares in ((0.42, 0.30, 0.31), (0.30, 0.42, 0.31), (0.40, 0.41, 0.42)):
        assert {less, at_each_step} <= refuted(b_fig4, early(*shares))


def test_half_of_the_centered_part_is_a_third_of_the_sum():
    for ratio, holds in ((0.45, True), (0.55, False)):
        rows = planted(double_over_centered=lambda *_, ratio=ratio: ratio)
        assert ("minor early" in supported(b_fig4, rows)) == holds
        assert ("minor early" in refuted(b_fig4, rows)) != holds


def test_each_statement_on_figure_5_can_fail():
    laws = {"nfa/ptk_centered": falling, "nfa/uncentered": rising}
    good = planted(**laws)
    assert supported(b_fig5, good) >= names(b_fig5)
    for case in b_fig5.SPECTRA:
        for law in (rising, *in_the_mean(falling, rising)):
            broken = planted(exceptions={("nfa/ptk_centered", case): law}, **laws)
            assert refuted(b_fig5, broken) == {f"falls while aligning, {case}", f"falls at each scale, {case}"}
        for law in in_one_place(falling, rising):
            broken = planted(exceptions={("nfa/ptk_centered", case): law}, **laws)
            assert refuted(b_fig5, broken) == {f"falls at each scale, {case}"}
        for law in (falling, *in_the_mean(rising, falling)):
            broken = planted(exceptions={("nfa/uncentered", case): law}, **laws)
            assert refuted(b_fig5, broken) == {f"falls while aligning, {case}"}
