"""Parts of a data set, alone, as files and in several processes, against the data set in one piece."""

import os
import re
import subprocess
import sys
from collections import OrderedDict
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from processes import data, network
from small_networks import Routed, routed_samples
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

import gramlab
from gramlab.files import BadInput

torch.set_num_threads(1)
QUANTITIES = ("gram", "agop", "ptk", "enfa", "back_enfa", "fact", "back_fact", "weight_gradient")
OPTIONS = {"weight_decay": 0.1, "batch_size": 4}


def assert_same(actual, expected, quantities=QUANTITIES, bound=1e-12):
    assert (list(actual), actual.n, actual.outputs) == (list(expected), expected.n, expected.outputs)
    assert actual.loss == pytest.approx(expected.loss, rel=bound)
    for name in expected:
        for quantity in quantities:
            a, b = getattr(actual[name], quantity), getattr(expected[name], quantity)
            assert float((a - b).norm()) <= bound * float(b.norm()), (name, quantity)


def part(i, n, model=None, **options):
    x, y = data()
    return gramlab.measure(model or network(), x, y, shard=(i, n), **(OPTIONS | options))


def entire(**options):
    x, y = data()
    return gramlab.measure(network(), x, y, **(OPTIONS | options))


@pytest.mark.parametrize("count", [1, 2, 5, 23])
def test_merged_parts_are_the_measurement_of_the_whole(count, tmp_path):
    parts = [part(i, count) for i in reversed(range(count))]
    assert sum(p.n for p in parts) == 23
    merged = gramlab.merge(parts)
    assert_same(merged, entire())
    assert "shard" not in merged.settings
    assert merged.settings["loss"] == "cross_entropy"
    paths = [tmp_path / f"{i}.safetensors" for i in range(count)]
    for path, result in zip(paths, parts, strict=True):
        result.save(path)
    assert_same(gramlab.merge(paths), merged, bound=1e-15)


def test_parts_of_a_loader_are_its_batches():
    x, y = data()
    loader = DataLoader(TensorDataset(x, y), batch_size=5)
    merged = gramlab.merge(gramlab.measure(network(), loader, shard=(i, 2), weight_decay=0.1) for i in range(2))
    assert_same(merged, entire())


def test_estimates_and_centred_quantities_merge():
    initial = network()
    with torch.no_grad():
        initial[0].weight.mul_(1.1)
    merged = gramlab.merge(part(i, 3, outputs=5, initial=initial) for i in range(3))
    expected = entire(outputs=5, initial=initial)
    assert_same(merged, expected, (*QUANTITIES, "centered_ptk", "centered_agop"))
    ours, theirs = (m["0"].estimate("gram", "agop") for m in (merged, expected))
    assert (ours.value, ours.standard_error) == pytest.approx((theirs.value, theirs.standard_error), rel=1e-9)


def test_a_file_keeps_everything(tmp_path):
    measured = entire(outputs=4, quantities=["gram", "agop", "fact"])
    measured.save(tmp_path / "m.safetensors")
    loaded = gramlab.Measurement.load(tmp_path / "m.safetensors")
    assert_same(loaded, measured, ("gram", "agop", "fact"), 0.0)
    assert (loaded.settings, loaded.left_out) == (measured.settings, measured.left_out)
    assert repr(loaded) == repr(measured)
    with pytest.raises(gramlab.Undefined):
        _ = loaded["0"].enfa


@pytest.mark.parametrize("number", [np.float32(0.5), np.int64(2), Fraction(1, 2)])
def test_a_weight_decay_of_any_type_of_number_can_be_saved(number, tmp_path):
    model, x = torch.nn.Linear(4, 2).double(), torch.randn(10, 4, dtype=torch.float64)
    measured = gramlab.measure(model, x, x[:, :2], loss="mse", weight_decay=number)
    measured.save(tmp_path / "m.safetensors")
    loaded = gramlab.Measurement.load(tmp_path / "m.safetensors")
    assert loaded[""].weight_decay == loaded.settings["weight_decay"] == float(number)
    assert torch.equal(loaded[""].fact, measured[""].fact)
    torch.nn.functional.mse_loss(model(x), x[:, :2]).backward()  # FACT by autograd, as paper C defines it
    by_hand = -model.weight.detach().mT @ model.weight.grad / float(number)
    torch.testing.assert_close(loaded[""].fact, by_hand, rtol=1e-10, atol=1e-14)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text").write_text("no tensors")
    for path in (tmp_path / "text", tmp_path / "missing"):
        with pytest.raises(BadInput, match="not a saved measurement"):
            gramlab.Measurement.load(path)


