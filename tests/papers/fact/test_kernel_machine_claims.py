"""Paper C's claims on kernel machines: measurements with a known answer, and rules on planted tables."""

import itertools

import numpy as np
import pandas as pd
import pytest
import torch

from gramlab import tables
from gramlab.streams import stream
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.papers.fact.claims import c_fig1, c_fig5, c_fig6, c_fig7, c_tab3
from tasks.papers.fact.claims.shared.rises import largest_rise
from tasks.papers.fact.experiments.c_modular import circulancy, multiplied


def test_circulancy():
    p = 13
    draw = stream("circulancy", p)
    i = torch.arange(p)
    line = lambda: torch.from_numpy(draw.normal(size=p))  # noqa: E731
    minus, plus = line()[(i[:, None] - i) % p], line()[(i[:, None] + i) % p]
    blocks = torch.cat([torch.cat([minus, plus], 1), torch.cat([plus, minus], 1)])
    assert circulancy(blocks + torch.diag(torch.arange(2.0 * p, dtype=blocks.dtype))) == pytest.approx(1)
    random = [circulancy(torch.from_numpy(draw.normal(size=(2 * p, 2 * p)))) for _ in range(20)]
    assert np.mean(random) < 2.5 / p
    assert circulancy(torch.eye(2 * p, dtype=torch.float64)) == 0


def test_multiplied_numbers_keep_circulant_blocks():
    p = 13
    draw = stream("multiplied", p)
    i = torch.arange(p)
    minus, plus = (torch.from_numpy(draw.normal(size=p))[(i[:, None] + sign * i) % p] for sign in (-1, 1))
    blocks = torch.cat([torch.cat([minus + minus.T, plus], 1), torch.cat([plus, minus + minus.T], 1)])
    orders = [multiplied(p, draw) for _ in range(200)]
    for order in orders:
        changed = blocks[order][:, order]
        assert circulancy(changed) == pytest.approx(1)
        torch.testing.assert_close(torch.linalg.eigvalsh(changed), torch.linalg.eigvalsh(blocks))
        assert order[p:].tolist() == (order[:p] + p).tolist()
        assert not torch.allclose(changed[:p, :p], blocks[:p, :p])  # neither i nor -i
    assert {int(order[1] - order[0]) % p for order in orders} == set(range(2, 12))
    assert {int(order[0]) for order in orders} == set(range(13))


def holds(claim, name: str, table: Rows) -> bool | None:
    return finding(claim, name, table).holds


def finding(claim, name: str, table: Rows) -> Finding:
    statement = next(statement for statement in claim.STATEMENTS if statement.name == name)
    return statement.rule(table.where(quantity=set(statement.reads)))


def transition(start: int, mass: float = 0.8, lead: float = 0.6, last: float = 0.5) -> Rows:
    """Test accuracy rises at iterate ``start`` and is ``last`` at the last; the training set is fitted from 1 on."""
    records = [
        {"seed": seed, "x": step, "quantity": f"transition/{name}", "value": value + 0.001 * seed * step}
        for seed in range(6)
        for step in range(8)
        for name, value in (
            ("accuracy", last if step == 7 else 0.95 if step >= start else 0.5),
            ("continued accuracy", last if step == 7 else 0.95 if step >= start else 0.5),
            ("train accuracy", 0.99 if step else 0.8),
            ("mass", mass if step >= start else 0.2),
            ("lead", lead if step >= start else -0.1),
        )
    ]
    return Rows(tables.table(records))


def test_a_machine_that_never_learns_has_no_delay_in_the_text():
    """Three of six machines learn at iterate 4, three iterates after they have fitted."""
    early, never = (transition(start).frame for start in (4, 9))
    mixed = Rows(pd.concat([early[early.seed < 3], never[never.seed >= 3]]))
    text = finding(c_fig1, "delayed generalisation", mixed).measured
    assert "3.0 iterations" in text
    assert text.startswith("in the 3 of 6 seeds that reach it, ")
    assert finding(c_fig1, "delayed generalisation", transition(9)).measured.startswith("no seed")


