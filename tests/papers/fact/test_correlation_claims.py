"""Paper C's claims on trained networks, judged on planted tables: all parts true, or one part false."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from gramlab import tables
from gramlab.streams import stream
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.judging.statistics import JudgeError
from tasks.papers.fact.claims import c_fig3, c_fig8, c_fig9, c_fig10, c_fig11, c_tab2, c_tab2_cifar10, c_tab2_mnist
from tasks.papers.fact.claims.shared.correlations import HIDDEN, HYPOTHESES, NAMES, lateness
from tasks.settings import load


def noisy(value: float, *name: object, size: float = 0.02) -> float:
    return float(np.tanh(np.arctanh(value) + size * stream("test_checks_c", *map(str, name)).normal()))


def holds(claim, name: str, rows: Rows) -> bool | None:
    statement = next(statement for statement in claim.STATEMENTS if statement.name == name)
    return statement.rule(statement.rows_read(rows)).holds


def side(claim) -> str:
    """The side of the layer that the claim is about, as in its quantities."""
    return "back_" if "back_" in claim.STATEMENTS[0].reads[0] else ""


def after_training(claim, worst: dict[str, float], where: str = "CIFAR-10") -> Rows:
    """FACT at 0.95, all others at 0.8, except ``worst`` on layer 4; at the readout, which is not hidden, AGOP at 1."""
    records = []
    for seed, case in product(range(5), ("CIFAR-10", "MNIST")):
        for layer in [*sorted(HIDDEN), "10"]:
            for name in NAMES:
                value = 0.95 if "fact" in name else 0.8
                if layer == "4" and case == where:
                    value = worst.get(name, value)
                if layer == "10" and name == "agop":
                    value = 0.9999
                records.append({"case": case, "seed": seed, "layer": layer, "x": 9.0, "step": 9,
                             "quantity": f"pearson/{side(claim)}{name}",
                             "value": noisy(value, seed, case, layer, name)})  # fmt: skip
    return Rows(tables.table(records))


@pytest.mark.parametrize("claim", [c_fig3, c_fig9])
def test_fact_is_ahead_on_every_layer(claim):
    agop, agop_cifar, enfa, enfa_cifar = (about.name for about in claim.STATEMENTS if about.kind == "asserted")
    for name in (agop, agop_cifar, enfa, enfa_cifar):
        assert holds(claim, name, after_training(claim, {}))
    for other in ("agop", "root agop", "enfa", "root enfa"):
        rows = after_training(claim, {other: 0.97})  # on CIFAR-10
        assert [holds(claim, name, rows) for name in (agop, enfa)] == [True, True]
        assert [holds(claim, name, rows) for name in (agop_cifar, enfa_cifar)] == [
            "agop" not in other, "enfa" not in other
        ]  # fmt: skip
    for where, broken in (("MNIST", agop), ("CIFAR-10", agop_cifar)):
        rows = after_training(claim, {"fact": 0.6}, where)
        assert [name for name in (agop, agop_cifar) if holds(claim, name, rows) is False] == [broken]


@pytest.mark.parametrize(("claim", "parts"), [(c_fig3, {"MNIST", "CIFAR-10"}), (c_tab2, {"2K", "1K"})])
def test_each_statement_needs_the_conditions_of_its_own_networks(claim, parts):
    """With one data set or column at an accuracy of 0.9, the statements about the others keep their condition."""
    for unmet in parts:
        rows = Rows(tables.table([
            {"case": case, "seed": 0, "quantity": "train_accuracy", "value": 0.9 if case == unmet else 1.0}
            for case in parts
        ]))  # fmt: skip
        conditions = [condition for condition in claim.HYPOTHESES if condition.name.startswith("interpolation")]
        needing = {name for condition in conditions if not condition.rule(condition.rows_read(rows)).holds
                   for name in condition.statements}  # fmt: skip
        assert needing == {about.name for about in claim.STATEMENTS if not about.data_sets or unmet in about.data_sets}


@pytest.mark.parametrize("claim", [c_fig8, c_fig10])
@pytest.mark.parametrize(("unmet", "met"), [("MNIST", True), ("CIFAR-10", False)])
def test_the_curves_along_training_need_the_conditions_of_cifar_alone(claim, unmet, met):
    rows = Rows(tables.table([
        {"case": case, "layer": "0", "seed": 0, "quantity": quantity, "value": values[case == unmet]}
        for quantity, values in {"train_accuracy": (1.0, 0.9), "stationarity": (0.4, 0.6)}.items()
        for case in ("MNIST", "CIFAR-10")
    ]))  # fmt: skip
    assert [condition.rule(condition.rows_read(rows)).holds for condition in claim.HYPOTHESES] == [met, met]


@pytest.mark.parametrize("claim", [c_tab2, c_tab2_mnist, c_tab2_cifar10])
def test_statements_that_theorem_3_1_explains_need_a_critical_point(claim):
    """Not AGOP and eNFA against their roots, and not the case in which the paper reports that FACT is behind."""
    names = {about.name for about in claim.STATEMENTS}
    by_name = {condition.name: set(condition.statements) for condition in claim.HYPOTHESES}
    for ending in getattr(claim, "COLUMNS", {"": ()}):
        others = {f"roots ahead{ending}", f"FACT is not ahead{ending}"} & names
        assert by_name[f"interpolation{ending}"] - by_name[f"critical point{ending}"] == others
    about_roots = [about for about in claim.STATEMENTS if about.name.startswith("roots ahead")]
    assert all(about.forms == ("claim",) for about in about_roots)


def with_null(rows: Rows, name: str, value: float) -> Rows:
    """The table with this null in all cases, seeds and layers."""
    last = rows.frame[rows.frame["quantity"] == f"pearson/{name}"].drop_duplicates(["case", "seed", "layer"])
    null = last.assign(quantity=f"null/{name}", value=value, step=rows.frame["step"].max())
    return Rows(pd.concat([rows.frame, null], ignore_index=True))


@pytest.mark.parametrize("claim", [c_fig3, c_fig8, c_fig9, c_fig10, c_tab2])
def test_correlations_are_compared_with_their_null(claim):
    late, root = (lambda t: 0.1 + 0.88 * t**6), (lambda t: 0.5 + 0.48 * t**6)
    if claim is c_tab2:
        rows = table_2()
    else:
        rows = after_training(claim, {}) if claim in (c_fig3, c_fig9) else along_training(claim, late, root)
    name = f"{'b' * bool(side(claim))}FACT above its null"
    assert holds(claim, name, with_null(rows, f"{side(claim)}fact", 0.3))
    assert holds(claim, name, with_null(rows, f"{side(claim)}fact", 0.9999)) is False


def test_the_hypotheses_are_measured():
    interpolation, critical = HYPOTHESES

    def runs(quantity: str, values: dict[int, float]) -> Rows:
        records = [{"case": case, "layer": "0", "seed": seed, "x": epoch, "quantity": quantity, "value": value}
                   for case in "ab" for seed in range(3) for epoch, value in values.items()]  # fmt: skip
        return Rows(tables.table([*records, {**records[-1], "case": "c", "x": 9}]))

    assert interpolation.rule(runs("train_accuracy", {0: 0.2, 5: 1.0})).holds
    assert not interpolation.rule(runs("train_accuracy", {0: 1.0, 5: 0.98})).holds
    high_loss = runs("train_loss", {0: 0.1, 5: 0.02})  # it decides nothing
    both = Rows(pd.concat([runs("train_accuracy", {5: 1.0}).frame, high_loss.frame], ignore_index=True))
    assert interpolation.rule(both).holds
    assert interpolation.rule(both).numbers["a, largest training loss"] == 0.02
    assert interpolation.rule(both).measured.startswith(
        "the largest training loss, which decides nothing, is 0.02000 (a), "
    )
    assert critical.rule(runs("stationarity", {5: 0.4})).holds
    assert not critical.rule(runs("stationarity", {5: 0.6})).holds
    assert critical.rule(runs("stationarity", {0: 9.0, 5: 0.4})).holds  # the last epoch alone decides
    assert not critical.rule(runs("stationarity", {0: 0.1, 5: 0.6})).holds
    layers = Rows(tables.table([{"case": "a", "layer": layer, "quantity": "stationarity", "value": value, "seed": seed}
                                for layer, value in (("0", 0.1), ("2", 0.9)) for seed in range(2)]))  # fmt: skip
    assert not critical.rule(layers).holds  # a single layer is enough


def test_both_networks_of_the_paper_are_trained():
    settings = load("paper")
    assert settings.train["c_fig8"].by_variant().keys() == {"MNIST", "CIFAR-10"}
    printed = settings.raw["fact"]["train"]["c_fig8"]["paper"]  # this machine affords narrower networks
    assert printed["model"]["hidden"] == [3072] * 5
    assert printed["variants"]["MNIST"]["model"]["hidden"] == [1024] * 5


def along_training(claim, fact, root) -> Rows:
    records = [
        {"case": case, "seed": seed, "layer": layer, "step": 9 * epoch, "x": float(epoch),
         "quantity": f"pearson/{side(claim)}{name}",
         "value": noisy(law(epoch / 20) if case == "CIFAR-10" else 0.5, seed, layer, epoch)}
        for case in ("CIFAR-10", "MNIST")
        for seed in range(5)
        for layer in ("0", "2", "4")
        for epoch in range(21)
        for name, law in (("fact", fact), ("symmetric fact", root))
    ]  # fmt: skip
    return Rows(tables.table(records))


@pytest.mark.parametrize("claim", [c_fig8, c_fig10])
def test_fact_is_low_and_then_rises(claim):
    late, root = (lambda t: 0.1 + 0.88 * t**6), (lambda t: 0.5 + 0.48 * t**6)
    names = ("low at most epochs", "rises", "ends near 1", "the root is higher")

    def verdicts(fact, root) -> list[bool | None]:
        return [holds(claim, name, along_training(claim, fact, root)) for name in names]

    assert verdicts(late, root) == [True] * 4
    assert verdicts(lambda t: 0.98, root)[0] is False  # never low
    assert verdicts(lambda t: 0.3 - 0.2 * t, root)[1:3] == [False, False]  # falls
    assert verdicts(late, lambda t: 0.05)[3] is False  # the root is no better


@pytest.mark.parametrize("claim", [c_fig8, c_fig10])
def test_a_straight_line_does_not_rise_late(claim):
    """Nor does a curve that rises early and saturates. A parabola's mean is 1/3, and a straight line's 1/2."""

    def rises(fact) -> Finding:
        statement = next(statement for statement in claim.STATEMENTS if statement.name == "rises")
        return statement.rule(statement.rows_read(along_training(claim, fact, lambda t: 0.5)))

    line, early = rises(lambda t: 0.9 * t), rises(lambda t: 0.9 * t ** (1 / 4))
    assert not line.holds
    assert early.holds is False
    assert line.parts["trend"].holds
    assert early.parts["trend"].holds
    late = rises(lambda t: 0.9 * t**2)
    assert late.parts["late"].holds
    assert late.parts["late"].statistic == pytest.approx(0.9 * (1 / 2 - 1 / 3), abs=0.01)
    assert "its mean over epochs is 0.30, and that of a straight line 0.45" in late.measured
    assert rises(lambda t: 0.9 - 0.9 * t**2).holds is False  # it falls


def test_figure_8_rises_sharply_and_figure_10_late():
    """A parabola brings 1 - 0.8^2 of its rise in the last fifth of the epochs, and a sixth power 1 - 0.8^6."""

    def rises(claim, power: int) -> Finding:
        statement = next(statement for statement in claim.STATEMENTS if statement.name == "rises")
        return statement.rule(statement.rows_read(along_training(claim, lambda t: 0.9 * t**power, lambda t: 0.5)))

    for power, sharp in ((2, False), (6, True)):
        assert rises(c_fig10, power).holds
        assert rises(c_fig8, power).holds is sharp
        expected = 0.9 * (1 - 0.8**power - 0.5)
        assert rises(c_fig8, power).parts["sharp"].statistic == pytest.approx(expected, abs=0.02)
    assert rises(c_fig8, 6).measured.endswith("within a fifth of the epochs it rises by 0.66")


def test_the_mean_over_epochs_weighs_the_time_between_records():
    """Of three records at epochs 0, 1 and 4 the trapezoids are 1/2 and 3 times (1 + 5) / 2; the middle is 2.5."""
    assert lateness(np.array([[0.0, 1.0, 5.0]]), np.array([0.0, 1.0, 4.0])) == pytest.approx(2.5 - 9.5 / 4)


def test_figure_10_is_not_quoted_with_what_the_paper_says_of_fact():
    asserted = {claim: [about for about in claim.STATEMENTS if about.kind == "asserted"] for claim in (c_fig8, c_fig10)}
    assert all(about.quote.startswith("Drawing: ") and "bFACT" in about.quote for about in asserted[c_fig10])
    assert not any(about.quote.startswith("Drawing: ") for about in asserted[c_fig8])


@pytest.mark.parametrize("claim", [c_fig8, c_fig10])
def test_the_root_is_beyond_chance(claim):
    rows = along_training(claim, lambda t: 0.1, lambda t: 0.5 + 0.48 * t**6)  # its median is 0.51
    for null, answer in ((0.3, True), (0.7, False)):
        with_chance = with_null(rows, f"{side(claim)}symmetric fact", null)
        assert holds(claim, "the root is beyond chance", with_chance) is answer


def history(fits: int, records: int = 21) -> list[dict]:
    """The training accuracy by epoch: CIFAR-10's is 1 from this epoch or the one before on, MNIST's at once."""
    return [{"case": case, "seed": seed, "layer": "", "step": epoch, "x": float(epoch), "quantity": "train_accuracy",
             "value": 1.0 if epoch >= fits - seed % 2 or case == "MNIST" else 0.5}
            for case in ("CIFAR-10", "MNIST") for seed in range(5) for epoch in range(records)]  # fmt: skip


def test_fact_rises_after_interpolation():
    """At epoch 17 of 20 FACT passes 1/2; the network fits at another epoch."""

    def rule(fits: int, fact=lambda t: 0.1 + 0.8 * (t >= 17 / 20), records: int = 21):
        curves = along_training(c_fig8, fact, lambda t: 0.5)
        frame = pd.DataFrame(history(fits, records))
        statement = next(statement for statement in c_fig8.STATEMENTS if statement.name == "rises after interpolation")
        rows = Rows(pd.concat([curves.frame, frame], ignore_index=True))
        return statement.rule(rows.where(quantity=set(statement.reads)))

    late = rule(4)
    assert late.holds
    assert late.statistic == pytest.approx(13.4)
    assert late.numbers["FACT at epoch 17"] == pytest.approx(0.9, abs=0.02)
    assert late.measured.startswith("every seed reaches a training accuracy of 0.99 by epoch 4 of 20, where FACT's")
    assert late.measured.endswith("it first passes 0.5 at epoch 17")
    assert rule(19).holds is False  # FACT is first
    assert not rule(17).holds  # at the same epoch
    for neither in (rule(4, lambda t: 0.1), rule(99)):  # FACT does not rise; the network does not fit
        assert not neither.holds
        assert neither.statistic == -20
        assert neither.measured == "0 of 5 seeds reach both levels"
    with pytest.raises(JudgeError, match="different epochs"):
        rule(4, records=11)


def table_2(claim=c_tab2, roots: bool = True, **changed: float) -> Rows:
    """Table 2 as printed, with AGOP and eNFA below their roots, or above them."""
    table = dict(claim.TABLE)
    for name in ("agop", "enfa"):
        shift = -0.1 if roots else 0.05
        table[name] = {case: value + shift for case, value in table[f"root {name}"].items()}
    records = []
    for name, printed in table.items():
        for case, value in printed.items():
            value = min(changed.get(f"{name} {case}", value), 0.9985)
            records += [{"case": case, "seed": seed, "layer": "0", "quantity": f"pearson/{name}", "scale": "paper",
                      "value": noisy(value, case, name, seed, size=0.001)} for seed in range(5)]  # fmt: skip
    return Rows(tables.table(records))


def test_table_2():
    names = [about.name for about in c_tab2.STATEMENTS if about.kind != "ours"]
    assert "FACT ahead at the smaller n" not in names  # FACT is behind at n = 1K, as printed
    for name in names:
        assert holds(c_tab2, name, table_2()), name
    assert holds(c_tab2, "FACT ahead", table_2(**{"fact 2K": 0.85})) is False
    for ending, column in (("", "2K"), (" at the smaller n", "1K")):
        assert (
            holds(c_tab2, f"its symmetrisation ahead{ending}", table_2(**{f"symmetric fact {column}": 0.85})) is False
        )
        assert holds(c_tab2, f"roots ahead{ending}", table_2(roots=False)) is False
        assert holds(c_tab2, f"its symmetrisation ahead{ending}", table_2(**{f"root enfa {column}": 0.9985})) is False
    assert holds(c_tab2, "its symmetrisation ahead", table_2(**{"symmetric fact 1K": 0.85}))
    for ending, column, other in (("", "2K", "1K"), (" at the smaller n", "1K", "2K")):
        assert not holds(c_tab2, f"the printed numbers{ending}", table_2(**{f"fact {column}": 0.95}))
        assert holds(c_tab2, f"the printed numbers{ending}", table_2(**{f"fact {other}": 0.95}))
    levels = [statement for statement in c_tab2.STATEMENTS if statement.kind == "printed level"]
    assert [level.forms for level in levels] == [("claim", "corrected")] * 2
    assert [level.printed.partition(",")[0] for level in levels] == ["FACT .988", "FACT .890"]


@pytest.mark.parametrize(
    ("scale", "case", "reason"), [("paper", "5K", "takes too long here"), ("quick", "1437 digits", "reduced too far")]
)
def test_60k_has_statements_of_its_own_which_say_that_they_were_not_judged(scale, case, reason):
    rows = Rows(tables.table([
        {"arm": "claim", "case": case, "seed": seed, "layer": "0", "scale": scale, "quantity": quantity, "value": 0.9}
        for statement in c_tab2_mnist.STATEMENTS for quantity in statement.reads for seed in range(5)
    ]))  # fmt: skip
    reasons = {statement.name: statement.why_not_judged(rows, scale) for statement in c_tab2_mnist.STATEMENTS
               if not statement.judgeable(rows)}  # fmt: skip
    at_60k = [statement for statement in c_tab2_mnist.STATEMENTS if statement.name.endswith(" at n = 60K")]
    assert reasons == {statement.name: reason for statement in at_60k}
    assert len(at_60k) * 2 == len(c_tab2_mnist.STATEMENTS)
    assert {statement.forms for statement in at_60k} == {("claim",)}  # its run has no corrected form


def test_the_exception_of_table_2():
    """Behind one matrix is enough; ahead of all four refutes it."""
    name = "FACT is not ahead at the smaller n"
    assert holds(c_tab2, name, table_2(**{"fact 1K": 0.901}))  # behind √eNFA alone
    assert holds(c_tab2, name, table_2(**{"fact 1K": 0.95})) is False
    assert holds(c_tab2, name, table_2(**{"fact 2K": 0.5, "fact 1K": 0.95})) is False  # the other column plays no part
    statement = next(about for about in c_tab2.STATEMENTS if about.name == name)
    rows = statement.rows_read(table_2(**{"fact 1K": 0.901}))
    leads = [np.arctanh(rows.by_seed(quantity="pearson/fact")) - np.arctanh(rows.by_seed(quantity=quantity))
             for quantity in statement.reads[1:]]  # fmt: skip
    behind = [stats.ttest_1samp(lead, 0, alternative="less").pvalue for lead in leads]
    ahead = [stats.ttest_1samp(lead, 0, alternative="greater").pvalue for lead in leads]
    found = statement.rule(rows)
    assert (found.p, found.p_against) == pytest.approx((4 * min(behind), max(ahead)))
    assert found.statistic == pytest.approx(min(lead.mean() for lead in leads))


@pytest.mark.parametrize("claim", [c_tab2_mnist, c_tab2_cifar10])
def test_other_columns_of_table_2(claim):
    for case in claim.TABLE["fact"]:
        name = "FACT ahead at n = 60K" if case == "60K" else "FACT ahead"
        assert holds(claim, name, table_2(claim))
        assert holds(claim, name, table_2(claim, **{f"fact {case}": 0.7})) is False


def linear(
    agop: float = 0.9995, other: float = 0.97, fact: float = 0.9997, balance: float = 0.01, null: float = 0.7
) -> Rows:
    records = []
    for seed in range(5):
        for depth in (2, 3):
            labels = {"case": f"L{depth}", "seed": seed}
            for s in (1, 1 / 2, 1 / 3, 1 / 4):
                value = noisy(agop if s == 1 / depth else other, seed, depth, s)
                records.append({**labels, "quantity": "cosine/agop", "x": s, "value": value})
            records.append({**labels, "quantity": "cosine/fact", "value": noisy(fact, seed, depth)})
            records += [{**labels, "quantity": f"null/{name}", "value": null} for name in ("agop", "fact")]
            records.append({**labels, "quantity": "balance", "value": balance * (1 + 0.01 * seed)})
    return Rows(tables.table(records))


@pytest.mark.parametrize(("name", "broken"), [
    ("AGOP to the power 1/L", {"agop": 0.98}),
    ("1/L is the best power", {"other": 0.9999}),
    ("FACT at every depth", {"fact": 0.998}),
    ("balanced", {"balance": 0.2}),
    ("above the null", {"null": 0.99999}),
])  # fmt: skip
def test_deep_linear_networks(name, broken):
    assert holds(c_fig11, name, linear())
    assert holds(c_fig11, name, linear(**broken)) is False
    assert holds(c_fig11, "FACT at every depth", linear(fact=0.9988))  # rounds to the print


def test_deep_linear_networks_must_have_converged():
    """In every layer of every depth, in the mean over seeds."""
    (critical_point,) = c_fig11.HYPOTHESES

    def met(far: tuple[str, str] = ("", ""), value: float = 0.6) -> bool | None:
        records = [{"case": case, "layer": layer, "seed": seed, "quantity": "stationarity",
                    "value": (value if (case, layer) == far else 0.1) + 0.01 * seed}
                   for case in ("L2", "L3") for layer in ("1", "2") for seed in range(5)]  # fmt: skip
        return critical_point.rule(Rows(tables.table(records))).holds

    assert met()
    assert met(("L3", "2"), 0.47)
    assert met(("L3", "2")) is False
    assert met(("L2", "1")) is False
