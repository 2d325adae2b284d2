"""Instances and kinds of cases planted away from the real tables of identities and bounds are missed, and named."""

import pandas as pd
import pytest
from test_parts_of_controls import CLAIMS, COMMITTED, committed, module, planted, whole

from tasks.judging.contract import ContractError, admit, instances
from tasks.judging.parts import incomplete, refuse_incomplete
from tasks.judging.rows import FOUND, Rows, kind_and_instance
from tasks.judging.statement import Control, Grid
from tasks.papers.fact.experiments import c_quadratic, critical_points
from tasks.papers.neural_collapse.experiments import d_thm4_3
from tasks.settings import load

RIDGE = "control: ridge instead of OLS"


def at_fault(frame: pd.DataFrame, **lost) -> pd.Series:
    """Which rows have these values; of a case its beginning is enough."""
    fault = pd.Series(True, frame.index)
    for column, value in lost.items():
        fault &= frame[column].str.startswith(value) if column == "case" else frame[column] == value
    return fault


def judged(frame: pd.DataFrame, key: str, scale: str = "quick") -> None:
    """Admit the rows as the claim's table, with the seeds of the committed file."""
    at_scale = [statement for statement in module(key).STATEMENTS if scale in statement.scales]
    statements = [statement for statement in at_scale if statement.judgeable(Rows(frame))]
    experiment = CLAIMS[scale, key]
    admit(Rows(frame), module(key), statements, experiment, scale, whole(scale, experiment)[1])


def not_admitted(key: str, words: str, scale: str = "quick", **lost) -> None:
    frame = committed(scale, key)
    fault = at_fault(frame, **lost)
    assert fault.any(), "the fault is not planted"
    judged(frame, key, scale)
    with pytest.raises(ContractError, match=words):
        judged(frame[~fault], key, scale)


@pytest.mark.parametrize(
    ("key", "control", "lost", "words"),
    [
        ("a_whiten", "a random orthogonal factor", {"case": "square, 3"}, "case square, 3"),
        ("a_whiten", "a random orthogonal factor", {"case": [f"tall, {i}" for i in range(10)]}, "case tall, 0"),
        ("a_ols", "ridge instead of OLS", {"case": [f"tall, {i}" for i in range(10)]}, "case tall, 0"),  # half of them
        ("d_lemb_1", "minus in the inner inverse", {"case": "wide", "seed": 4}, "case wide, step 0, seed 4"),
        ("d_svd", "U not orthogonal", {"case": "wide 3", "dtype": "float32"}, "wide 3, step 0, seed 0, dtype float32"),
        ("d_lemb_2", "labels ±1", {"quantity": "lemB2/product", "layer": "right"}, "layer right"),
        ("c_thm3_1", "lambda doubled", {"layer": "second"}, "layer second"),
        ("a_lem1", "W beyond c", {"seed": 19}, "case extremal, step 0, seed 19"),
        ("a_lem5", "norm of G beyond c", {"case": "labels, 7"}, "case labels, 7"),
        ("c_thm3_4", "p and tau near 1", {"case": "p = 0.996094"}, "'p = 0.996094'"),
        ("c_prop5_1", "k merely rising", {"case": [f"tanh(t), tall, {i}" for i in range(3)]}, "'tanh(t), tall'"),
    ],
)  # fmt: skip
def test_an_identitys_control_does_not_lose_a_part(key, control, lost, words):
    arm = f"control: {control}"
    planted(key, words, {"arm": arm, **lost})
    planted(key, arm, {"arm": arm, **lost})


def test_the_claims_arm_does_not_lose_what_its_control_has():
    planted("d_svd", "in the arm 'claim', and the arm 'control", {"arm": "claim", "case": "wide 3"})


def test_a_corrected_identity_does_not_lose_a_part():
    planted("c_lemf_2", "'corrected', and the arm 'claim' has some", {"arm": "corrected", "case": "laplace, tall, 1"})
    planted("c_prop5_1", "'exp(t), tall'", {"arm": "corrected", "case": [f"exp(t), tall, {i}" for i in range(3)]})


def test_a_case_that_the_claim_says_a_control_lacks_is_not_there():
    frame = committed("quick", "a_ols")
    outside = frame[at_fault(frame, arm="claim", case="y outside it, 0")].assign(arm=RIDGE)
    with pytest.raises(ContractError, match=r"has rows of the case 'y outside it' in the arm .*that it has none"):
        refuse_incomplete(Rows(pd.concat([frame, outside])), module("a_ols"), "quick")


