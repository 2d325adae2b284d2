"""A training stage with a grid, from its settings to the networks that an experiment reads."""

import math
import sys

import pytest
import torch

from gramlab import tables
from gramlab.data import prepare, save_sets
from gramlab.losses import LOSSES
from tasks import stage, train
from tasks.measuring import run as runs
from tasks.settings import Settings, Train, read

RUN = {"data": "photos", "model": {"hidden": [6], "activation": "gelu"}, "loss": "cross_entropy", "optimizer": "sgd",
       "lr": 0.1, "batch": 20, "epochs": 2, "seeds": 2, "snapshots": 1,
       "grid": {"weight_decay": [0.0, 0.1], "label_noise": [0.0, 0.5]}}  # fmt: skip
SEVERAL = {"sets": {name: {"source": "digits"} for name in ("tens", "fives", "none")}, "affordable": ["tens", "fives"]}


@pytest.fixture
def finished(tmp_path, monkeypatch, request):
    """The training stage after it ran, with other settings and in temporary folders."""
    raw = read()
    raw["data"]["several"] = {"paper": SEVERAL, "quick": {"affordable": SEVERAL["affordable"]}}
    raw["weight_gram"]["train"]["a_fig4"] = {"paper": {**RUN, **getattr(request, "param", {})}, "quick": {}}
    monkeypatch.setattr("tasks.settings.read", lambda: raw)
    monkeypatch.setattr(train, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["train", "a_fig4", "--scale", "quick"])
    train_stage = stage.Stage("train", "a_fig4", "quick")
    train_stage.data = tmp_path / "data"
    monkeypatch.setattr(stage, "arguments", lambda kind: train_stage)
    tens = prepare("digits", tmp_path, train=60, test=20)
    fives = prepare("digits", tmp_path, train=40, test=20, classes=list(range(5)), enlarge=2)
    tens.save(train_stage.dataset("photos"))
    save_sets(train_stage.dataset("several"), {"tens": tens, "fives": fives})
    (tmp_path / "gramlab" / "data").mkdir(parents=True)
    for name in ("losses.py", "streams.py"):
        (tmp_path / "gramlab" / name).touch()
    train.main()
    return train_stage


def values(run, case, seed, quantity, epoch):
    """The values of one quantity in the history of a run."""
    wanted = (case, seed, quantity, float(epoch))
    return [row["value"] for row in run.history if (row["case"], row["seed"], row["quantity"], row["x"]) == wanted]


def test_every_member_is_found_by_seed_and_case(finished):
    run = runs.Run(finished)
    assert run.cases == [
        f"weight_decay={decay},label_noise={noise}" for decay in ("0", "0.1") for noise in ("0", "0.5")
    ]
    x = run.data.scaled(run.data.x_train, torch.float32).flatten(1)
    for case in run.cases:
        for seed in run.seeds:
            loss = LOSSES["cross_entropy"](run.model(2, seed, case)(x), run.labels(seed, case)).mean()
            (value,) = values(run, case, seed, "train_loss", epoch=2)
            assert float(loss.detach()) == pytest.approx(value, rel=1e-5)
    changed = (run.labels(0, run.cases[1]) != run.data.y_train).float().mean()
    assert 0.2 < changed < 0.7  # half of the labels are random, and a tenth of these equal the true ones


VARIANTS = {"variants": {"plain": {}, "wide": {"model": {"hidden": [9]}, "optimizer": "whitened", "epochs": 3}},
            "grid": {"lr": [0.1, 0.2]}}  # fmt: skip


@pytest.mark.parametrize("finished", [VARIANTS], indirect=True)
def test_every_variant_is_a_run(finished):
    variants = runs.Run(finished).variants
    assert [run.epochs[-1] for run in variants.values()] == [2, 3]
    assert variants["wide"].settings.optimizer == "whitened"
    for name, run in variants.items():
        x = run.data.scaled(run.data.x_train, torch.float32).flatten(1)
        for case, seed in ((case, seed) for case in run.cases for seed in run.seeds):
            for epoch in run.epochs:
                model = run.model(epoch, seed, case)
                assert len(model[0].weight) == {"plain": 6, "wide": 9}[name]
                loss = LOSSES["cross_entropy"](model(x), run.data.y_train).mean()
                (value,) = values(run, f"{name},{case}", seed, "train_loss", epoch)
                assert float(loss.detach()) == pytest.approx(value, rel=1e-5)
    assert (finished.run("a_fig4") / "plots" / "wide,lr=0.2" / "train_loss.tsv").is_file()


PARTS = {"data": "several", "variants": {"first": {"part": "tens"}, "second": {"part": "fives", "epochs": 1},
                                         "not affordable": {"part": "none"}}}  # fmt: skip


@pytest.mark.parametrize("finished", [PARTS], indirect=True)
def test_variants_have_the_data_set_that_they_name(finished):
    variants = runs.Run(finished).variants
    sizes = {name: (run.data.classes, run.data.inputs) for name, run in variants.items()}
    assert sizes == {"first": (10, 64), "second": (5, 256)}
    for name, run in variants.items():
        x = run.data.scaled(run.data.x_test, torch.float32).flatten(1)
        case, seed = run.cases[-1], 1
        is_correct = run.model(run.epochs[-1], seed, case)(x).argmax(1) == run.data.y_test
        (value,) = values(run, f"{name},{case}", seed, "test_accuracy", run.epochs[-1])
        assert float(is_correct.double().mean()) == pytest.approx(value)