def other_weights():
    model = network()
    with torch.no_grad():
        model[2].weight[0, 0] += 1
    return model


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (lambda: [], "no parts"),
        (lambda: [entire()], "is no part"),
        (lambda: [part(0, 3), part(2, 3)], r"parts \[1\] of 3 are missing"),
        (lambda: [part(0, 2), part(1, 2), part(1, 2)], r"parts \[1\] are there more than once"),
        (lambda: [part(0, 2), part(1, 3)], r"different splits, into \[2, 3\]"),
        (lambda: [part(0, 2), part(1, 2, weight_decay=0.2)], "part 1 does not belong to part 0: its weight_decay is"),
        (lambda: [part(0, 2), part(1, 2, loss="mse")], "its loss is mse, not cross_entropy"),
        (lambda: [part(0, 2), part(1, 2, quantities="agop")], "its loss is None|its quantities"),
        (lambda: [part(0, 2), part(1, 2, outputs=2)], "its outputs is 2, not exact"),
        (lambda: [part(0, 2), part(1, 2, layers=["0"])], "its list of layers"),
        (lambda: [part(0, 2), part(1, 2, other_weights())], "the weights of layer '2' differ"),
        (lambda: [part(0, 2, initial=network()), part(1, 2, initial=other_weights())], "initial weights of layer '2'"),
        (lambda: [part(0, 2), shorter()], "its rows is 22, not 23"),
    ],
    ids=range(13),
)
def test_parts_that_do_not_belong_together_are_refused(parts, message):
    with pytest.raises(ValueError, match=message):
        gramlab.merge(parts())


def test_doubled_parts_are_named_beside_missing_ones(tmp_path):
    """As where two machines were given the same shard number, and each saved its part."""
    saved = {"first": 0, "second": 1, "third": 1}
    for name, number in saved.items():
        part(number, 3).save(tmp_path / name)
    with pytest.raises(ValueError, match=r"^parts \[2\] of 3 are missing and parts \[1\] are there more than once$"):
        gramlab.merge(tmp_path / name for name in saved)


def other(change, **options):
    """Part 1 of a network whose tensors ``change`` has changed."""
    model = network()
    with torch.no_grad():
        change(model)
    return part(1, 2, model, **options)


def of_data(i, change=lambda x, y, mask: None):
    x, y = data()
    tensors = x.unsqueeze(1), y.unsqueeze(1), torch.ones(23, 1)
    change(*tensors)
    return gramlab.measure(network(), tensors[0], tensors[1], mask=tensors[2], shard=(i, 2), **OPTIONS)


def of_shuffled_loader(i):
    loader = DataLoader(TensorDataset(*data()), batch_size=5, shuffle=True)
    model = network()
    torch.manual_seed(i)
    return gramlab.measure(model, loader, shard=(i, 2), weight_decay=0.1)


def power(exponent):
    return lambda outputs, targets: outputs.abs().pow(exponent).sum(1)


class Power(nn.Module):
    def __init__(self, exponent):
        super().__init__()
        self.exponent = exponent

    def forward(self, outputs, targets):
        return outputs.abs().pow(self.exponent).sum(1)


def absolute(outputs, targets):
    return outputs.abs().sum(1)


def squared(outputs, targets):
    return outputs.square().sum(1)


def other_activation():
    model = network()
    model[1] = nn.GELU()
    return part(1, 2, model)


class Holding(nn.Module):
    """A network with a number in a buffer that its state leaves out, or in a tuple."""

    def __init__(self, number, how):
        super().__init__()
        self.body, self.how, self.numbers = network(), how, (number,) if how == "tuple" else ()
        self.register_buffer("number", torch.tensor(number if how == "buffer" else 1.0), persistent=False)

    def forward(self, x):
        return self.body(x) * self.number * (self.numbers[0] if self.numbers else 1.0)