@pytest.mark.parametrize("scale", ["quick", "paper"])
@pytest.mark.parametrize(
    ("key", "control"),
    [
        ("a_eq1", "another layer"), ("a_thm1", "another layer"), ("b_prop2", "another layer"),
        ("b_prop4", "kernel of another layer"), ("a_prop2", "within-class noise"), ("a_prop4", "x not centred"),
    ],
)  # fmt: skip
def test_a_control_whose_cases_chance_decides_does_not_lose_half_of_them(key, control, scale):
    frame, arm = committed(scale, key), f"control: {control}"
    place = frame["case"] + " " + frame["seed"].astype(str)
    lost = (frame["arm"] == arm) & place.isin(sorted(set(place[frame["arm"] == arm]))[::2])
    with pytest.raises(ContractError, match=rf"has \d+ of the claim's \d+ cases in the arm 'control: {control}'"):
        refuse_incomplete(Rows(frame[~lost]), module(key), scale)


@pytest.mark.parametrize(
    ("key", "lost", "words"),
    [
        ("c_lemf_1", {"case": "laplace, wide, 2"}, "2 instances of the case 'laplace, wide'.*Lacking: 2"),
        ("d_svd", {"case": "spread 19"}, "19 instances of the case 'spread'.*Lacking: 19"),
        ("b_prop3", {"case": "7: "}, "19 instances of the case 'drawn'.*Lacking: 7"),
        ("a_tl", {"case": "after 30 steps, 5"}, "19 instances of the case 'after 30 steps'.*Lacking: 5"),
        ("a_tl", {"case": "dead", "seed": 5}, "19 instances of the case 'dead'.*Lacking: 5"),
        ("a_lem2", {"case": "climbed", "seed": 0}, "19 instances of the case 'climbed'.*Lacking: 0"),
        ("a_prop1", {"case": "gelu", "seed": 7}, "299 instances of the case 'gelu'.*Lacking: 7"),
        ("d_alg1", {"quantity": "alg1/away", "seed": 49}, "49 instances of .*of 50 it must have"),
        ("c_lemd_2", {"seed": 2}, "has 4 kinds of cases"),
        ("c_thm3_4", {"case": "s = 0.5"}, "3 kinds of cases.*'s = 0.25'"),
        ("c_lemf_1", {"case": "laplace, wide"}, "has 19 kinds of cases in the arm claim; the statement needs 20"),
        ("a_eq2", {"case": "transformer block"}, "has 3 kinds of cases in the arm claim; the statement needs 4"),
    ],
)
def test_all_arms_together_do_not_lose_an_instance_or_a_kind(key, lost, words):
    not_admitted(key, words, **lost)


def test_a_quantity_that_chance_thins_out_keeps_its_share():
    frame = committed("quick", "a_lem4")
    early = (frame["quantity"] == "lem4/ratio") & (frame["case"] == "2 hidden layers") & (frame["seed"] < 10)
    with pytest.raises(ContractError, match=r"of the case '2 hidden layers'.*at least 21"):
        judged(frame[~early], "a_lem4")


def test_no_instance_loses_a_row():
    """A step size, of 21: no arm is left out of step, and no instance is gone."""
    frame = committed("quick", "a_eq2")
    row = frame.index[at_fault(frame, arm="claim", quantity="eq2/remainder", case="3: ")][0]
    with pytest.raises(ContractError, match="has 20 to 21 rows in the arm 'claim'; the fewest at case 3: mlp"):
        judged(frame.drop(row), "a_eq2")


@pytest.mark.parametrize(
    ("key", "scale", "lost"),
    [
        ("a_thm4", "paper", {"arm": "control: untrained net", "quantity": "thm4/ratio", "case": "ReLU², digits"}),
        ("a_thm4", "paper", {"arm": "control: untrained net", "quantity": "null/normalised", "case": "ReLU², digits"}),
        ("b_rmt", "paper", {"arm": "control: R has the data's eigenvectors", "quantity": "rmt/(6)",
                            "case": "3:1:2, XᵀX = 1, signs"}),
        ("a_fig13", "paper", {"arm": "control: no weight decay", "layer": "2"}),
        ("a_fig2", "paper", {"arm": "control: only the removed part", "case": "MNIST, lr=0.01"}),
        ("d_fig10", "quick", {"arm": "control: the AGOP of the next layer, digits", "quantity": "nfa/mean"}),
        ("a_lem3", "paper", {"arm": "control: strongly non-homogeneous f", "case": "norms"}),
    ],
)  # fmt: skip
def test_a_control_with_parts_of_its_own_does_not_lose_one(key, scale, lost):
    frame, arm = committed(scale, key), lost["arm"]
    fault = at_fault(frame, **lost)
    assert fault.any(), "the fault is not planted"
    assert not [*incomplete(Rows(frame), module(key), scale)]
    if lost.get("quantity") == "nfa/mean":
        with pytest.raises(ContractError, match="'nfa/mean' has no rows in the arm"):
            judged(frame[~fault], key, scale)
    else:
        with pytest.raises(ContractError, match=f"has no rows .*{arm}"):
            refuse_incomplete(Rows(frame[~fault]), module(key), scale)