FEWER = {"variants": {"all": {}, "the first 25": {"samples": 25}}}


@pytest.mark.parametrize("finished", [FEWER], indirect=True)
def test_a_run_with_fewer_samples_reads_those_that_it_trained_on(finished, tmp_path):
    """The first rows of the data set as it was prepared; their loss is the one that the training wrote down."""
    all_data = prepare("digits", tmp_path, train=60, test=20)
    variants = runs.Run(finished).variants
    for name, n in (("all", 60), ("the first 25", 25)):
        run = variants[name]
        assert torch.equal(run.data.x_train, all_data.x_train[:n])
        assert torch.equal(run.data.y_train, all_data.y_train[:n])
        assert torch.equal(run.data.x_test, all_data.x_test)
        assert run.steps_per_epoch == math.ceil(n / RUN["batch"])
        x, case = all_data.x_train[:n].flatten(1) * all_data.factor, run.cases[0]  # the case without label noise
        for seed in run.seeds:
            loss = torch.nn.functional.cross_entropy(run.model(2, seed, case)(x), all_data.y_train[:n])
            (value,) = values(run, f"{name},{case}", seed, "train_loss", epoch=2)
            assert float(loss.detach()) == pytest.approx(value, rel=1e-5)


def test_a_state_belongs_to_the_gpu_that_computed_it(finished, monkeypatch):
    """Trainings on the CPU have one state whatever GPU is in the machine."""
    run = finished.settings.train["a_fig4"]
    prints = {}
    for gpu in ("H100", "H200"):
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda gpu=gpu: gpu)
        prints[gpu] = {device: train.fingerprint(finished, run, device) for device in ("cpu", "cuda")}
    assert prints["H100"]["cpu"] == prints["H200"]["cpu"]
    assert len({*prints["H100"].values(), *prints["H200"].values()}) == 3


def test_plots_are_means_over_seeds(finished):
    folder = finished.run("a_fig4")
    case = "weight_decay=0.1,label_noise=0"
    lines = (folder / "plots" / case / "test_accuracy.tsv").read_text().splitlines()
    assert lines[0] == "step\ttest_accuracy"
    rows = tables.read(folder / "history.parquet").to_pylist()
    for line in lines[1:]:
        step, value = line.split("\t")
        of_seeds = [row["value"] for row in rows
                    if (row["step"], row["case"], row["quantity"]) == (int(step), case, "test_accuracy")]  # fmt: skip
        assert float(value) == pytest.approx(sum(of_seeds) / 2)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"grid": {"momentum": [0.1]}}, "grid.momentum"),
        ({"grid": {"lr": [0.1, 0.1]}}, "lr must hold different values"),
        ({"grid": {"label_noise": [1.5]}}, "label_noise"),
        ({"loss": "vae"}, "loss vae does not fit a model of kind mlp"),
        ({"model": {"kind": "cnn", "hidden": [3]}}, "hidden must be left out for a model of kind cnn"),
        ({"model": {"activation": "gelu"}}, "hidden must be given for a model of kind mlp"),
        ({"variants": {"other": {"data": "swiss_roll"}}}, "variant other cannot change data"),
        ({"variants": {"other": {"lr": -1}}}, "variant other: lr: Input should be greater than 0"),
    ],
)
def test_mistakes_in_the_settings_are_one_line(capsys, change, says):
    raw = read()
    raw["weight_gram"]["train"]["a_fig4"] = {"paper": {**RUN, **change}, "quick": {}}
    with pytest.raises(SystemExit):
        Settings(raw, "quick").train["a_fig4"]
    error = capsys.readouterr().err
    assert error.startswith("params.yaml: weight_gram.train.a_fig4.paper")
    assert says in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("name", ["lr", "momentum", "betas", "weight_decay", "beta", "label_noise"])
@pytest.mark.parametrize("number", [-0.1, 0, 0.5, 1, 1.5, float("inf"), float("nan")])
def test_the_library_takes_the_numbers_that_the_settings_take(name, number):
    from pydantic import ValidationError, create_model

    from gramlab.nets import NetError, TrainingConfig

    value = (number, 0.5) if name == "betas" else number
    field = Train.model_fields[name]
    settings = create_model("Settings", **{name: (field.annotation, field)})
    try:
        settings(**{name: value})
    except ValidationError:
        with pytest.raises(NetError, match=name):
            TrainingConfig(**{name: value})
    else:
        TrainingConfig(**{name: value})


def test_the_training_takes_every_setting():
    """The stage reads some settings itself; all others are those of TrainingConfig, with its defaults."""
    from gramlab.nets import TrainingConfig

    settings, arguments = Train.model_fields, TrainingConfig.__dataclass_fields__
    assert settings.keys() - arguments.keys() == {
        "affordable", "arms", "data", "model", "part", "samples", "seeds", "sets", "variants",
    }  # fmt: skip
    assert arguments.keys() - settings.keys() == {"name"}
    for name in settings.keys() & arguments.keys() - {"grid", "snapshots", "method"}:
        if not settings[name].is_required():
            default, library_default = settings[name].default, getattr(TrainingConfig(), name)
            assert default == library_default or (not default and not library_default), name
