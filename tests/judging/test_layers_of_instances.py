"""An instance of an identity that lost a layer, a step or an x in all arms is refused, though others have it."""

import pandas as pd
import pytest
from test_instances import at_fault, judged
from test_parts_of_controls import committed, module

from tasks.judging.contract import ContractError
from tasks.judging.parts import refuse_incomplete
from tasks.judging.rows import Rows


def lost(key: str, **values) -> pd.DataFrame:
    """The rows of the claim's committed table without those that have these values, in whatever arm."""
    frame = committed("quick", key)
    fault = at_fault(frame, **values)
    assert fault.any(), "the fault is not planted"
    return frame[~fault]


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("a_eq1", {"quantity": "eq1/residual", "case": "3: ", "layer": "4"}),
        ("a_eq1", {"quantity": "eq1/convolution", "case": "5: ", "layer": "2"}),
        ("a_eq1", {"quantity": "eq1/residual", "case": "transformer block", "layer": "query"}),
        ("a_eq2", {"quantity": "eq2/remainder", "case": "1: ", "layer": "3.a"}),
        ("a_thm1", {"quantity": "thm1/remainder", "case": "a dead layer", "layer": "4"}),
        ("a_thm1", {"quantity": "thm1/residual", "case": "ResNet-18", "layer": "conv1"}),
        ("a_ols", {"case": "tall, 3", "layer": "printed inverse"}),
        ("a_lem5", {"quantity": "lem5/ratio", "case": "labels", "seed": 7, "layer": "near the best"}),
        ("b_prop2", {"quantity": "prop2/residual", "case": "1: ", "layer": "2.b"}),
        ("b_prop2", {"quantity": "prop2/residual", "case": "a dead layer", "layer": "5"}),
        ("b_prop3", {"case": "7: ", "layer": "1, NFM"}),
        ("b_prop4", {"quantity": "prop4/nfm", "case": "5: ", "layer": "2"}),
        ("c_thm3_1", {"quantity": "fact/error", "case": "2: ", "layer": "second"}),
        ("d_alg1", {"quantity": "alg1/agop", "case": "gaussian, relu", "seed": 3, "layer": "1"}),
        ("d_thm4_3", {"quantity": "thm4_3/ratio", "case": "n = 6, λ_Φ = 0.1", "layer": "far 0, ε = 0.9"}),
        ("d_thm4_4", {"quantity": "thm4_4/near", "layer": "C = 2, n = 3", "seed": 3}),
    ],
)
def test_a_layer_of_an_instance(key, values):
    with pytest.raises(ContractError, match=f"no rows of the layer {values['layer']} at case {values.get('case', '')}"):
        refuse_incomplete(Rows(lost(key, **values)), module(key), "quick")


@pytest.mark.parametrize(
    ("key", "values", "words"),
    [
        ("a_lem4", {"quantity": "lem4/violated", "case": "trained", "seed": 3, "step": 30}, "rows of the step 30"),
        ("a_prop3", {"quantity": "prop3/ratio", "case": "trained", "seed": 3, "step": 30}, "rows of the step 30"),
        ("a_prop2", {"quantity": "prop2/gap", "seed": 3, "step": 0}, "has 20 values of step .*the settings have 21"),
        ("c_lemd_2", {"quantity": "lemd2/ratio", "layer": "3", "step": 9}, "has 15 values of step .*have 16"),
    ],
)
def test_a_step_of_an_instance(key, values, words):
    with pytest.raises(ContractError, match=words):
        refuse_incomplete(Rows(lost(key, **values)), module(key), "quick")


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("c_thm3_4", {"quantity": "thm3.4/correlation", "case": "s = 0.5", "x": 2.0**-8}),
        ("d_propa_1", {"quantity": "propA1/remainder", "case": "r = 0.8", "x": 0.125}),
    ],
)
def test_an_x_of_an_instance_whose_number_the_settings_do_not_say(key, values):
    with pytest.raises(ContractError, match=r"has \d+ to \d+ rows in the arm .*; the fewest at case"):
        judged(lost(key, **values), key)


def test_chance_decides_which_wide_matrices_have_the_printed_inverse():
    """They need d = 2; the claim's function names no others."""
    layers_of = module("a_ols").GRIDS["ols/residual"].layers_of
    frame = committed("paper", "a_ols")
    wide = frame[at_fault(frame, arm="claim", case="wide")]
    assert 0 < wide.loc[wide["layer"] == "printed inverse", "case"].nunique() < wide["case"].nunique()
    assert layers_of("wide, 3", 0) == ("least squares",)
