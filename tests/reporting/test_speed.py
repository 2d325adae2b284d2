"""What the report says of the times beside other programs."""

import json

from tasks.reporting import speed


def row(low, ratio, high, quantity="`enfa`"):
    return {"peer": "p", "version": "1", "quantity": quantity, "size": "n = 1", "difference": 1e-7, "seconds": 0.1,
            "ratio": ratio, "low": low, "high": high, "rounds": 3, "load": low}  # fmt: skip


def test_faster_and_slower_are_those_of_every_round(tmp_path):
    path = tmp_path / "results.json"
    pairs = [row(1.1, 1.2, 1.4), row(0.9, 1.2, 1.4), row(0.5, 0.6, 0.7), row(2.0, 3.0, 4.0)]
    path.write_text(json.dumps({"machine": "m", "date": "d", "versions": {}, "pairs": pairs}))
    comparison = speed.compared(path)
    assert comparison["counts"] == {"faster": 2, "slower": 1, "neither": 1}
    assert [pair["faster"] for pair in comparison["pairs"]] == ["faster", "neither", "slower", "faster"]
    assert comparison["loads"] == (0.5, 2.0)


def test_without_results_there_is_nothing_to_show(tmp_path):
    assert speed.compared(tmp_path / "results.json") is None
    assert speed.grown(tmp_path / "growth.json") is None


def test_code_is_marked_and_the_rest_escaped():
    assert str(speed.code("`a<b` & c")) == "<code>a&lt;b</code> &amp; c"
