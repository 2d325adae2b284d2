"""A printed form that Holm's correction takes away is judged by its corrected form, with the controls of that form."""

import json

import pytest
from planted_claims import claim, rows, table

from tasks.judging.finding import find
from tasks.judging.rules import ALPHA
from tasks.judging.verdict import judge

BARELY, CLEARLY = [0.7, 1.0, 1.3], [1.99, 2.0, 2.01]  # by Student's t test p = 0.014 and p = 4e-6
REJECTED, KEPT = [-1.0, -1.1, -1.2], [2.0, 2.1, 2.3]


def judged(arms: dict[str, list[float]], waiting: int = 1) -> dict:
    """The verdict on a claim beside as many others that have not run."""
    finding = find(claim(), "A", rows(table(arms)), "e", "quick", {3})
    return judge({"a_test": json.loads(json.dumps(finding))}, waiting)["a_test"]


def test_the_print_is_found_alone_and_lost_to_holm_beside_another_claim():
    arms = {"claim": BARELY, "corrected": CLEARLY, "control: c": REJECTED}
    alone, beside = judged(arms, waiting=0), judged(arms)
    assert (alone["verdict"], alone["statements"][0]["form"]) == ("holds", "printed")
    assert (beside["verdict"], beside["statements"][0]["form"]) == ("holds corrected", "corrected")
    printed = beside["statements"][0]["forms"]["claim"]
    assert printed["p"] < ALPHA < printed["p, Holm"] == pytest.approx(2 * printed["p"])


@pytest.mark.parametrize(
    ("control", "waiting", "rejected"),
    [
        (BARELY, 0, False),  # as a claim it would be found
        (BARELY, 1, True),  # p is 0.028 after correction: undecided, and unlike the claim
        ([-value for value in BARELY], 0, True),
        ([-value for value in BARELY], 1, True),
        (CLEARLY, 1, False),
    ],
)
def test_a_control_is_corrected_as_its_claim_is(control, waiting, rejected):
    result = judged({"claim": [1.995, 2.0, 2.006], "control: c": control}, waiting)
    (form,) = result["statements"][0]["forms"].values()
    of_control = form["controls"]["c"]
    assert (of_control["rejected"], result["verdict"]) == (rejected, "holds" if rejected else "inconclusive")
    assert of_control["p, Holm"] == pytest.approx(min(1.0, (1 + waiting) * of_control["p"]))
    assert of_control["undecided"] is (waiting == 1 and control is not CLEARLY)


@pytest.mark.parametrize(
    ("of_print", "of_corrected", "wanted"),
    [
        (REJECTED, REJECTED, ("holds corrected", "")),
        (KEPT, REJECTED, ("holds corrected", "")),
        (REJECTED, KEPT, ("inconclusive", "control kept")),
        (KEPT, KEPT, ("inconclusive", "control kept")),
    ],
)
def test_the_corrected_form_has_its_own_controls_alone(of_print, of_corrected, wanted):
    result = judged({"claim": BARELY, "corrected": CLEARLY, "control: c": of_print, "control: c, corrected":
                     [value + 0.001 for value in of_corrected]})  # fmt: skip
    assert (result["verdict"], result["reason"]) == wanted
    assert result["statements"][0]["form"] == "corrected"
    assert result["controls"] == {
        "c, corrected": {"rejected": of_corrected is REJECTED, "by": ["first"] if of_corrected is REJECTED else []}
    }


def test_a_control_of_both_forms_is_set_against_the_form_that_decides():
    """The control is undecided: it is unlike the corrected form, and it could be just like the print."""
    undecided = [-0.5, 0.6, 1.3]
    result = judged({"claim": BARELY, "corrected": CLEARLY, "control: c": undecided})
    controls = {name: form["controls"]["c"]["rejected"] for name, form in result["statements"][0]["forms"].items()}
    assert controls == {"claim": False, "corrected": False}
    result = judged({"claim": BARELY, "corrected": [10 * value for value in CLEARLY], "control: c": undecided})
    controls = {name: form["controls"]["c"]["rejected"] for name, form in result["statements"][0]["forms"].items()}
    assert controls == {"claim": False, "corrected": True}
    assert (result["verdict"], result["controls"]["c"]["rejected"]) == ("holds corrected", True)