def test_a_phase_transition_needs_a_delay_and_the_support():
    names = [statement.name for statement in c_fig1.STATEMENTS]
    assert all(holds(c_fig1, name, transition(4)) for name in names)
    assert not holds(c_fig1, "delayed generalisation", transition(1))  # learned as soon as fitted
    assert not holds(c_fig1, "delayed generalisation", transition(9))  # never learned
    assert not holds(c_fig1, "phase transition", transition(9))
    assert not holds(c_fig1, "features on the support", transition(4, lead=-0.1))
    assert holds(c_fig1, "features on the support", transition(4, mass=0.3))
    assert not holds(c_fig1, "most of the trace on the support", transition(4, mass=0.3))


def test_the_printed_form_of_figure_1_has_the_first_five_updates_and_the_corrected_form_all():
    """Test accuracy rises at iterate 6 of 7: too late for the printed form."""
    frame = transition(6).frame.query("quantity != 'transition/continued accuracy'")
    table = pd.concat([frame.assign(arm=arm) for arm in ("claim", "control: random labels")])
    feature = table.head(1).assign(quantity="transition/feature", x=40.0)
    in_both_forms = Rows(c_fig1.with_all_forms(pd.concat([table, feature])))
    last = {
        (arm, quantity): part.x.max()
        for (arm, quantity), part in in_both_forms.where(seed=0).by("arm", "quantity").items()
        if quantity != "transition/feature"
    }
    names = [f"transition/{name}" for name in ("accuracy", "train accuracy", "mass", "lead")]
    for arms, longest in (
        (("claim", "control: random labels"), 5),
        (("corrected", "control: random labels, corrected"), 7),
    ):
        for arm in arms:
            assert [last.pop((arm, name)) for name in names] == 4 * [longest]
    assert last == {(arm, "transition/continued accuracy"): 7 for arm in ("claim", "control: random labels")}
    assert len(in_both_forms.where(quantity="transition/feature")) == 1
    for form, expected in (("claim", False), ("corrected", True)):
        assert holds(c_fig1, "phase transition", in_both_forms.where(arm=form)) is expected
        assert holds(c_fig1, "delayed generalisation", in_both_forms.where(arm=form)) is expected
    assert holds(c_fig1, "unstable after convergence", in_both_forms.where(arm="claim"))


def learning(*accuracies: float) -> Rows:
    """Test accuracy by iterate; the seeds differ by at most four thousandths."""
    records = [
        {"seed": seed, "x": float(step), "quantity": "transition/accuracy", "value": value + 0.001 * (seed * step % 5)}
        for seed in range(6)
        for step, value in enumerate(accuracies)
    ]
    return Rows(tables.table(records))


def test_a_phase_transition_is_sudden():
    """A straight line over ten iterations brings a fifth of its rise in two of them."""
    name = "phase transition"
    line = finding(c_fig1, name, learning(*np.linspace(0.5, 1, 11)))
    assert line.holds is False
    assert line.parts["rise"].holds
    assert line.parts["sudden"].statistic == pytest.approx(0.1 - 0.25, abs=0.01)
    assert holds(c_fig1, name, learning(0.5, 0.5, 0.55, 0.75, 0.95, 1.0, 0.5))
    after_the_best = learning(0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 0.2, 0.9)
    assert holds(c_fig1, name, after_the_best) is False
    assert holds(c_fig1, name, learning(0.5, 0.5, 0.55, 0.65, 0.7)) is False  # sudden and small
    assert not holds(c_fig1, name, learning(1.0, 0.9, 0.5))  # the first is the best
    assert holds(c_fig1, name, learning(0.5, 1.0, 0.5))  # the rise is over after one iteration


