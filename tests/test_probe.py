"""The command line and the example: their files, and their messages about bad arguments."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from torch import nn
from typer.testing import CliRunner

import gramlab
from gramlab import tables
from gramlab.cli import app

torch.set_num_threads(1)
ROOT = Path(__file__).parents[1]
NETWORK = """
from torch import nn

def network():
    return nn.Sequential(nn.Flatten(), nn.Linear(12, 6), nn.Tanh(), nn.Linear(6, 3))

flatten = nn.Flatten()

def number():
    return 3

def sized(width):
    return nn.Linear(12, width)

class Wrapper(nn.Module):
    def __init__(self):
        super().__init__()
        self.module = network()

    def forward(self, x):
        return self.module(x)

def text():
    return nn.Sequential(nn.Embedding(9, 4), nn.Flatten(), nn.Linear(20, 3))

def tokens():
    return nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 3))

def fails():
    return {}["width"]

def ends():
    raise SystemExit(0)

class Mistaken(nn.Linear):
    def forward(self, x):
        return super().forward({"x": x}["z"])

def mistaken():
    return Mistaken(12, 3)

def zeros():
    layer = nn.Linear(12, 3)
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer

class Named(nn.ModuleDict):
    def forward(self, x):
        return next(iter(self.values()))(x)

def named():
    return Named({"the_projection_of_the_first_block": nn.Linear(12, 3)})