@pytest.mark.parametrize(
    ("key", "lost", "words"),
    [
        ("a_eq2", {"quantity": "eq2/remainder", "x": 0.125}, "no rows at x 0.125 in the arm 'claim'.*have 21 values"),
        ("a_eq1", {"quantity": "eq1/residual", "dtype": "float32"}, "dtype float32 in the arm 'claim'"),
        ("a_prop3", {"quantity": "prop3/ratio", "step": 300}, "no rows at step 300 .*6 values of step"),
        ("a_prop3", {"quantity": "prop3/ratio", "x": 0.0}, "no rows at x 0 in the arm 'claim'"),
        ("a_ols", {"layer": "printed inverse"}, "no rows at layer printed inverse in the arm 'claim'"),
        ("a_lem5", {"layer": "near the best"}, "no rows at layer near the best"),
        ("b_prop4", {"layer": "2"}, "no rows at layer 2"),
        ("c_thm3_4", {"quantity": "thm3.4/correlation", "x": 2.0**-8}, "no rows at x 0.00390625"),
        ("c_lemd_2", {"quantity": "lemd2/ratio", "step": 15}, "has 15 values of step .*have 16"),
        ("d_thm4_3", {"quantity": "thm4_3/kappa", "x": 2.0**-11}, "no rows at x 0.000488281"),
        ("d_propa_1", {"quantity": "propA1/residual", "x": 0.8, "dtype": "float64"}, "r = 0.8, .*dtype float64"),
        ("d_lemb_2", {"quantity": "lemB2/product", "layer": "right"}, "no rows at layer right"),
    ],
)  # fmt: skip
def test_all_arms_together_do_not_lose_a_precision_layer_step_or_x(key, lost, words):
    frame = committed("quick", key)
    refuse_incomplete(Rows(frame), module(key), "quick")
    fault = at_fault(frame, **lost)
    assert fault.any(), "the fault is not planted"
    with pytest.raises(ContractError, match=words):
        refuse_incomplete(Rows(frame[~fault]), module(key), "quick")


@pytest.mark.parametrize(
    ("key", "quantity", "words"),
    [
        ("c_thm3_1", "fact/error", "has 25 values of x at an instance in the arm 'claim'; the settings have 26"),
        ("d_thm4_3", "thm4_3/remainder", "has 11 values of x at an instance in the arm 'claim'; the settings have 12"),
        ("d_thm4_4", "thm4_4/near", "has 4 values of x at an instance in the arm 'claim'; the settings have 5"),
    ],
)
def test_all_instances_together_do_not_lose_their_smallest_x(key, quantity, words):
    """Where every instance has x of its own, their number is compared."""
    frame = committed("quick", key)
    place = ["arm", "case", "layer", "dtype", "seed", "step"]
    smallest = (frame["quantity"] == quantity) & (
        frame["x"] == frame.groupby(["quantity", *place])["x"].transform("min")
    )
    with pytest.raises(ContractError, match=words):
        refuse_incomplete(Rows(frame[~smallest]), module(key), "quick")


@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_no_grid_is_loose(scale):
    """Identities have the precisions, layers, steps and x that their claim declares, and no others.

    The layers of C.lemD.2 are the numbers of its Q, and the settings of a scale decide how many there are.
    """
    by_chance = {"a_ols", "lem4/ratio"}  # the printed inverse of wide H; the steps at which a ratio exists
    own_x = {"fact/ratio", "thm4_4/ratio", "prop2/gap", "prop2/nc1"}  # path of each network; random kernels; x is step
    loose = []
    for key in (key for at, key in COMMITTED if at == scale and module(key).KIND != "statistical"):
        claim, frame = module(key), committed(scale, key)
        for quantity in {name for statement in claim.STATEMENTS for name in statement.reads} & set(frame["quantity"]):
            rows = frame[(frame["arm"] == "claim") & (frame["quantity"] == quantity) & (frame["case"] != FOUND)]
            grid = getattr(claim, "GRIDS", {}).get(quantity, Grid())
            for column, declared in (
                ("dtype", grid.dtypes),
                ("layer", grid.layers),
                ("step", grid.steps),
                ("x", grid.x),
            ):
                values = set(rows[column])
                if (column == "layer" and key == "c_lemd_2") or (column == "x" and quantity in own_x):
                    continue
                declared_of = {"layer": grid.layers_of, "step": grid.steps_of}.get(column)
                if declared_of and not {key, quantity} & by_chance:
                    of_instances = rows.groupby(["case", "seed"])[column].agg(set).items()
                    loose += [
                        (key, quantity, *instance)
                        for instance, present in of_instances
                        if present != set(declared_of(*instance))
                    ]
                if declared_of and not declared:
                    continue
                if isinstance(declared, tuple) and values != set(declared) and (declared or len(values) > 1):
                    loose.append((key, quantity, column, sorted(values)))
    assert loose == []


