"""Mistakes in params.yaml and on the command line: one line that names the key, exit status 2, nothing written."""

import copy
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tasks.reporting.settings import left_out
from tasks.settings import Settings, load, read

ROOT = Path(__file__).resolve().parent.parent


SECTIONS = ("data", "train", "simulate", "claims")


def changed(path: str, value, drop: bool = False) -> dict:
    """params.yaml with another value at this path, in which the paper may be left out."""
    raw = copy.deepcopy(read())
    *parents, last = path.split(".")
    if parents and parents[0] in SECTIONS[1:]:
        parents.insert(0, load("quick").paper[(*parents, last)[1]])
    at = raw
    for name in parents:
        at = at[name]
    if drop:
        del at[last]
    else:
        at[last] = value
    return raw


def read_all(raw: dict, scale: str = "quick") -> Settings:
    """The settings, after every entry was read and so validated."""
    settings = Settings(raw, scale)
    for section in SECTIONS:
        list(getattr(settings, section).values())
    return settings


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("train.a_fig7.quick.lr", -0.1, ["train.a_fig7.quick.lr", "greater than 0", "-0.1"]),
        ("train.a_fig7.paper.seeds", 0, ["train.a_fig7.paper.seeds", "greater than or equal to 1"]),
        ("train.a_fig7.paper.lr", "fast", ["train.a_fig7.paper.lr", "valid number", "'fast'"]),
        ("train.a_fig7.paper.lr", float("nan"), ["train.a_fig7.paper.lr"]),
        ("train.a_fig7.paper.lr", True, ["train.a_fig7.paper", "lr must not be True"]),
        ("train.a_fig7.paper.seeds", False, ["train.a_fig7.paper", "seeds must not be False"]),
        (
            "train.a_fig7.paper.model.hidden",
            [256, True],
            ["train.a_fig7.paper.model", "hidden must not be [256, True]"],
        ),
        ("simulate.d_deep_rfm.quick.samples", True, ["simulate.d_deep_rfm.quick", "samples must not be True"]),
        ("data.photos.quick.train", True, ["data.photos.quick", "train must not be True"]),
        ("train.a_fig7.paper.arms", {"text": {}}, ["train.a_fig7.paper", "arms must have sets"]),
        (
            "train.a_fig7.paper.affordable",
            {"data": "digits"},
            ["a_fig7.paper.affordable.data", "the set that paper names"],
        ),
        ("train.a_fig7.paper.epochs", 1.5, ["train.a_fig7.paper.epochs", "valid integer"]),
        ("train.a_fig7.quick.learning_rate", 0.1, ["train.a_fig7.quick.learning_rate", "allowed:", "momentum"]),
        ("train.a_fig7.paper.model.activation", "gleu", ["train.a_fig7.paper.model.activation", "'gelu'"]),
        ("train.a_fig7.paper.data", "photographs", ["train.a_fig7", "photographs", "allowed: photos"]),
        ("data.photos.paper.source", "imagenet", ["data.photos.paper.source", "'cifar10'"]),
        ("data.photos.paper", {"source": "folder"}, ["data.photos.paper", "path must be given"]),
        ("simulate.d_deep_rfm.paper.affordable", {"sample": 5000}, ["simulate.d_deep_rfm.paper", "sample"]),
        ("train.a_fig7.paper.affordable", {"epoch": 5}, ["train.a_fig7.paper", "epoch"]),
        ("data.photos.paper", {"sets": {"A": {"source": "imagenet"}}}, ["photos.paper.sets.A.source", "'cifar10'"]),
        ("data.photos.paper", {"sets": {"A": None}}, ["data.photos.paper", "no set is left"]),
        (
            "data.photos.paper",
            {"sets": {"A": {"source": "svhn"}}, "affordable": ["B"]},
            ["data.photos.paper", "no set B", "allowed: A"],
        ),
        ("data.photos.paper", {"sets": {"A": {"source": "svhn"}}, "train": 9}, ["data.photos.paper.train", "allowed:"]),
        (
            "data.photos",
            {"paper": {"sets": {"A": {"source": "svhn"}}}, "quick": {}},
            ["train.a_differences.*.part", "no set ''", "allowed: A"],
        ),
        ("train.a_fig7.paper.part", "A", ["train.a_fig7.*.part", "no set 'A'"]),
        ("simulate.a_tl.medium", {}, ["simulate.a_tl", "must hold paper, may hold quick, and nothing else"]),
        ("simulate.a_tl", {"quick": {"instances": 2}}, ["simulate.a_tl", "must hold paper"]),
        ("simulate.a_tl.quick", None, ["simulate.a_tl", "settings by name"]),
        ("claims.a_tl", "a_tll", ["claims.a_tl", "no experiment 'a_tll'", "did you mean 'a_tl'?"]),
        ("train.a_tl", {"paper": {}, "quick": {}}, ["a_tl", "two entries have this key"]),
        ("simulate.a_tl.paper", {"instances": 2, "modulus": 7}, ["a_tl.paper.modulus", "allowed: affordable"]),
        ("train.a_fig7.quick", {"data": "few_photos"}, ["train.a_fig7.quick.data", "both scales"]),
        ("train.a_fig7.quick", [1], ["train.a_fig7", "settings by name"]),
        ("data.photos.paper", None, ["data.photos", "settings by name"]),
        ("data", None, ["section data is missing"]),
        ("weight_gram.claim", {}, ["weight_gram: unknown section 'claim'", "did you mean 'claims'?"]),
        ("train.a_fig2.paper.variants", {"../up": {"part": "MNIST"}}, ["variant '../up'", "make a name"]),
        ("train.a_fig9.paper.momentum", 0.9, ["train.a_fig9", "momentum has no effect with adam"]),
        ("train.a_fig7.paper.grid", {"beta": [1, 2]}, ["train.a_fig7", "beta has no effect with loss"]),
        (
            "train.a_fig2.quick.arms.whitened",
            {"optimizer": "adam", "method": "ten-steps"},
            ["variant digits whitened", "method has no effect with adam"],
        ),
        ("machine.device", "tpu", ["machine.device", "'cuda'"]),
        ("machines", {}, ["unknown section 'machines'", "did you mean 'machine'?"]),
        ("data", [1], ["data must hold entries by name, not [1]"]),
        ("weight_gram", [1], ["weight_gram must hold entries by name, not [1]"]),
        ("weight_gram", "text", ["weight_gram must hold entries by name, not 'text'"]),
        ("weight_gram", {5: {}}, ["weight_gram: a name must be text, not 5"]),
        ("weight_gram", {None: {}}, ["weight_gram: a name must be text, not None"]),
        ("weight_gram.train", 5, ["weight_gram.train must hold entries by name, not 5"]),
        ("weight_gram.train", [{"a_fig7": 1}], ["weight_gram.train must hold entries by name, not [{'a_fig7': 1}]"]),
        ("weight_gram.claims", {0: "a_tl"}, ["weight_gram.claims: a name must be text, not 0; write it in quotes"]),
        ("train.a_fig7", [1], ["train.a_fig7 must hold paper"]),
        ("train.a_fig7", None, ["train.a_fig7 must hold paper"]),
        ("claims.a_fig7", ["a_fig7"], ["claims.a_fig7: no experiment ['a_fig7']; did you mean 'a_fig7'?; allowed: "]),
        ("train.a_fig2.paper.variants", {"x": [1]}, ["train.a_fig2.paper.variants.x", "valid dictionary, not [1]"]),
        ("train.a_fig2.paper.variants", {"x": {"lr": -1}}, ["train.a_fig2.paper: variant x: lr: ", "than 0, not -1\n"]),
        ("train.a_fig2.paper.lr", {"a": [1] * 99}, ["train.a_fig2.paper.lr: ", "not {'a': [1, 1, 1,", "...\n"]),
    ],
)
def test_a_mistake_is_one_line_that_names_the_key(path, value, says, capsys):
    with pytest.raises(SystemExit) as stopped:
        read_all(changed(path, value))
    line = capsys.readouterr().err
    assert stopped.value.code == 2
    assert line.count("\n") == 1
    assert line.startswith("params.yaml: ")
    assert all(part in line for part in says), line
    assert ": :" not in line, "a place without a name"
    assert "'optimizer': " not in line, "the whole entry is shown"