"""


@pytest.fixture
def folder(tmp_path):
    torch.manual_seed(0)
    (tmp_path / "net.py").write_text(NETWORK)
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((40, 12)))
    np.save(tmp_path / "y.npy", np.arange(40) % 3)
    model = network()
    torch.save(model.state_dict(), tmp_path / "initial.pt")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    save_file(model.state_dict(), tmp_path / "trained.safetensors")
    torch.save({"state_dict": {f"module.{k}": v for k, v in model.state_dict().items()}}, tmp_path / "wrapped.pt")
    compiled = torch.compile(model).state_dict()
    torch.save(compiled, tmp_path / "compiled.pt")
    torch.save({f"module.{k}": v for k, v in compiled.items()}, tmp_path / "compiled_parallel.pt")
    return tmp_path


def network():
    return nn.Sequential(nn.Flatten(), nn.Linear(12, 6), nn.Tanh(), nn.Linear(6, 3))


def probe(folder, *more, model="net.py:network", data=None):
    arguments = ["probe", f"{folder}/{model}", "--data", str(data or folder), "--out", str(folder / "out"), *more]
    return CliRunner().invoke(app, arguments, catch_exceptions=False)


def test_a_device_that_is_not_there_is_named(folder):
    for device in ("cuda:99", "nonsense"):
        result = probe(folder, "--device", device)
        assert result.exit_code == 2
        assert result.stderr.startswith(f"gramlab probe: --device {device!r} is not available: ")
        assert result.stderr.count("\n") == 1
        assert not (folder / "out").exists()


def values(folder):
    rows = tables.read(folder / "out/probe.parquet").to_pylist()
    return {(row["layer"], row["quantity"]): row["value"] for row in rows}


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ([], "left out: FACT and the centred NFA: give --weight-decay and --initial"),
        (["--weight-decay", "0.1"], "left out: the centred NFA: give --initial"),
        (["--initial", "initial.pt", "--checkpoint", "trained.safetensors"], "left out: FACT: give --weight-decay"),
    ],
)
def test_options_that_are_not_given_take_one_line(folder, options, line, monkeypatch):
    monkeypatch.chdir(folder)
    result = probe(folder, *options)
    *others, last = [text for text in result.stderr.splitlines() if text.startswith("left out: ")]
    assert last == line
    assert all("the second array is zero" in text for text in others)  # K̄ of the linear readout


def test_a_weight_decay_of_zero_is_not_asked_for_again(folder):
    """It is given, and FACT is undefined for it."""
    result = probe(folder, "--weight-decay", "0")
    assert result.exit_code == 0, result.output
    lines = [text for text in result.stderr.splitlines() if text.startswith("left out: ")]
    for layer in ("1", "3"):
        reason = f"layer '{layer}': fact divides by λ and λ is 0.0; pass a positive weight_decay to measure"
        assert f"left out: {layer} pearson_fact: {reason}" in lines
    assert lines[-1] == "left out: the centred NFA: give --initial"
    assert "--weight-decay" not in result.stderr


@pytest.mark.parametrize("checkpoint", ["trained.safetensors", "wrapped.pt", "compiled.pt", "compiled_parallel.pt"])
def test_a_checkpoint_is_measured(folder, checkpoint):
    result = probe(
        folder, "--checkpoint", str(folder / checkpoint), "--initial", str(folder / "initial.pt"),
        "--weight-decay", "0.1", "--name", "mine",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    model = network()
    from safetensors.torch import load_file

    model.load_state_dict(load_file(folder / "trained.safetensors"))
    x, y = torch.from_numpy(np.load(folder / "x.npy")), torch.from_numpy(np.load(folder / "y.npy"))
    initial = torch.load(folder / "initial.pt")
    measurement = gramlab.measure(model, x, y, loss="cross_entropy", weight_decay=0.1, initial=initial)
    numbers = values(folder)
    for name in ("1", "3"):
        layer = measurement[name]
        assert numbers[name, "nfa"] == pytest.approx(gramlab.cosine(layer.gram, layer.agop))
        assert numbers[name, "pearson_fact"] == pytest.approx(gramlab.pearson(layer.gram, layer.fact))
        centred = gramlab.cosine(layer.centered_gram, layer.centered_agop)
        assert numbers[name, "centered_nfa"] == pytest.approx(centred)
    assert numbers["", "loss"] == pytest.approx(measurement.loss)
    assert (folder / "out/probe.png").read_bytes().startswith(b"\x89PNG")


def test_a_network_with_a_part_called_module(folder):
    """Its keys begin with "module.", as those of a data-parallel network do; both are accepted."""
    state = {f"module.{key}": value for key, value in torch.load(folder / "initial.pt").items()}
    torch.save(state, folder / "own.pt")
    torch.save({f"module.{key}": value for key, value in state.items()}, folder / "parallel.pt")
    losses = []
    for model, checkpoint in (("network", "initial.pt"), ("Wrapper", "own.pt"), ("Wrapper", "parallel.pt")):
        result = probe(folder, "--checkpoint", str(folder / checkpoint), model=f"net.py:{model}")
        assert result.exit_code == 0, result.output
        losses.append(values(folder)["", "loss"])
    assert losses == [losses[0]] * 3


@pytest.mark.parametrize("dtype", [np.int64, np.uint16, np.uint8])
def test_tokens_of_a_text_stay_integers(folder, dtype):
    (folder / "text").mkdir()
    x, y = np.random.default_rng(0).integers(0, 9, (40, 5)).astype(dtype), np.arange(40) % 3
    np.save(folder / "text/x.npy", x)
    np.save(folder / "text/y.npy", y)
    torch.manual_seed(3)
    result = probe(folder, model="net.py:text", data=folder / "text")
    assert result.exit_code == 0, result.output
    torch.manual_seed(3)
    model = nn.Sequential(nn.Embedding(9, 4), nn.Flatten(), nn.Linear(20, 3))
    expected = nn.functional.cross_entropy(model(torch.from_numpy(x.astype(np.int64))), torch.from_numpy(y))
    assert values(folder)["", "loss"] == pytest.approx(float(expected), rel=1e-5)


@pytest.mark.parametrize("dtype", [bool, np.int64])
def test_masked_tokens_count_nowhere(folder, dtype):
    (folder / "text").mkdir()
    draw = np.random.default_rng(0)
    x, y, mask = draw.integers(0, 9, (40, 5)), draw.integers(0, 3, (40, 5)), draw.random((40, 5)) < 0.7
    mask[:, 0] = True
    for name, array in (("x", x), ("y", y), ("mask", mask.astype(dtype))):
        np.save(folder / f"text/{name}.npy", array)
    torch.manual_seed(3)
    result = probe(folder, "--limit", "30", model="net.py:tokens", data=folder / "text")
    assert result.exit_code == 0, result.output
    torch.manual_seed(3)
    model = nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 3))
    x, y, mask = (torch.from_numpy(array[:30]) for array in (x, y, mask))
    losses = nn.functional.cross_entropy(model(x).movedim(-1, 1), y, reduction="none")
    by_sample = torch.stack([losses[i, mask[i]].mean() for i in range(30)])
    assert values(folder)["", "loss"] == pytest.approx(float(by_sample.mean()), rel=1e-5)
    h, classes = model[0](x)[mask].detach().double().numpy(), y[mask].numpy()
    means = np.stack([h[classes == k].mean(0) for k in range(3)])
    within = ((h - means[classes]) ** 2).sum() / len(h)
    between = ((means[classes] - h.mean(0)) ** 2).sum() / len(h)
    assert values(folder)["1", "nc1"] == pytest.approx(within / between, rel=1e-5)
    command = ["batches", f"{folder}/net.py:tokens", "--data", str(folder / "text")]
    assert CliRunner().invoke(app, command, catch_exceptions=False).exit_code == 0
    np.save(folder / "text/mask.npy", np.full((40, 5), 2))
    result = probe(folder, model="net.py:tokens", data=folder / "text")
    assert result.exit_code == 2
    assert "a mask has booleans, or 0 and 1" in result.output


def test_only_some_layers_and_samples_and_the_same_bytes_twice(folder):
    for _ in range(2):
        assert probe(folder, "--layer", "3", "--limit", "20", "--checkpoint", f"{folder}/wrapped.pt").exit_code == 0
        written = [(folder / "out" / name).read_bytes() for name in ("probe.parquet", "probe.png")]
    assert {layer for layer, _ in values(folder)} == {"", "3"}
    assert probe(folder, "--layer", "3", "--limit", "20", "--checkpoint", f"{folder}/wrapped.pt").exit_code == 0
    assert [(folder / "out" / name).read_bytes() for name in ("probe.parquet", "probe.png")] == written


def test_a_folder_of_images(folder):
    rng = np.random.default_rng(1)
    for label in ("a", "b", "c"):
        for number in range(6):
            image = folder / "images/train" / label / f"{number}.png"
            image.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(rng.integers(0, 256, (2, 2, 3), dtype=np.uint8)).save(image)
    assert probe(folder, data=folder / "images").exit_code == 0
    assert ("1", "nfa") in values(folder)
    assert "empty" in probe(folder, "--split", "test", data=folder / "images").output


BAD = {
    "no colon": ({"model": "net.py"}, [], "not"),
    "no file": ({"model": "other.py:network"}, [], "no such Python file"),
    "no callable": ({"model": "net.py:missing"}, [], "no callable 'missing'"),
    "misspelt callable": ({"model": "net.py:netwrok"}, [], "did you mean 'network'?"),
    "misspelt loss": ({}, ["--loss", "crossentropy"], "did you mean 'cross_entropy'?"),
    "misspelt split": ({}, ["--split", "tran"], "did you mean 'train'?"),
    "no module": ({"model": "net.py:number"}, [], "returns a int"),
    "no checkpoint": ({}, ["--checkpoint", "none.pt"], "no such checkpoint"),
    "damaged": ({}, ["--checkpoint", "DIR/net.py"], "net.py"),
    "damaged safetensors": ({}, ["--checkpoint", "DIR/bad.safetensors"], "not a readable checkpoint"),
    "other network": ({}, ["--checkpoint", "DIR/other.pt"], "does not fit the network"),
    "not weights": ({}, ["--checkpoint", "DIR/list.pt"], "no state dict"),
    "no data": ({"data": "nowhere"}, [], "nowhere: no such folder"),
    "no layer": ({}, ["--layer", "9"], "no layer named '9'"),
    "split": ({"data": "DIR/sub"}, ["--split", "valid"], "--split must be one of train, test, not 'valid'"),
    "arguments": ({"model": "net.py:sized"}, [], "without arguments: missing a required argument: 'width'"),
    "a network": ({"model": "net.py:flatten"}, [], "net.py:flatten is a network, not a function that makes one"),
    "width": ({"data": "DIR/narrow"}, [], "the model fails on inputs of shape (40, 7) of "),
    "words": ({"data": "DIR/words"}, [], "y.npy must be a tensor or array of numbers, not a ndarray of <U1"),
    "lengths": ({"data": "DIR/short"}, [], "x.npy has 40 rows and y.npy 30"),
    "token": ({"data": "DIR/tokens", "model": "net.py:text"}, [], "fails on inputs of shape (40, 5) of"),
    "no split": ({}, ["--split", "test"], "x.npy and y.npy are one set"),
    "limit": ({}, ["--limit", "-45"], "--limit"),
    "loss": ({}, ["--loss", "hinge"], "not 'hinge'"),
    "own code": ({"model": "net.py:fails"}, [], "net.py:fails cannot be run: KeyError: 'width' (DIR/net.py, line "),
    "own end": ({"model": "net.py:ends"}, [], "net.py:ends cannot be run: SystemExit: 0 (DIR/net.py, line "),
    "own syntax": ({"model": "broken.py:f"}, [], "DIR/broken.py cannot be run: SyntaxError: "),
    "own import": ({"model": "import.py:f"}, [], "no module 'nowhere_at_all' on the Python path"),
    "own forward": (
        {"model": "net.py:mistaken"},
        [],
        "fails on inputs of shape (40, 12) of torch.float32 (batch 0): KeyError: 'z'",
    ),
    "numbered weights": ({}, ["--checkpoint", "DIR/numbered.pt"], "no state dict"),
    "no array": ({"data": "DIR/garbage"}, [], "DIR/garbage/x.npy: not a readable array of numbers ("),
    "empty file": ({"data": "DIR/blank"}, [], "DIR/blank/x.npy: not a readable array of numbers ("),
    "half an archive": ({"data": "DIR/half"}, [], "DIR/half/x.npy: not a readable array of numbers ("),
    "one number": ({"data": "DIR/scalar"}, [], "x.npy holds a single number, not an entry for each sample"),
    "complex": ({"data": "DIR/complex"}, [], "x.npy is complex"),
    "signed values": (
        {"data": "DIR/values"},
        ["--loss", "signed_mse"],
        "signed_mse with outputs (40, 3) needs integer targets (40,), not torch.float64 (40, 3)",
    ),
    "signed classes": (
        {"data": "DIR/classes"},
        ["--loss", "signed_mse"],
        "class targets from 0 to 3 don't fit 3 outputs",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_explained(folder, name):
    (folder / "bad.safetensors").write_bytes(b"nothing")
    (folder / "sub/train").mkdir(parents=True)
    torch.save({"weight": torch.zeros(3)}, folder / "other.pt")
    torch.save([1, 2], folder / "list.pt")
    torch.save({1: torch.zeros(3)}, folder / "numbered.pt")
    for part, x, y in (
        ("narrow", np.ones((40, 7)), np.arange(40) % 3),
        ("words", np.ones((40, 12)), np.array(list("abcd" * 10))),
        ("short", np.ones((40, 12)), np.arange(30) % 3),
        ("tokens", np.full((40, 5), 9), np.arange(40) % 3),
        ("garbage", np.ones((40, 12)), np.arange(40) % 3),
        ("blank", np.ones((40, 12)), np.arange(40) % 3),
        ("half", np.ones((40, 12)), np.arange(40) % 3),
        ("scalar", np.array(3.0), np.array(1)),
        ("complex", np.ones((40, 12)) + 1j, np.arange(40) % 3),
        ("values", np.ones((40, 12)), np.ones((40, 3))),
        ("classes", np.ones((40, 12)), np.arange(40) % 4),
    ):
        (folder / part).mkdir()
        np.save(folder / part / "x.npy", x)
        np.save(folder / part / "y.npy", y)
    (folder / "garbage/x.npy").write_bytes(b"no array")
    (folder / "blank/x.npy").write_bytes(b"")
    archive = io.BytesIO()
    np.savez(archive, x=np.ones((40, 12)))
    (folder / "half/x.npy").write_bytes(archive.getvalue()[:1000])
    (folder / "broken.py").write_text("def f(:\n")
    (folder / "import.py").write_text("import nowhere_at_all\n")
    options, arguments, message = BAD[name]
    message = message.replace("DIR", str(folder))
    options = {key: value.replace("DIR", str(folder)) for key, value in options.items()}
    result = probe(folder, *(argument.replace("DIR", str(folder)) for argument in arguments), **options)
    assert result.exit_code == 2
    assert message in result.output
    assert name == "limit" or result.output.count("\n") == 1
    assert not (folder / "out").exists()


def test_a_module_on_the_path(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((3, 2)))
    np.save(tmp_path / "y.npy", np.zeros(3, int))
    bad = CliRunner().invoke(app, ["probe", "nowhere.at_all:f", "--data", str(tmp_path), "--out", str(tmp_path)])
    assert bad.exit_code == 2
    assert "no module 'nowhere'" in bad.output


def test_a_layer_that_is_the_whole_model(folder):
    """Its name is empty, as the loss's layer is."""
    (folder / "one.py").write_text("from torch import nn\ndef network():\n    return nn.Linear(12, 3)\n")
    result = probe(folder, model="one.py:network")
    assert result.exit_code == 0, result.output
    assert "(model)" in result.output
    assert (folder / "out" / "probe.png").stat().st_size > 10_000


