"""The settings beside a claim, against params.yaml as it is written."""

from tasks.reporting.settings import left_out, settings_of
from tasks.settings import load, read


def test_each_scale_has_its_own_column_and_differences_come_first():
    rows = settings_of(load("quick"), "a_fig4")
    written = read()["weight_gram"]["train"]["a_fig4"]
    by_name = {row["name"]: row for row in rows}
    for name, value in written["quick"].items():
        if isinstance(value, int | float) and name in written["paper"]:
            row = by_name[f"train.{name}"]
            assert (row["paper"], row["quick"]) == (written["paper"][name], value)
    same = [row["same"] for row in rows]
    assert True in same
    assert False in same
    assert same == sorted(same)


def test_a_claim_on_one_data_set_goes_without_that_one_alone():
    settings = load("paper")
    assert left_out(settings, "a_fig2") == [f"{name} left out" for name in settings.missing_sets("a_fig2")]
    assert left_out(settings, "a_fig2", ["SVHN"]) == ["SVHN left out"]
    assert left_out(settings, "a_fig2", ["MNIST"]) == []
