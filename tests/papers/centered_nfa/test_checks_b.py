"""Paper B's training claims: the measurements against closed forms, and checks against planted tables."""

from itertools import product

import numpy as np
import pytest
import torch

import gramlab
from gramlab import tables
from gramlab.data.polynomials import chain_monomial
from gramlab.nets import initialize, mlp
from gramlab.streams import stream
from tasks.judging.rules import Rows
from tasks.papers.centered_nfa.claims import b_egop, b_fig1, b_fig2, b_fig4, b_fig5, b_fig7, b_fig8, b_fig9
from tasks.papers.centered_nfa.experiments import b_centerings

SEEDS, SCALES, STEPS = range(5), (0.01, 0.1, 1.0), (5, 80, 160, 400, 800)


def weights(*name):
    net = mlp(4, [6, 6], 1, "relu", bias=False)
    return initialize(net, name, "normal")


def tangents(W, x):
    """∂f/∂h of both hidden layers at every sample, (n, k) each, by the chain rule."""
    W1, W2, a = (value.numpy() for value in W.values())
    h1 = x @ W1.T
    h2 = np.maximum(h1, 0) @ W2.T
    g2 = a * (h2 > 0)
    return {"0": (g2 @ W2) * (h1 > 0), "2": g2}


def cosine(A, B):
    return np.sum(A * B) / np.linalg.norm(A) / np.linalg.norm(B)


def test_centerings_against_the_chain_rule():
    x = stream("test_checks_b", "x").normal(size=(30, 4))
    now, start, other = (weights("test_checks_b", which) for which in ("now", "start", "other"))
    net, samples = mlp(4, [6, 6], 1, "relu", bias=False).double(), torch.from_numpy(x)
    K = b_centerings.tangents(net, samples, now, start)
    rows = [{"arm": "claim", **row} for row in b_centerings.centerings(K, now, start)]
    rows += b_centerings.controls(net, samples, K, now, start, other, 5, ("test_checks_b",))
    found = {(row["arm"], row["layer"], row["quantity"]): row["value"] for row in rows}
    g, g0, gx = (tangents(W, x) for W in (now, start, other))
    for layer in ("0", "2"):
        W, W0 = (part[f"{layer}.weight"].numpy() for part in (now, start))
        V = W - W0
        K, centered, misplaced = (G.T @ G / len(x) for G in (g[layer], g[layer] - g0[layer], g[layer] - gx[layer]))
        pairs = {
            "uncentered": (W, K),
            "centered": (V, K),
            "double_centered": (V, centered),
            "ptk_centered": (W0, centered),
        }
        for name, (A, P) in pairs.items():
            assert found["claim", layer, f"nfa/{name}"] == pytest.approx(cosine(A.T @ A, A.T @ P @ A), rel=1e-10)
        below = np.trace(V.T @ V @ V.T @ K @ V)
        for arm, P in (("claim", centered), ("control: another start", misplaced)):
            ratio = np.trace(V.T @ V @ V.T @ P @ V) / below
            assert found[arm, layer, "double_over_centered"] == pytest.approx(ratio, rel=1e-10)


# UC-NFA and C-NFA after so many steps of full-batch SGD at 0.05, by the authors' code (its MLP, training step, get_Ks
# and mat_cov, which is Pearson's correlation) on the samples and initial weights below
AUTHORS = {
    (5, "0"): (0.672068282877, 0.949748782782), (5, "2"): (0.465960688914, 0.9617862714),
    (40, "0"): (0.715970883518, 0.895033837618), (40, "2"): (0.432726703989, 0.865736260045),
}  # fmt: skip


def test_against_the_authors_code():
    data = chain_monomial(64, 8, 5, seed=0)
    net = mlp(8, [16, 16], 1, "relu", bias=False).double()
    start = initialize(net, ("authors",), "normal")
    stack = {key: value[None].clone().requires_grad_() for key, value in start.items()}
    for step in b_centerings.train(stack, data.x_train[None], data.y_train[None], 40, {5, 40}):
        net.load_state_dict(b_centerings.one(stack, 0))
        wanted = ["gram", "agop", "centered_gram", "centered_agop"]
        for key, layer in gramlab.measure(
            net, data.x_train, layers=["0", "2"], quantities=wanted, initial=start
        ).items():
            ours = gramlab.pearson(layer.gram, layer.agop), gramlab.pearson(layer.centered_gram, layer.centered_agop)
            assert ours == pytest.approx(AUTHORS[step, key], abs=1e-10)