def test_the_largest_rise_within_a_window():
    curve, times = np.array([0.0, 0.1, 0.3, 0.35]), np.arange(4.0)
    assert largest_rise(curve, times, 2) == pytest.approx(0.3)
    assert largest_rise(np.array([0.5, 0.2, 0.4]), times[:3], 2) == pytest.approx(0.2)  # within one iteration
    assert largest_rise(curve[::-1], times, 2) == 0
    assert largest_rise(curve[:1], times[:1], 2) == 0
    assert largest_rise(curve, np.array([0.0, 1.0, 4.0, 5.0]), 2) == pytest.approx(0.1)  # 0.2 takes three units of time
    assert largest_rise(curve, 0.1 * times, 0.3 - 1e-12) == pytest.approx(0.35)  # 0.1 * 3 is 0.30000000000000004


def test_a_machine_that_goes_on_becomes_unstable():
    """The fall from the best iterate counts, and not any difference from it, which is never negative."""
    name = "unstable after convergence"
    assert holds(c_fig1, name, transition(4, last=0.6))
    assert finding(c_fig1, name, transition(4, last=0.6)).statistic == pytest.approx(0.1 - 0.0025)
    assert holds(c_fig1, name, transition(4, last=0.9)) is False
    assert holds(c_fig1, name, transition(4, last=0.95)) is False  # the last is the best
    assert holds(c_fig1, name, transition(9)) is False  # never learned


def parities(degrees: tuple[int, ...], accuracy: float = 0.99, transition: bool = True, **shares: float) -> Rows:
    """Figure 5's machines; a share of the trace is 0.8 without a number for its k, as in ``k3``.

    With ``transition`` the table has k = 4 of Figure 1 as well.
    """
    records = [
        {"case": f"k = {k}, {update}", "seed": seed, "quantity": f"parity/chosen {name}", "value": value - 0.01 * seed}
        for k in degrees for update in ("FACT-RFM", "NFA-RFM") for seed in range(3)
        for name, value in (("mass", shares.get(f"k{k}", 0.8) if update == "FACT-RFM" else 0.8),
                            ("accuracy", accuracy))
    ]  # fmt: skip
    records += [{"case": "k = 4, FACT-RFM", "seed": seed, "quantity": "transition/chosen mass", "value": 0.2}
                for seed in range(3) if transition]  # fmt: skip
    return Rows(tables.table([{"arm": "claim", **record} for record in records]))


def of_figure_5(name: str, table: Rows) -> Finding:
    statement = next(statement for statement in c_fig5.STATEMENTS if statement.name == name)
    return statement.rule(statement.rows_read(table))


def test_each_degree_is_judged_by_itself():
    named = of_figure_5("FACT-RFM finds the support, k = 3", parities((2, 3), k3=0.7))
    assert named.holds
    assert named.measured == "69 % of the trace of M lies on the support, mean over seeds"
    low = parities((2, 3, 4), k4=0.4)
    for update, degree in itertools.product(("FACT-RFM", "NFA-RFM"), "234"):
        verdict = of_figure_5(f"{update} finds the support, k = {degree}", low).holds
        assert verdict is ((update, degree) != ("FACT-RFM", "4"))
    for degree in "234":
        name = f"both predict, k = {degree}"
        assert of_figure_5(name, low).holds
        assert of_figure_5(name, parities((2, 3, 4), accuracy=0.8)).holds is False


@pytest.mark.parametrize(("scale", "reason"), [("paper", "takes too long here"), ("quick", "reduced too far")])
def test_a_degree_that_did_not_run_is_not_judged(scale, reason):
    """Figure 1 has k = 4 in the same table, which does not stand for Figure 5's."""
    table = parities((2, 3))
    of_degrees = [statement for statement in c_fig5.STATEMENTS if statement.data_sets]
    unjudged = {statement.name: statement.why_not_judged(table, scale) for statement in of_degrees
                if not statement.judgeable(table)}  # fmt: skip
    assert unjudged == dict.fromkeys(
        [f"{update} finds the support, k = 4" for update in ("FACT-RFM", "NFA-RFM")] + ["both predict, k = 4"], reason
    )
    assert all(statement.judgeable(parities((2, 3, 4))) for statement in of_degrees)


