"""The settings beside a claim, against params.yaml as it is written."""

from tasks.papers.fact.claims.c_fig1 import CONCERNS
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
    settings, written = load("paper"), read()["data"]["benchmarks"]["paper"]
    missing = [name for name in written["sets"] if name not in written["affordable"]]
    assert left_out(settings, "a_fig2") == [f"{name} left out" for name in missing]
    assert left_out(settings, "a_fig2", ["SVHN"]) == ["SVHN left out"]
    assert left_out(settings, "a_fig2", ["MNIST"]) == []


def test_a_reduced_training_names_what_it_replaces_and_keeps_its_settings():
    settings = load("paper")
    written = read()["fact"]["train"]["c_fig8"]["paper"]
    wide = {"MNIST": written["variants"]["MNIST"]["model"]["hidden"], "CIFAR-10": written["model"]["hidden"]}
    run = written["affordable"]["model"]["hidden"]
    assert set(left_out(settings, "c_fig8")) == {f"{name}: hidden {run} instead of {wide[name]}" for name in wide}
    assert left_out(settings, "c_fig10", ["CIFAR-10"]) == [f"hidden {run} instead of {wide['CIFAR-10']}"]
    for _ in range(2):  # the first call must not change what the second shows
        by_name = {row["name"]: row for row in settings_of(settings, "c_fig8")}
        assert (by_name["train.model.hidden"]["paper"], by_name["train.model.hidden"]["run"]) == (wide["CIFAR-10"], run)


def test_a_training_on_fewer_sets_and_samples_names_them():
    assert left_out(load("quick"), "d_fig11") == []
    resnet = read()["neural_collapse"]["train"]["d_resnet18"]["paper"]
    reduced = resnet["affordable"]
    notes = left_out(load("paper"), "d_fig11")
    assert notes[:2] == [f"{name} left out" for name in resnet["sets"] if name not in reduced["sets"]]
    assert f"samples {reduced['samples']} instead of all" in notes
    assert f"lr {reduced['lr']} instead of {resnet['lr']}" in notes


def test_parts_that_do_not_concern_a_claim_are_not_listed():
    parities = read()["fact"]["simulate"]["c_parity"]["paper"]["parities"]
    (missing,) = [parity for parity in parities if parity["samples"] == 50000]
    assert left_out(load("paper"), "c_fig5") == ["degree 4, dimension 50, samples 50000 left out"]
    assert left_out(load("paper"), "c_fig1", concerns=CONCERNS) == []
    assert left_out(load("paper"), "c_fig1", concerns={"degree": missing["degree"]}) == left_out(
        load("paper"), "c_fig5"
    )