def test_numbers_that_are_too_few_for_a_figure_are_printed(folder):
    """Weights of zeros have no correlations; the figure of an earlier probe would be one of other weights."""
    assert probe(folder).exit_code == 0
    assert (folder / "out/probe.png").exists()
    result = probe(folder, model="net.py:zeros")
    assert result.exit_code == 0, result.output
    assert not (folder / "out/probe.png").exists()
    assert f"no {folder / 'out/probe.png'}: the table has none of the quantities" in result.stderr
    assert result.stdout.splitlines()[-1] == str(folder / "out/probe.parquet")
    assert values(folder)["", "loss"] == pytest.approx(np.log(3))  # all three classes have the probability 1/3
    assert f"cross_entropy {np.log(3):.4g}" in " ".join(result.stdout.split())
    written = json.loads(probe(folder, "--json", model="net.py:zeros").stdout)
    assert written["files"] == [str(folder / "out/probe.parquet")]


@pytest.mark.parametrize("columns", ["", "40", "70"])
def test_every_digit_is_printed(folder, columns, monkeypatch):
    """In a file on one line, however long the name; in a terminal of few columns below each other."""
    if columns:
        monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal
        monkeypatch.setenv("COLUMNS", columns)
    result = probe(folder, "--weight-decay", "0.1", model="net.py:named")
    assert result.exit_code == 0, result.output
    assert "…" not in result.stdout
    (name,) = {layer for layer, _ in values(folder) if layer}
    numbers = [f"{values(folder)[name, quantity]:.4f}" for quantity in ("nfa", "pearson_fact", "stationarity", "nc1")]
    if not columns:
        (line,) = (line for line in result.stdout.splitlines() if name in line)
        assert set(numbers) <= set(re.split(r"[ │]+", line))