def machines_compared(correlation: float, null: float = 0.2) -> Rows:
    """C.fig5's correlations of both machines' features for k = 2 and 3, lower for 3, in reverse order of the seeds."""
    series = (("pearson/fig5", correlation, 0.01), ("null/fig5", null, 0.02))
    records = [{"case": f"k = {k}", "seed": seed, "quantity": quantity, "value": value + step * seed - 0.05 * (k == 3)}
               for k in (2, 3) for seed in (2, 1, 0) for quantity, value, step in series]  # fmt: skip
    return Rows(tables.table(records))


def test_features_of_both_machines_are_highly_correlated():
    name = "highly correlated features"
    found = finding(c_fig5, name, machines_compared(0.8))
    assert found.holds
    assert found.measured == (
        "k = 2: the correlation is 0.81, and by chance 0.22; k = 3: the correlation is 0.76, and by chance 0.17"
    )
    assert found.statistic == pytest.approx(0.26)
    assert holds(c_fig5, name, machines_compared(0.4)) is False  # beyond chance, and not high
    assert holds(c_fig5, name, machines_compared(0.7, null=0.8)) is False  # high, and not beyond chance
    assert not holds(c_fig5, name, machines_compared(0.54))  # high for k = 2 alone


def test_table_3_counts_its_data_sets():
    def table(**changed: float) -> Rows:
        methods = {"kernel": 0.82, "NFA-RFM": 0.85, "FACT-RFM": 0.852, "FACT-RFM, averaged": 0.851} | changed
        records = [
            {"case": f"set {index}", "seed": index, "layer": method, "scale": "paper", "quantity": quantity,
             "value": value + 0.001 * (index % 3) + 0.001 * (index % 2) * (method in ("kernel", "NFA-RFM"))}
            for index in range(12) for method, value in methods.items()
            for quantity in ("tabular/accuracy", c_tab3.OWN)
        ]  # fmt: skip
        return Rows(tables.table(records))

    assert all(holds(c_tab3, statement.name, table()) for statement in c_tab3.STATEMENTS)
    over = finding(c_tab3, "FACT-RFM over the kernel", table())
    assert over.measured == "mean accuracy over 12 of 120 data sets: 85.30 % with FACT-RFM and 82.15 % with the kernel"
    assert "over 12 data sets" in over.rule
    assert "seeds" not in over.rule
    for method in ("FACT-RFM", "NFA-RFM", "FACT-RFM, averaged"):
        assert holds(c_tab3, f"{method} over the kernel", table(**{method: 0.81})) is False
    assert holds(c_tab3, "FACT-RFM as NFA-RFM", table(**{"NFA-RFM": 0.872})) is False
    averaged = "averaged as FACT-RFM"
    assert finding(c_tab3, averaged, table()).statistic == pytest.approx(-0.1)  # 0.851 and 0.852
    for changed, value in (("FACT-RFM, averaged", 0.832), ("FACT-RFM, averaged", 0.872), ("FACT-RFM", 0.872)):
        assert holds(c_tab3, averaged, table(**{changed: value})) is False
    assert holds(c_tab3, averaged, table(**{"NFA-RFM": 0.872, "kernel": 0.6}))
    for changed, alike in (("FACT-RFM", False), ("FACT-RFM, averaged", True), ("kernel", True)):
        assert holds(c_tab3, "FACT-RFM as NFA-RFM", table(**{changed: 0.872})) is alike
    # 0.852 and 0.85, to which every second set adds 0.001
    assert finding(c_tab3, "FACT-RFM as NFA-RFM", table()).statistic == pytest.approx(0.15)
    hypothesis = c_tab3.HYPOTHESES[0]
    accuracies = table().where(quantity="tabular/accuracy")
    assert hypothesis.rule(accuracies).holds
    easy = table(kernel=0.93).where(quantity="tabular/accuracy")
    assert hypothesis.rule(easy).statistic == pytest.approx(6.85, abs=0.01)
    assert hypothesis.rule(easy).holds is False