def test_nothing_but_the_uncentered_is_defined_before_the_first_step():
    x, start = torch.randn(9, 4, dtype=torch.float64), weights("test_checks_b", "start")
    net = mlp(4, [6, 6], 1, "relu", bias=False).double()
    rows = list(b_centerings.centerings(b_centerings.tangents(net, x, start, start), start, start))
    assert {row["quantity"] for row in rows} == {"nfa/uncentered", "null/uncentered"}


def test_the_stack_trains_as_each_network_alone():
    drawn = [weights("test_checks_b", seed) for seed in range(3)]
    x, y = torch.randn(3, 20, 4, dtype=torch.float64), torch.randn(3, 20, 1, dtype=torch.float64)
    stack = {key: torch.stack([one[key] for one in drawn]).requires_grad_() for key in drawn[0]}
    assert list(b_centerings.train(stack, x, y, 10, {0, 5, 10})) == [0, 5, 10]
    for at, one in enumerate(drawn):
        net = mlp(4, [6, 6], 1, "relu", bias=False).double()
        net.load_state_dict(one)
        optimizer = torch.optim.SGD(net.parameters(), b_centerings.LR)
        for _ in range(10):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(net(x[at]), y[at]).backward()
            optimizer.step()
        for key, value in net.state_dict().items():
            torch.testing.assert_close(stack[key][at].detach(), value)


def planted(on=None, **laws) -> Rows:
    """Rows of each quantity by its law of (layer, scale, step), with a little noise.

    The same on every spectrum, but for the quantities and spectra whose laws ``on`` has, by (quantity, spectrum).
    """
    return Rows(
        tables.table(
            [
                {"seed": seed, "case": case, "layer": layer, "x": scale, "step": step, "quantity": quantity,
                 "value": float((on or {}).get((quantity, case), law)(layer, scale, step)
                                + 0.003 * stream("test_checks_b", seed, step).normal())}
                for seed in SEEDS for case in b_centerings.SPECTRA for scale in SCALES for step in STEPS
                for quantity, law in laws.items() for layer in ([""] if quantity == "test_loss" else ["0", "2"])
            ]
        )
    )  # fmt: skip


def in_one_place(good, bad, scales=SCALES):
    """The good law with the bad one in one layer at one scale, for each such place."""
    for place in product(("0", "2"), scales):
        yield lambda layer, scale, step, place=place: (bad if (layer, scale) == place else good)(layer, scale, step)


def in_one_layer(good, bad):
    """The good law with the bad one in one layer, for each."""
    for only in ("0", "2"):
        yield lambda layer, scale, step, only=only: (bad if layer == only else good)(layer, scale, step)


def wide(layer, scale, step):  # an UC-NFA that ends higher for smaller scales
    return 0.3 + 0.1 * (step / 800) * (2 - np.log10(scale))


def falling(layer, scale, step):
    return 0.95 - 0.1 * step / 800 - 0.01 * np.log10(scale) * step / 800


def low(layer, scale, step):
    return 0.3


def rising(layer, scale, step):
    return 0.8 + 0.1 * step / 800


def test_figure_2():
    good = {"nfa/uncentered": wide, "nfa/centered": falling, "null/centered": low}
    assert b_fig2.rule(planted(**good)).holds
    for broken in (
        {"nfa/uncentered": low},
        {"nfa/centered": lambda layer, scale, step: 0.6 - 0.1 * step / 800},
        {"nfa/centered": rising},
        *({"nfa/centered": law} for law in in_one_place(falling, rising)),
        *({"nfa/centered": law} for law in in_one_place(falling, lambda *_: 0.6)),
        *({"nfa/uncentered": law} for law in in_one_layer(wide, low)),
    ):
        assert b_fig2.rule(planted(**{**good, **broken})).holds is False
    once = in_one_place(falling, lambda layer, scale, step: 0.5 if step == 400 else falling(layer, scale, step))
    for law in once:  # low at a single measured step
        assert b_fig2.rule(planted(**{**good, "nfa/centered": law})).parts["high"].holds is False