def test_an_entry_without_quick_has_the_papers_settings_at_both_scales():
    for section, key in (("data", "photos"), ("train", "a_fig7"), ("simulate", "a_tl")):
        raw = changed(f"{section}.{key}.quick", None, drop=True)
        quick, paper = (getattr(Settings(raw, scale), section)[key] for scale in ("quick", "paper"))
        assert quick == paper
        assert quick != getattr(load("quick"), section)[key]


def test_a_missing_key_is_named(capsys):
    with pytest.raises(SystemExit):
        read_all(changed("train.a_fig7.paper.lr", None, drop=True))
    assert "train.a_fig7.paper.lr: Field required" in capsys.readouterr().err


def test_a_mistyped_key_is_named_with_the_nearest_one(capsys):
    raw = changed("train.a_fig4.paper.lr", None, drop=True)
    raw["weight_gram"]["train"]["a_fig4"]["paper"]["lrr"] = 0.005
    with pytest.raises(SystemExit):
        Settings(raw, "paper").train["a_fig4"]
    assert "a_fig4.paper.lrr: unknown key; did you mean 'lr'?; allowed: " in capsys.readouterr().err


@pytest.mark.parametrize(("section", "file"), [
    ("train", "experiments"), ("simulate", "experiments"), ("claims", "claims"),
])  # fmt: skip
def test_a_key_without_a_file_is_named_with_the_nearest_one(section, file, capsys):
    raw = copy.deepcopy(read())
    entries = raw["weight_gram"][section]
    key = {"train": "a_fig7", "simulate": "a_prop1", "claims": "a_fig7"}[section]
    entries[f"{key}x"] = entries.pop(key)
    with pytest.raises(SystemExit):
        getattr(Settings(raw, "quick"), section)[f"{key}x"]
    assert capsys.readouterr().err == (
        f"params.yaml: weight_gram.{section}.{key}x: there is no file "
        f"tasks/papers/weight_gram/{file}/{key}x.py; did you mean {key!r}?\n"
    )