@pytest.mark.parametrize(
    ("key", "quantity", "values"),
    [
        ("c_thm3_4", "thm3.4/fact", tuple(c_quadratic.EPSILONS)),
        ("d_thm4_3", "thm4_3/kappa", tuple(d_thm4_3.FRACTIONS)),
        ("c_thm3_1", "fact/error", len(critical_points.RAYS)),
        ("d_thm4_3", "thm4_3/ratio", len(d_thm4_3.FRACTIONS)),
    ],
)
def test_a_grid_is_that_of_its_experiment(key, quantity, values):
    assert module(key).GRIDS[quantity].x == values


@pytest.mark.parametrize(
    ("lost", "words"),
    [
        ({"layer": "far 0, ε = 0.5", "quantity": "thm4_3/ratio"}, "case n = 2, λ_Φ = 0.1, layer far 0"),
        ({"layer": "far 0", "quantity": "thm4_3/psi"}, "layer far 0"),
        ({"step": 11, "quantity": "thm4_3/collapsed"}, "has 11 values of step .*have 12"),
    ],
)
def test_the_control_beyond_the_condition_has_the_claims_data(lost, words):
    """Its epsilon is its own; its kinds of data are those of the claim."""
    arm = "control: condition violated"
    frame = committed("quick", "d_thm4_3")
    fault = pd.Series(True, frame.index)
    for column, value in {"arm": arm, **lost}.items():
        fault &= frame[column] == value
    assert fault.any(), "the fault is not planted"
    with pytest.raises(ContractError, match=words) as error:
        refuse_incomplete(Rows(frame[~fault]), module("d_thm4_3"), "quick")
    assert arm in str(error.value)


@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_no_least_number_of_cases_is_loose(scale):
    """Of each statement, the quantity with the fewest kinds of cases has just as many as the statement needs."""
    keys = [key for at, key in COMMITTED if at == scale]
    loose = []
    for key in keys:
        # of each kind a row is enough, and a table may have a million
        claim, frame = module(key), committed(scale, key).drop_duplicates(["arm", "quantity", "case"])
        rows = Rows(frame[frame["arm"] == "claim"])
        for statement in claim.STATEMENTS:
            read = statement.rows_read(rows).frame
            if scale not in statement.scales or not statement.judgeable(rows) or read.empty:
                continue
            kinds = instances(claim, read).groupby("quantity")["kind"].nunique()
            if kinds.min() != statement.least_cases(scale):
                loose.append((key, statement.name, kinds.min(), statement.least_cases(scale)))
    assert len(keys) > 50
    assert loose == []


@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_numbers_of_cases_that_differ_between_scales_are_those_of_the_settings(scale):
    settings = load(scale)
    widths = {tuple(network.model.hidden) for network in settings.train["a_fig8"].by_variant().values()}
    generated, benchmarks = settings.train["a_fig10"], settings.train["a_fig2"]
    images, photos = ({network.part for network in run.by_variant().values()} for run in (generated, benchmarks))
    promised = {
        "a_fig8": len(widths),
        "a_fig3": len(widths),
        "a_fig10": len(images) * len(generated.grid.beta),
        "a_fig2": len(photos) * len(benchmarks.grid.lr),
    }
    for key, number in promised.items():
        assert module(key).STATEMENTS[0].least_cases(scale) == number, key


@pytest.mark.parametrize(
    ("case", "kind", "instance"),
    [
        ("low rank, tall, 12", "low rank, tall", 12), ("spread 12", "spread", 12), ("12: relu, skip", "drawn", 12),
        ("relu", "relu", None), ("C = 1, n = 5", "C = 1, n = 5", None), ("r = 1", "r = 1", None),
        ("ResNet-18", "ResNet-18", None), ("12", "drawn", 12), ("relu^2, 2 layers", "relu^2, 2 layers", None),
    ],
)  # fmt: skip
def test_the_kind_of_a_case_and_its_instance(case, kind, instance):
    assert kind_and_instance(case) == (kind, instance)


@pytest.mark.parametrize(
    "parts",
    [
        {"cases": ("one",)}, {"lacks": ("one",)}, {"least_share": 0.9}, {"parts": ("case",)},
        {"ignored_in_layers": "b"}, {"grids": {"q": Grid(x=1)}},
    ],
)  # fmt: skip
def test_a_control_says_why_its_parts_are_others(parts):
    with pytest.raises(ValueError, match="say why a control's parts"):
        Control(**parts)
    Control(**parts, parts_because="Why.")