@pytest.mark.parametrize("check", [b_fig7, b_fig8])
def test_figures_7_and_8(check):
    good = {"nfa/uncentered": wide, "nfa/centered": falling, "null/uncentered": lambda *_: 0.1,
            "test_loss": lambda layer, scale, step: 1 + 0.1 * scale}  # fmt: skip
    assert check.rule(planted(**good)).holds
    for broken in (
        {"test_loss": lambda layer, scale, step: 1 - 0.1 * scale},
        {"nfa/uncentered": lambda layer, scale, step: -wide(layer, scale, step)},
        {"nfa/centered": lambda layer, scale, step: 0.9 + 0.1 * np.log10(scale)},
    ):
        assert check.rule(planted(**{**good, **broken})).holds is False
    shifted = lambda layer, scale, step: wide(layer, scale, step) - 0.6 * (step / 800)  # noqa: E731
    begun = lambda layer, scale, step: 0.9  # noqa: E731
    against = lambda layer, scale, step: 0.9 + 0.1 * np.log10(scale)  # noqa: E731
    broken_in = [
        *(("rises", "nfa/uncentered", law) for law in in_one_place(wide, shifted)),
        *(("small", "nfa/uncentered", law) for law in in_one_place(wide, begun)),
        *(("high", "nfa/uncentered", law) for law in in_one_place(wide, low, scales=(0.01,))),
        *(("uncentered", "nfa/uncentered", law) for law in in_one_layer(wide, against)),
        *(("centered", "nfa/centered", law) for law in in_one_layer(falling, against)),
        *(("robust", "nfa/centered", law) for law in in_one_layer(falling, against)),
    ]
    for part, quantity, law in broken_in:
        found = check.rule(planted(**{**good, quantity: law}))
        assert found.holds is False
        assert found.parts[part].holds is False


def test_figures_4_and_5():
    def grows(layer, scale, step):
        return 0.02 + (0.1 if scale == 1 else 0.5) * step / 800

    assert b_fig4.rule(planted(double_over_centered=grows)).holds
    for law in in_one_place(grows, lambda *_: 0.02):
        assert b_fig4.rule(planted(double_over_centered=law)).parts["grows"].holds is not True
    for law in in_one_place(grows, lambda layer, scale, step: 0.02 + 0.2 * (step > 5)):
        assert b_fig4.rule(planted(double_over_centered=law)).parts["small"].holds is False
    for law in in_one_place(grows, lambda layer, scale, step: 0.02 + step / 800, scales=(1.0,)):
        assert b_fig4.rule(planted(double_over_centered=law)).parts["large"].holds is False

    assert b_fig5.rule(planted(**{"nfa/ptk_centered": falling})).holds
    for law in in_one_place(falling, rising):
        assert b_fig5.rule(planted(**{"nfa/ptk_centered": law})).holds is False
        for case in b_fig5.CASES:
            broken = planted(on={("nfa/ptk_centered", case): law}, **{"nfa/ptk_centered": falling})
            assert b_fig5.rule(broken).holds is False


def ends(**values) -> Rows:
    """Rows of each quantity at the first and at the last step."""
    return Rows(
        tables.table(
            [
                {"seed": seed, "step": step, "quantity": quantity,
                 "value": value + 0.002 * float(stream("test_checks_b", quantity, seed, step).normal())}
                for quantity, pair in values.items() for seed in SEEDS
                for step, value in zip((0, 800), pair, strict=True)
            ]
        )
    )  # fmt: skip


@pytest.mark.parametrize(
    ("check", "kind", "printed"), [(b_fig1, "nfa", (0.93, 0.53)), (b_fig9, "pearson", (0.91, 0.04))]
)
def test_figures_1_and_9(check, kind, printed):
    def found(K, Q):
        return check.rule(ends(**{f"{kind}/K": (K, K), f"{kind}/Q": (Q, Q)}))

    assert found(*printed).holds
    assert found(*printed).evidence == "matches print"
    assert found(0.8, 0.2).holds
    assert found(0.8, 0.2).evidence == "direction"
    for pair in ((0.2, 0.8), (0.8, 0.9), (0.2, 0.3)):
        assert found(*pair).holds is False
    for pair in ((0.9, 0.8), (0.3, 0.2)):
        assert found(*pair).holds


def test_egop():
    good = {
        "egop/agop": (0.2, 0.9),
        "null/egop_agop": (0.1, 0.1),
        "egop/agop, another target": (0.2, 0.7),
        "egop/gram": (0.3, 0.8),
        "r2/train": (0.0, 0.99),
        "r2/test": (0.0, 0.7),
    }
    assert b_egop.rule(ends(**good)).holds
    broken_in = {"r2/train": (0.0, 0.5), "egop/agop": (0.95, 0.9), "null/egop_agop": (0.1, 0.85),
                 "egop/agop, another target": (0.2, 0.95), "egop/gram": (0.8, 0.3)}  # fmt: skip
    for broken in ({name: pair} for name, pair in broken_in.items()):
        assert b_egop.rule(ends(**{**good, **broken})).holds is False