def test_a_table_without_drawn_quantities_is_refused(tmp_path):
    tables.write(tmp_path / "t", [{"quantity": "other", "value": 1.0}])
    result = CliRunner().invoke(app, ["figures", str(tmp_path / "t"), str(tmp_path / "t.png")])
    assert result.exit_code == 2
    assert "none of the quantities" in result.output


@pytest.mark.parametrize("name", ["page.pdf", "folder"])
def test_a_page_is_a_png_and_no_folder(tmp_path, name):
    tables.write(tmp_path / "t", [{"layer": layer, "quantity": "nfa", "value": 0.5} for layer in "ab"])
    (tmp_path / "folder").mkdir()
    result = CliRunner().invoke(app, ["figures", str(tmp_path / "t"), str(tmp_path / name)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"gramlab figures: {tmp_path / name}: name a PNG to write, such as run.png\n"
    assert {path.name for path in tmp_path.iterdir()} == {"t", "folder"}


def test_the_example(tmp_path):
    run = [sys.executable, str(ROOT / "examples/digits.py"), str(tmp_path)]
    result = subprocess.run(run, capture_output=True, text=True, check=True, cwd=ROOT, encoding="utf-8")
    fact = [float(line.split()[1]) for line in result.stdout.splitlines()[1:4]]
    assert min(fact) > 0.9  # trained to near a critical point, the network satisfies FACT
    assert (tmp_path / "run.png").stat().st_size > 10_000
    redrawn = CliRunner().invoke(app, ["figures", str(tmp_path / "run.parquet"), str(tmp_path / "again.png")])
    assert redrawn.exit_code == 0
    assert (tmp_path / "again.png").read_bytes() == (tmp_path / "run.png").read_bytes()
    as_json = CliRunner().invoke(app, ["figures", str(tmp_path / "run.parquet"), str(tmp_path / "third.png"), "--json"])
    assert json.loads(as_json.stdout) == {"files": [str(tmp_path / "third.png")]}
    assert (tmp_path / "third.png").read_bytes() == (tmp_path / "run.png").read_bytes()
    arguments = ["probe", f"{ROOT}/examples/digits.py:network", "--data", tmp_path, "--out", tmp_path]
    arguments += ["--checkpoint", tmp_path / "trained.pt", "--initial", tmp_path / "initial.pt"]
    result = CliRunner().invoke(app, [str(argument) for argument in [*arguments, "--weight-decay", "0.01"]])
    assert result.exit_code == 0


def test_importing_gramlab_and_its_command_costs_no_torch():
    program = (
        "import sys, gramlab, gramlab.tables, gramlab.cli; print([m for m in ('torch', 'seaborn') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip() == "[]"


def test_public_names_are_listed_and_others_raise():
    assert set(gramlab._HOME) <= set(dir(gramlab))
    with pytest.raises(AttributeError):
        _ = gramlab.nothing