def addition(best: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0), late: int = 6, circulant: float = 0.9,
             fitted: float = 1.0) -> Rows:  # fmt: skip
    """Both machines fit at iterate 2 and reach their best test accuracy, by seed, some iterates later."""
    records = [
        {"case": case, "seed": seed, "x": step, "quantity": f"modular/{name}", "value": value}
        for case in ("FACT-RFM", "NFA-RFM")
        for seed, top in enumerate(best)
        for step in range(10)
        for name, value in (
            ("accuracy", top if step == 2 + late + seed % 2 else 0.96 if step > 2 + late else 0.1),
            ("train accuracy", fitted if step >= 2 else 0.5),
            ("circulancy", circulant + 0.01 * seed),
        )
    ]
    return Rows(tables.table(records))


def test_modular_addition_reaches_the_entire_table():
    for name in ("100 % test accuracy", "delayed generalisation", "block circulant"):
        assert holds(c_fig6, name, addition())
    assert holds(c_fig6, "100 % test accuracy", addition((1.0, 0.996, 1.0, 0.999)))  # all round to 100 %
    mixed = finding(c_fig6, "100 % test accuracy", addition((1.0, 0.99, 1.0, 0.999)))
    assert mixed.holds is None
    words = "FACT-RFM: the best test accuracy is at least 99.5 % in 3 of 4 seeds, and 99 % in the worst"
    assert mixed.measured.startswith(words)
    assert holds(c_fig6, "100 % test accuracy", addition((0.99, 0.98, 0.99, 0.99))) is False
    assert not holds(c_fig6, "delayed generalisation", addition(late=0))  # in most seeds no delay
    assert not holds(c_fig6, "delayed generalisation", addition(fitted=0.9))  # no delay without a fit
    assert holds(c_fig6, "block circulant", addition(circulant=0.2)) is False


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "reaches 95 % test accuracy 6 to 7 iterations after 99 % training accuracy"),
        ({"late": 0}, "reaches 95 % test accuracy 0 to 1 iterations after 99 % training accuracy"),
        ({"late": 0, "best": (0.9, 1.0)}, "reaches 95 % test accuracy 1 iteration after 99 % training accuracy"),
        ({"late": -2}, "reaches 95 % test accuracy 1 to 2 iterations before 99 % training accuracy"),
        ({"fitted": 0.9}, "does not reach both 95 % test accuracy and 99 % training accuracy"),
        (
            {"late": 7, "best": (1.0, 0.9)},
            "reaches 95 % test accuracy 7 iterations after 99 % training accuracy in 1 of 2",
        ),
    ],
)
def test_the_delay_in_words(options, words):
    measured = finding(c_fig6, "delayed generalisation", addition(**options)).measured
    assert measured.startswith(f"FACT-RFM {words}"), measured


def test_the_features_are_circulant_at_the_last_iterate():
    for last, others, answer in ((0.9, 0.1, True), (0.1, 0.9, False)):
        frame = addition().frame
        at, end = frame["quantity"] == "modular/circulancy", frame["x"] == frame["x"].max()
        frame.loc[at, "value"] = np.where(end, last, others)[at] + 0.01 * frame.loc[at, "seed"]
        assert holds(c_fig6, "block circulant", Rows(frame)) is answer