def later_initial():
    initial = network()
    with torch.no_grad():
        initial[4].bias += 1
    return initial


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        (lambda: [part(0, 2), other(lambda m: m[0].bias.add_(5))], "weights ('0.bias') differ"),
        (lambda: [part(0, 2, layers="0"), other(lambda m: m[4].weight.mul_(2), layers="0")], "weights ('4.weight')"),
        (lambda: [part(0, 2), other_activation()], "settings or code of the model differ"),
        (lambda: [part(i, 2, Holding(1.0 + i, "buffer")) for i in range(2)], "settings or code of the model differ"),
        (lambda: [part(i, 2, Holding(1.0 + i, "tuple")) for i in range(2)], "settings or code of the model differ"),
        (lambda: [of_data(0), of_data(1, lambda x, y, mask: x.add_(100))], "their x differ"),
        (lambda: [of_data(0), of_data(1, lambda x, y, mask: y[0].add_(1))], "their y differ"),
        (lambda: [of_data(0), of_data(1, lambda x, y, mask: mask[3].zero_())], "their mask differ"),
        (lambda: [of_shuffled_loader(i) for i in range(2)], "their x, y differ"),
        (lambda: [part(i, 2, loss=power(1 + i)) for i in range(2)], "their loss function differ"),
        (lambda: [part(i, 2, loss=Power(1 + i)) for i in range(2)], "their loss function differ"),
        (lambda: [part(i, 2, loss=partial((absolute, squared)[i])) for i in range(2)], "their loss function differ"),
        (lambda: [part(i, 2, forward=lambda m, x, i=i: m(x) + i) for i in range(2)], "their forward function differ"),
        (lambda: [part(0, 2, initial=network()), part(1, 2, initial=later_initial())], "initial weights ('4.bias')"),
    ],
    ids=range(14),
)
def test_parts_of_other_weights_data_or_functions_are_refused(parts, named, tmp_path):
    measured = parts()
    with pytest.raises(ValueError, match=re.escape(named)):
        gramlab.merge(measured)
    for number, result in enumerate(measured):
        result.save(tmp_path / f"{number}.safetensors")
    with pytest.raises(ValueError, match=re.escape(named)):
        gramlab.merge(tmp_path / f"{number}.safetensors" for number in range(2))


@pytest.mark.parametrize(
    "options",
    [
        {"loss": lambda: power(3), "forward": lambda: lambda m, x: m(x) * 2},
        {"loss": lambda: Power(3), "initial": network},
        {"loss": lambda: partial(squared)},
        {"batch_size": lambda: 7},
    ],
    ids=range(4),
)
def test_parts_of_equal_functions_merge(options):
    """Each part has functions of its own, as parts of several processes have."""
    values = [{name: make() for name, make in options.items()} for _ in range(3)]
    quantities = ["agop", "fact", "enfa"]
    merged = gramlab.merge(part(i, 2, quantities=quantities, **values[i]) for i in range(2))
    assert_same(merged, entire(quantities=quantities, **values[2]), quantities)
    assert "made_from" not in merged.settings


class Mixing(nn.Module):
    """Outputs that a sparse matrix mixes, a buffer in the state dict or beside it."""

    def __init__(self, matrix, persistent):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(4, 3).double()
        self.register_buffer("matrix", matrix, persistent)

    def forward(self, x):
        return (self.matrix @ self.layer(x).T).T


@pytest.mark.parametrize("persistent", [True, False])
@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_parts_of_a_model_with_a_sparse_buffer(layout, persistent):
    matrix, x = torch.eye(3, dtype=torch.float64).roll(1, 0), torch.randn(10, 4, dtype=torch.float64)

    def measured(scale, shard):
        return gramlab.measure(Mixing((scale * matrix).to_sparse(layout=layout), persistent), x, shard=shard)

    whole = gramlab.measure(Mixing(matrix, persistent), x)
    merged = gramlab.merge([measured(1.0, (i, 2)) for i in range(2)])
    torch.testing.assert_close(merged["layer"].agop, whole["layer"].agop)
    with pytest.raises(ValueError, match="'matrix'" if persistent else "settings or code of the model differ"):
        gramlab.merge([measured(1.0, (0, 2)), measured(2.0, (1, 2))])


