"""What no control breaks, how many mistakes have no result, and which roots ran: counted on planted results."""

import json

from tasks.reporting import fresh, kept, mutants


def form(holds: dict[str, bool | None], controls: dict[str, dict[str, bool | None]]) -> dict:
    """A form with these parts, and controls with theirs."""

    def of_parts(parts: dict[str, bool | None]) -> dict:
        return {"holds": all(parts.values()), "parts": {name: {"holds": held, "parts": {}}
                                                        for name, held in parts.items()}}  # fmt: skip

    return {**of_parts(holds), "controls": {name: of_parts(parts) for name, parts in controls.items()}}


def claim(of_form: dict, verdict: str = "holds", **more) -> dict:
    statement = {"name": "ahead", "kind": "asserted", "stands in": "", "form": "printed", "forms": {"claim": of_form}}
    return {"verdict": verdict, "statements": [{**statement, **more}]}


PARTS = form(
    {"ReLU": True, "tanh": True, "GELU": True},
    {"shuffled": {"ReLU": True, "tanh": False}, "untrained": {"ReLU": True, "tanh": True}},
)


def test_a_part_that_every_control_keeps_is_listed():
    """ReLU holds of both controls; tanh is broken by one of them; GELU has no control at all."""
    claims = {"A.fig1": claim(PARTS), "A.fig2": claim(PARTS, "fails"), "A.fig3": claim(PARTS, kind="ours")}
    assert kept.parts_kept_by_every_control(claims) == {"A.fig1": {"parts": 2, "kept": ["ahead: ReLU"]}}
    assert kept.number_of_parts(claims) == 2
    undecided = form({"ReLU": True}, {"shuffled": {"ReLU": None}})
    assert kept.parts_kept_by_every_control({"A.fig1": claim(undecided)}) == {}


def test_parts_of_parts_have_the_names_of_both():
    inner = {"MNIST": {"holds": True, "parts": {"ReLU": {"holds": True, "parts": {}}}}}
    nested = {"holds": True, "parts": inner, "controls": {"c": {"holds": True, "parts": inner}}}
    assert kept.parts_kept_by_every_control({"B.x": claim(nested)})["B.x"]["kept"] == ["ahead: MNIST, ReLU"]


def test_the_form_that_decides_is_the_one_that_is_listed():
    broken = form({"ReLU": True}, {"shuffled": {"ReLU": False}})
    both = {"claim": PARTS, "corrected": broken}
    assert kept.parts_kept_by_every_control({"A.x": claim(PARTS, forms=both, form="corrected")}) == {}
    assert kept.parts_kept_by_every_control({"A.x": claim(PARTS, forms=both)}) != {}


def test_statements_that_rest_on_what_stands_in():
    claims = {"A.x": claim(PARTS, **{"stands in": "a null"}), "A.y": claim(PARTS)}
    assert kept.statements_with_stand_in(claims) == [("A.x", "ahead")]


def test_mistakes_without_a_result_are_counted(tmp_path):
    common = {"group": "judging", "kind": "sides", "file": "a.py", "explained": ""}
    results = ["killed", "killed", "survived", "not run", "not run"]
    path = tmp_path / "mutants.json"
    rows = [{**common, "name": str(index), "result": result} for index, result in enumerate(results)]
    rows += [
        {**common, "name": result, "result": "not run", "earlier": {"result": result}}
        for result in ("killed", "survived")
    ]
    path.write_text(json.dumps({"mutants": rows}))
    counts = {name: value for name, value in mutants.summary(path).items() if isinstance(value, int)}
    assert counts == {
        "listed": 7, "planted": 3, "not current": 4, "killed": 2, "earlier": 2, "killed earlier": 1,
    }  # fmt: skip


def test_the_roots_that_ran_and_the_fragile_claims(tmp_path):
    path = tmp_path / "fresh.json"
    claims = {"A.x": {"came back": 3, "runs": 3, "fragile": False}, "A.y": {"came back": 1, "runs": 3, "fragile": True}}
    path.write_text(json.dumps({"roots": {"14": {}, "13": {}, "15": {}}, "claims": claims}))
    assert fresh.summary(path) == {"roots": [13, 14, 15], "verdicts": 6, "came back": 4, "fragile": ["A.y"]}
    assert fresh.summary(tmp_path / "none.json") is None