def test_a_mistake_in_an_entry_leaves_the_others_alone():
    settings = Settings(changed("train.a_fig7.quick.lr", -0.1), "quick")
    assert settings.train["a_fig4"].lr == 0.1
    assert settings.claims["a_fig7"] == "a_fig7"
    with pytest.raises(SystemExit):
        settings.train["a_fig7"]


def test_a_setting_of_another_experiment_is_refused(capsys):
    """Each experiment has a settings class of its own."""
    for key, setting in (("a_tl", "modulus"), ("a_prop1", "balances"), ("a_thm4", "parities")):
        with pytest.raises(SystemExit):
            Settings(changed(f"simulate.{key}.paper.{setting}", 5), "paper").simulate[key]
        assert f"{key}.paper.{setting}: unknown key" in capsys.readouterr().err


def test_quick_is_laid_over_paper():
    quick, paper = load("quick").train["a_fig4"], load("paper").train["a_fig4"]
    assert (paper.lr, paper.epochs, paper.momentum) == (0.005, 100, 0.0)
    assert (quick.lr, quick.model) == (0.1, paper.model)
    assert paper.epochs_kept()[:2] == (0, 5)
    assert paper.epochs_kept()[-1] == 100


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["train", "a_fig99"], "unknown training run 'a_fig99'; did you mean 'a_fig9'?; allowed: a_fig1"),
        (["check", "a_eq9"], "unknown claim 'a_eq9'; did you mean 'a_eq2'?; allowed: a_eq1"),
        (["measure", "nothing"], "unknown experiment 'nothing'; allowed: a_fig1"),
        (["prepare", "cifar"], "unknown data set 'cifar'; allowed: photos"),
        (["train", "a_fig4", "--scale", "huge"], "unknown scale 'huge'; allowed: quick, paper"),
    ],
)
def test_unknown_names_on_the_command_line(arguments, says):
    stage, *options = arguments
    done = subprocess.run([sys.executable, "-m", f"tasks.{stage}", *options], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(says)
    assert done.stderr.count("\n") == 1


def test_the_data_root_is_a_parameter_and_an_environment_variable(monkeypatch):
    machine = load("quick").machine
    monkeypatch.delenv("GRAMLAB_DATA", raising=False)
    assert machine.root() == ROOT / machine.data_root
    monkeypatch.setenv("GRAMLAB_DATA", os.sep + "elsewhere")
    assert str(machine.root()) == "/elsewhere"


@pytest.mark.parametrize("by", ["parameter", "variable"])
def test_the_data_root_may_begin_at_the_home_or_the_projects_folder(by, monkeypatch, tmp_path):
    """Wherever a command is typed: stages run in the project's folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for written, root in (("~/sets", tmp_path / "home/sets"), ("../sets", ROOT / "../sets"), ("sets", ROOT / "sets")):
        monkeypatch.setenv("GRAMLAB_DATA", written if by == "variable" else "")
        raw = changed("machine.data_root", written if by == "parameter" else "data/raw")
        assert Settings(raw, "quick").machine.root() == root


def test_a_data_root_of_no_user_is_one_line():
    done = subprocess.run(
        [sys.executable, "-m", "tasks.prepare", "photos"], cwd=ROOT, env={**os.environ, "GRAMLAB_DATA": "~nobody-here"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "prepare@photos: GRAMLAB_DATA: ~nobody-here begins with no user of this machine\n"


def test_variants_of_sets_that_are_not_prepared_are_left_out():
    sets = {"A": {"source": "mnist"}, "B": {"source": "svhn"}, "C": {"source": "cifar10"}}
    reduced = {"sets": {"A": {"source": "digits"}, "B": None, "C": None}}
    raw = changed("data.photos", {"paper": {"sets": sets, "affordable": ["A", "C"]}, "quick": reduced})
    run = raw["weight_gram"]["train"]["a_fig7"]
    run["paper"]["variants"] = {f"on {part}": {"part": part} for part in "ABC"}
    paper, quick = (Settings(raw, scale) for scale in ("paper", "quick"))
    assert [variant.part for variant in paper.train["a_fig7"].by_variant().values()] == ["A", "C"]
    assert list(quick.train["a_fig7"].variants) == ["on A"]
    assert left_out(paper, "a_fig7") == ["B left out"]
    del run["paper"]["variants"]["on A"]
    with pytest.raises(SystemExit):
        Settings(raw, "quick").train["a_fig7"]


@pytest.mark.parametrize(
    ("affordable", "is_reduced"),
    [(None, False), ({}, False), ({"sets": ["A"], "seeds": 2, "snapshots": 5}, False), ({"samples": 50}, True),
     ({"seeds": 2, "lr": 0.2}, True)],
)  # fmt: skip
def test_a_run_is_reduced_if_its_networks_train_otherwise(affordable, is_reduced):
    """Fewer networks, data sets and measured epochs leave each network's training as it is printed."""
    raw = changed("train.a_fig7.paper.affordable", affordable)
    assert Settings(raw, "paper").reduced("a_fig7") is is_reduced
    assert not Settings(raw, "quick").reduced("a_fig7")


def test_a_machine_runs_what_it_affords_at_the_papers_scale_alone():
    raw = changed("train.a_fig7.paper", {**read()["weight_gram"]["train"]["a_fig7"]["paper"], "seeds": 5})
    run = raw["weight_gram"]["train"]["a_fig7"]
    run["paper"]["variants"] = {"small": {"samples": 50}, "large": {}}
    run["paper"]["affordable"] = {"seeds": 2, "variants": {"small": {"samples": 50}}}
    paper, quick = (Settings(raw, scale).train["a_fig7"] for scale in ("paper", "quick"))
    assert (paper.seeds, list(paper.by_variant())) == (2, ["small"])
    assert (quick.seeds, list(quick.by_variant())) == (5, ["small", "large"])


def test_every_set_trains_every_arm():
    sets = {"A": {"source": "mnist"}, "B": {"source": "svhn"}}
    raw = changed("data.photos", {"paper": {"sets": sets}, "quick": {}})
    run = raw["weight_gram"]["train"]["a_fig7"]
    run["paper"] |= {"sets": ["A", "B"], "arms": {"slow": {"lr": 0.1}, "fast": {"lr": 0.4}},
                     "variants": {"B fast": {"lr": 0.3}, "A slow": None}}  # fmt: skip
    variants = Settings(raw, "paper").train["a_fig7"].by_variant()
    assert {name: (variant.part, variant.lr) for name, variant in variants.items()} == {
        "A fast": ("A", 0.4), "B slow": ("B", 0.1), "B fast": ("B", 0.3)
    }  # fmt: skip
    run["paper"] |= {"arms": {}, "variants": {}}
    variants = Settings(raw, "paper").train["a_fig7"].by_variant()
    assert {name: variant.part for name, variant in variants.items()} == {"A": "A", "B": "B"}


def test_a_variant_is_left_out_by_null():
    raw = read()
    runs = raw["weight_gram"]["train"]
    runs["a_fig7"] = {
        "paper": {**runs["a_fig7"]["paper"], "variants": {"slow": {}, "fast": {"lr": 1.0}}},
        "quick": {"variants": {"slow": None}},
    }
    assert list(Settings(raw, "paper").train["a_fig7"].by_variant()) == ["slow", "fast"]
    assert list(Settings(raw, "quick").train["a_fig7"].variants) == ["fast"]
    runs["a_fig7"]["quick"]["variants"]["fast"] = None
    with pytest.raises(SystemExit):
        Settings(raw, "quick").train["a_fig7"]


def test_a_stages_linear_algebra_has_the_threads_of_the_settings():
    program = (
        "from tasks import settings, stage; stage.compute(settings.load('quick'))\n"
        "import numpy, scipy.linalg, torch; from threadpoolctl import threadpool_info\n"
        "print([one['num_threads'] for one in threadpool_info()], torch.get_num_threads())"
    )
    free = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run([sys.executable, "-c", program], env=free, capture_output=True, text=True, check=True)
    assert set(done.stdout) <= set("[1, ]\n"), done.stdout


def test_the_threads_are_set_before_an_experiment_loads_numpy():
    program = (
        "import sys; from tasks import measure, stage; sys.argv = ['measure', 'b_fig3']\n"
        "stage.compute = lambda settings: sys.exit('numpy' in sys.modules)\n"
        "measure.main()"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_machine_said_to_have_no_gpu_shows_none_to_the_kernel_machines_either():
    program = (
        "import os; from tasks import settings, stage; found = settings.load('quick')\n"
        "found.machine = found.machine.model_copy(update={'device': 'cpu'})\n"
        "print(stage.compute(found), repr(os.environ['CUDA_VISIBLE_DEVICES']))"
    )
    seeing = {**os.environ, "CUDA_VISIBLE_DEVICES": "0"}
    done = subprocess.run([sys.executable, "-c", program], env=seeing, capture_output=True, text=True, check=True)
    assert done.stdout == "cpu ''\n"


def test_the_stream_root_of_the_environment_has_the_last_word_outside_of_dvc(monkeypatch, capsys):
    """DVC records the root of params.yaml, so that within DVC no other root may be used."""
    monkeypatch.delenv("DVC_STAGE", raising=False)
    monkeypatch.setenv("GRAMLAB_STREAM_ROOT", "7")
    assert load("quick").streams.root == 7
    monkeypatch.setenv("DVC_STAGE", "pipeline/quick/data/dvc.yaml:prepare@photos")
    assert load("quick").streams.root == read()["streams"]["root"] == 0
    monkeypatch.delenv("DVC_STAGE")
    monkeypatch.setenv("GRAMLAB_STREAM_ROOT", "seven")
    with pytest.raises(SystemExit):
        load("quick")
    assert "streams.root" in capsys.readouterr().err