class Counter(nn.Module):
    """Counts its calls in a buffer and in a number, which its outputs depend on."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.float64))
        self.count = 0

    def forward(self, x):
        self.calls += 1
        self.count += 1
        return x * (1 + self.calls + self.count)


def counting():
    return nn.Sequential(network(), Counter())


def test_parts_of_a_model_that_counts_its_calls_start_from_one_state():
    model = counting()
    batches = list(zip(*(t.split(4) for t in data()), strict=True))
    first = [gramlab.measure(model, batches, shard=(i, 3), weight_decay=0.1) for i in range(3)]
    again = gramlab.measure(counting(), batches, shard=(1, 3), weight_decay=0.1)  # as another process would
    assert_same(again, first[1], bound=0.0)
    assert_same(gramlab.merge([first[0], again, first[2]]), gramlab.merge(first), bound=0.0)
    assert (int(model[1].calls), model[1].count) == (0, 0)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda m: m[1].calls.add_(1), "weights ('1.calls') differ"),
        (lambda m: vars(m[1]).update(count=1), "settings or code of the model differ"),
    ],
    ids=["buffer", "number"],
)
def test_parts_that_start_from_other_counts_are_refused(change, named):
    x, y = data()
    model = counting()
    parts = [gramlab.measure(model, x, y, shard=(0, 2), **OPTIONS)]
    change(model)
    parts.append(gramlab.measure(model, x, y, shard=(1, 2), **OPTIONS))
    with pytest.raises(ValueError, match=re.escape(named)):
        gramlab.merge(parts)


def shorter():
    x, y = data()
    return gramlab.measure(network(), x[1:], y[1:], shard=(1, 2), **OPTIONS)


@pytest.mark.parametrize(
    ("shard", "message"),
    [
        ((2, 2), "0 <= i < n"),
        ("all", "shard must be"),
        ((0.5, 2), "shard must be"),
        ("process", "init_process_group"),
        ((30, 40), "part 30 of 40 is empty"),
    ],
)
def test_bad_shards_are_refused(shard, message):
    x, y = data()
    with pytest.raises(ValueError, match=message):
        gramlab.measure(network(), x, y, shard=shard)


def test_a_distributed_sampler_is_refused():
    x, y = data()
    samples = TensorDataset(x, y)
    loader = DataLoader(samples, sampler=DistributedSampler(samples, 2, 0))
    with pytest.raises(ValueError, match="DistributedSampler"):
        gramlab.measure(network(), loader, shard=(0, 2))


def torchrun(out, *hows):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    script = Path(__file__).with_name("processes.py")
    return subprocess.run([*command, str(script), str(out), *hows], capture_output=True, text=True, timeout=300)


DIFFERING = {
    "weights": "processes 0 and 1 measure different things: their weights ('4.bias') differ",
    "data": "processes 0 and 1 measure different things: their x differ",
    "function": "processes 0 and 1 measure different things: their loss function differ",
}
FAILING = ("failing", "fsdp failing")
SAME = ("plain", "ddp", "fsdp", "unequal", "fsdp unequal", "empty", "fsdp empty", "fsdp readout", "fsdp root")


@pytest.fixture(scope="module")
def measured_by_two(tmp_path_factory):
    """The folder with what two processes have measured in each way."""
    out = tmp_path_factory.mktemp("two")
    result = torchrun(out, *SAME, "routed", *DIFFERING, *FAILING)
    assert result.returncode == 0, result.stderr[-3000:]
    return out


@pytest.mark.parametrize("how", SAME)
def test_two_processes_equal_one(how, measured_by_two):
    for rank in range(2):
        measured = gramlab.Measurement.load(measured_by_two / how / f"exact{rank}.safetensors")
        assert_same(measured, entire())
        if how == "fsdp readout":
            assert measured.settings["outputs"] == "readout"
        if how == "plain":
            estimated = gramlab.Measurement.load(measured_by_two / how / f"estimated{rank}.safetensors")
            assert_same(estimated, entire(outputs=3))
            assert estimated["0"].group_means["ptk"].shape[0] == 3
            function = gramlab.Measurement.load(measured_by_two / how / f"function{rank}.safetensors")
            assert_same(function, entire(loss=lambda outputs, targets: outputs.square().sum(1)))


def test_processes_that_reach_different_experts_measure_both(measured_by_two):
    torch.manual_seed(0)
    model, (x, y) = Routed().double(), routed_samples()
    expected = gramlab.measure(model, x[:16], y[:16], loss="mse", weight_decay=0.1)
    for rank in range(2):
        measured = gramlab.Measurement.load(measured_by_two / "routed" / f"exact{rank}.safetensors")
        assert_same(measured, expected)
        assert list(measured) == ["first", "experts.0", "experts.1"]
        assert measured.left_out == {"experts.2.weight": "no sample reaches layer 'experts.2'"}


@pytest.mark.parametrize("how", FAILING)
def test_all_processes_fail_with_the_one_that_cannot_measure(how, measured_by_two):
    reason = "the loss of row 0 of batch 0 is a NaN or an infinity"
    assert (measured_by_two / how / "error1.txt").read_text() == reason
    other = (measured_by_two / how / "error0.txt").read_text()
    assert other == f"process 1 cannot measure its part: ValueError: {reason}"


@pytest.mark.parametrize("difference", DIFFERING)
def test_processes_name_what_differs(difference, measured_by_two):
    for rank in range(2):
        assert DIFFERING[difference] in (measured_by_two / difference / f"error{rank}.txt").read_text()


def test_the_program_of_the_page_measures_the_whole(printed, tmp_path):
    """docs/how-to/shards.md: FSDP2 under torchrun, against the same network in one process."""
    program, command = printed("docs/how-to/shards.md")
    (tmp_path / "sharded.py").write_text(program.text(), encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command.run(tmp_path, {**os.environ, "PATH": path}, timeout=300)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.Linear(64, 3))
    x, y = torch.randn(500, 20), torch.randint(3, (500,))
    alone = gramlab.measure(model, x, y, weight_decay=1e-3)
    assert_same(gramlab.Measurement.load(tmp_path / "sharded.safetensors"), alone, bound=1e-5)


def test_processes_that_measure_different_things_all_fail(tmp_path):
    result = torchrun(tmp_path, "differ")
    assert result.returncode != 0
    assert "measure different things: their weight_decay differ" in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "wrap",
    [lambda model: nn.DataParallel(model, device_ids=[]), lambda model: torch.compile(model, backend="eager")],
    ids=["parallel", "compiled"],
)
def test_a_wrapped_module_is_measured_as_the_module_inside(wrap, tmp_path):
    x, y = data()
    model = network()
    wrapped = wrap(model)
    assert_same(gramlab.measure(wrapped, x, y, **OPTIONS), entire())
    assert list(gramlab.features(wrapped, x)) == list(gramlab.plan(wrapped, x).layers.index) == ["0", "2", "4"]
    assert list(gramlab.AccumulatedFact(wrapped, torch.optim.SGD(model.parameters()))) == ["0", "2", "4"]
    for initial in (wrapped, wrapped.state_dict(), model.state_dict()):
        centred = gramlab.measure(wrapped, x, initial=initial, quantities=["centered_gram"])
        assert not centred["0"].centered_gram.any()
    outer = nn.Sequential(OrderedDict(module=model))  # its own names begin with "module.", as a parallel network's do
    for initial in (outer.state_dict(), wrap(outer).state_dict()):
        centred = gramlab.measure(outer, x, initial=initial, quantities=["centered_gram"])
        assert not centred["module.0"].centered_gram.any()
    recorder = gramlab.Recorder(wrapped, x, y, tmp_path / "run.parquet", weight_decay=0.1)
    recorder.begin()
    assert {row["layer"] for row in recorder.rows} == {"", "0", "2", "4"}
    assert {"surrogate", "nfa"} <= {row["quantity"] for row in recorder.rows if row["layer"] == "2"}