@pytest.mark.parametrize(
    ("updates", "answer", "words"),
    [
        ((8, 9, 8), True, "for 8 to 9 of 36 updates"),
        ((36, 36, 36), False, "for 36 of 36 updates"),  # the averaged machine
        ((8, 36, 8), None, "for 8 to 36 of 36 updates"),
    ],
)
def test_without_averaging_every_seed_leaves_the_range_of_numbers(updates, answer, words):
    records = [{"case": "FACT-RFM, not averaged", "seed": seed, "x": 36, "quantity": "modular/updates", "value": number}
               for seed, number in enumerate(updates)]  # fmt: skip
    result = finding(c_fig6, "unstable without averaging", Rows(tables.table(records)))
    assert result.holds is answer
    assert words in result.measured


def test_a_proportional_line_goes_through_the_origin():
    x = np.linspace(1, 2, 50)
    assert c_fig7.r_squared(x, 3 * x) == pytest.approx(1)
    assert c_fig7.r_squared(x, 3 * x - 6) < 0  # a line, but not a proportional one
    assert c_fig7.r_squared(x, -3 * x) < 0  # proportional, but of opposite signs


def similarities(noise: float, untrained: float = 0.3) -> Rows:
    """tau = 3 k' with noise of a share of its spread, at convergence and at M = I."""
    records = []
    for seed in range(4):
        draw = stream("test_similarities", seed)
        for name, size in (("pair", noise), ("untrained pair", untrained)):
            slopes = draw.uniform(0, 2, 200)
            records += [{"seed": seed, "step": step, "quantity": f"modular/{name}", "x": slope, "value": tau}
                        for step, (slope, tau) in enumerate(zip(slopes, 3 * slopes + size * draw.normal(size=200),
                                                                strict=True))]  # fmt: skip
    return Rows(tables.table(records))


def test_similarities_that_are_proportional():
    assert holds(c_fig7, "proportional", similarities(0.1))
    assert holds(c_fig7, "proportional", similarities(3.0)) is False
    assert holds(c_fig7, "better than untrained", similarities(0.1))
    assert holds(c_fig7, "better than untrained", similarities(1.0)) is False


def compared(correlation: float, blocks: float = 0.4, null: float = 0.2) -> Rows:
    """Three seeds, in reverse order, whose correlations differ by 0.01, and those by chance by 0.02."""
    values = {"modular/correlation": (correlation, 0.01), "modular/distance": (1 - correlation, -0.01),
              "modular/block correlation": (blocks, 0.01), "null/modular/correlation": (null, 0.02),
              "null/modular/block correlation": (0.1, 0.02)}  # fmt: skip
    records = [{"case": "FACT-RFM", "seed": seed, "quantity": quantity, "x": 9, "value": value + step * seed}
               for quantity, (value, step) in values.items() for seed in (2, 1, 0)]  # fmt: skip
    return Rows(tables.table(records))


@pytest.mark.parametrize(("correlation", "similar"), [(0.6, True), (0.4, False), (0.49, None), (-0.6, False)])
def test_features_are_similar_or_distinct_and_never_both(correlation, similar):
    """Without Holm's correction."""
    assert holds(c_fig7, "similar features", compared(correlation)) is similar
    assert holds(c_fig7, "similar blocks", compared(0.0, correlation)) is similar
    assert holds(c_fig6, "distinct features", compared(correlation)) is (None if similar is None else not similar)


def test_the_words_on_similar_features():
    for claim, name, text in (
        (c_fig7, "similar features", "the correlation of NFA-RFM's and FACT-RFM's M is 0.61"),
        (c_fig7, "similar blocks", "without the diagonal and the blocks' means the correlation is 0.41"),
        (c_fig7, "similar beyond chance",
         "the correlation is 0.61, and by chance 0.22; without the diagonal it is 0.41, and by chance 0.12"),
        (c_fig6, "distinct features", "the correlation of NFA-RFM's and FACT-RFM's M is 0.61"),
    ):  # fmt: skip
        assert finding(claim, name, compared(0.6)).measured == text


def test_features_are_similar_beyond_chance():
    assert holds(c_fig7, "similar beyond chance", compared(0.6))
    assert holds(c_fig7, "similar beyond chance", compared(0.2, null=0.3)) is False
