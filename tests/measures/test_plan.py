"""What a measurement costs is said before, layers are measured in rounds, and batches do not matter."""

import copy
import json
import time

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from typer.testing import CliRunner

import gramlab
from gramlab.cli import app
from gramlab.measures.plan import _bytes, _rounds, as_bytes

torch.set_num_threads(1)


class CountBackward(torch.autograd.Function):
    """The identity, which counts the backward passes through it."""

    calls = 0

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        CountBackward.calls += 1
        return g


class Counted(nn.Module):
    def __init__(self, outputs):
        super().__init__()
        self.body, self.head = nn.Linear(6, 5), nn.Linear(5, outputs)

    def forward(self, x):
        return self.head(CountBackward.apply(torch.tanh(self.body(x))))


def data(n=30, outputs=4):
    torch.manual_seed(1)
    return torch.randn(n, 6), torch.randint(0, outputs, (n,))


CASES = {
    "exact": (4, {}),
    "readout": (40, {}),
    "estimated": (40, {"outputs": 3}),
    "loss only": (4, {"quantities": ["enfa"]}),
    "outputs only": (4, {"quantities": ["agop"]}),
    "weights only": (4, {"quantities": ["gram"]}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_passes_are_those_that_are_made(case):
    torch.manual_seed(0)
    outputs, options = CASES[case]
    model, (x, y) = Counted(outputs), data(outputs=outputs)
    plan = gramlab.plan(model, x, y, batch_size=10, **options)
    CountBackward.calls = 0
    measurement = gramlab.measure(model, x, y, batch_size=10, **options)
    assert CountBackward.calls == 3 * (plan.passes["loss"] + plan.passes["outputs"])
    assert plan.outputs == measurement.settings["outputs"]
    for name, layer in measurement.items():
        held = [*layer.sums.values(), *layer.group_means.values()]
        assert plan.layers.loc[name, "sums"] == sum(t.numel() * 8 for t in held)
        assert plan.layers.loc[name, "matrix"] == layer.gram.numel() * 8
    assert plan.n == 30
    assert plan.seconds > 0
    assert "30" in repr(plan)


def multilayer(outputs):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 128), nn.GELU(), nn.Linear(128, outputs))


def convolutional():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(2, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(128, 4))


TIMED = {
    "exact": (multilayer(10), torch.randn(3000, 64), {}),
    "loss only": (multilayer(10), torch.randn(6000, 64), {"quantities": ["enfa", "fact"]}),
    "small batches": (multilayer(4), torch.randn(2000, 64), {"batch_size": 100}),
    "readout": (multilayer(300), torch.randn(300, 64), {}),
    "estimated": (multilayer(300), torch.randn(2000, 64), {"outputs": 8}),
    "convolutions": (convolutional(), torch.randn(1000, 2, 8, 8), {}),
    "rounds": (multilayer(10), torch.randn(2000, 64), {"max_memory": "2 MB"}),
}


@pytest.mark.parametrize("case", TIMED)
def test_the_time_is_that_of_measuring(case):
    """CPU time, on one thread, the best of three, in turn: other work on the machine only adds to it."""
    model, x, options = TIMED[case]
    outputs = model[-1].out_features
    options = options | {"weight_decay": 0.1}
    y = torch.arange(len(x)) % outputs
    planned, taken = [], []
    for _ in range(3):
        plan = gramlab.plan(model, x, y, **options)
        planned.append(plan.cpu_seconds)
        start = time.process_time()
        # the rounds of a plan that is at hand, since max_memory= would plan again
        for names in plan.rounds:
            gramlab.measure(
                model, x, y, **({key: v for key, v in options.items() if key != "max_memory"} | {"layers": names})
            )
        taken.append(time.process_time() - start)
    assert (len(plan.rounds) > 1) == (case == "rounds")
    assert 0.5 < min(planned) / min(taken) < 2.0, (planned, taken)


def test_time_and_memory_by_layer_and_quantity():
    model, (x, y) = wide(), data(n=200)
    plan = gramlab.plan(model, x, y, weight_decay=0.1, initial=wide())
    table = plan.quantities
    assert set(table.index.get_level_values("layer")) == set(plan.layers.index)
    assert list(table["seconds"].unstack().columns) == sorted(set(table.index.get_level_values("quantity")))
    assert table["passes"].unstack().loc["0"].to_dict() | {
        "gram": 0,
        "agop": 4,
        "enfa": 1,
        "fact": 1,
        "centered_ptk": 8,
    } == (table["passes"].unstack().loc["0"].to_dict())
    measurement = gramlab.measure(model, x, y, weight_decay=0.1, initial=wide())
    for (name, quantity), row in table.iterrows():
        alone = gramlab.measure(model, x, y, weight_decay=0.1, initial=wide(), quantities=[quantity], layers=name)
        assert row["memory"] == sum(t.numel() * 8 for t in alone[name].sums.values())
        assert quantity == "virtual_shift" or getattr(measurement[name], quantity) is not None
    by_quantity = table["seconds"].groupby("quantity").sum()
    assert by_quantity["gram"] < by_quantity["enfa"] < by_quantity["agop"] < by_quantity["centered_ptk"]
    assert plan.layers["seconds"].sum() == pytest.approx(plan.seconds)
    assert "each quantity alone" in repr(plan)
    named = gramlab.plan(model, x, y, quantities=["agop"]).quantities
    assert set(named.index.get_level_values("quantity")) == {"agop"}


def test_the_parts_of_the_time_add_up():
    """The operations of a two-layer network, counted by hand."""
    model, x = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)), torch.randn(40, 6)
    frame = gramlab.plan(model, x).layers
    # a forward pass and 3 backward passes through each layer, and k² for each of the 3 outputs
    operations = [4 * 2 * 6 * 5 + 3 * 5 * 5, 4 * 2 * 5 * 3 + 3 * 3 * 3]
    share = operations[0] / sum(operations)
    assert frame.loc["0", "seconds"] / frame["seconds"].sum() == pytest.approx(share)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (1, "1 B"), (999, "999 B"), (1000, "1 kB"), (1234, "1.23 kB"), (999_499, "999 kB"), (999_600, "1 MB"),
        (10**9 - 1, "1 GB"), (5 * 10**12, "5 TB"), (999_600_000_000, "1 TB"), (123_456 * 10**12, "123456 TB"),
    ],
)  # fmt: skip
def test_sizes_are_shown_without_powers_of_ten(size, expected):
    """In the message where a layer takes more than there may be."""
    frame = pd.DataFrame({"sums": [size + 1], "batch": [0]}, index=["0"])
    assert _bytes(size) == expected
    with pytest.raises(ValueError, match=f"more than max_memory = {expected};"):
        _rounds(frame, size)


@pytest.mark.parametrize(
    ("size", "expected"), [("1GB", 10**9), (" 1.5 mb", 1_500_000), ("2GiB", 2**31), ("300", 300), (1e6, 10**6)]
)
def test_sizes_as_text(size, expected):
    model, (x, y) = wide(), data()
    assert as_bytes(size) == expected
    if expected > 10**4:
        assert gramlab.plan(model, x, y, max_memory=size).rounds == [
            list(gramlab.measure(model, x, y, max_memory=size))
        ]


@pytest.mark.parametrize("size", ["1 GBB", "", "-3", 0, -1, float("nan"), True, [], "GB"])
def test_bad_sizes_are_refused(size):
    for act in (gramlab.plan, gramlab.measure):
        with pytest.raises(ValueError, match="max_memory must be a positive number of bytes or a size such as '1GB'"):
            act(wide(), data()[0], max_memory=size)


def test_rows_of_tokens_positions_and_calls():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(2, 4, 3, groups=2), nn.Flatten(2), nn.MultiheadAttention(9, 3, batch_first=True))

    def forward(model, x):
        h = model[1](model[0](x))
        return model[2](h, h, h)[0].mean(1)

    frame = gramlab.plan(model, torch.randn(8, 2, 5, 5), forward=forward).layers
    assert frame.loc["0", "rows"] == 9
    assert frame.loc["0", "shape"] == (2, 2, 9)
    assert frame.loc["2.q_proj", "rows"] == 4
    # half of 2 k² for each row and pass: a symmetric product
    assert frame.loc["2.out_proj", "gflop"] == pytest.approx(1e3 * 4 * 9**2 * 9 / 1e9)


def test_the_centred_passes_are_of_both_networks():
    model, (x, _) = Counted(4), data()
    assert gramlab.plan(model, x, initial=copy.deepcopy(model)).passes == {"loss": 0, "outputs": 8}


def wide():
    torch.manual_seed(0)
    return nn.Sequential(*[module for _ in range(4) for module in (nn.Linear(6, 6), nn.Tanh())], nn.Linear(6, 4))


def test_rounds_fit_and_give_the_same_numbers():
    model, (x, y) = wide(), data()
    needed = gramlab.plan(model, x, y).layers[["sums", "batch"]].sum(axis=1)
    limit = int(needed.max() * 2.5)
    rounds = gramlab.plan(model, x, y, max_memory=limit).rounds
    assert [name for names in rounds for name in names] == list(needed.index)
    assert len(rounds) > 1
    assert all(needed[list(names)].sum() <= limit for names in rounds)
    split = gramlab.measure(model, x, y, weight_decay=0.1, max_memory=limit)
    together = gramlab.measure(model, x, y, weight_decay=0.1)
    assert list(split) == list(together)
    assert split.left_out == together.left_out == {}
    for name in together:
        for quantity in ("agop", "enfa", "fact"):
            torch.testing.assert_close(getattr(split[name], quantity), getattr(together[name], quantity))


class Graph(nn.Module):
    """A network that adds up the neighbours of each node, by its own edges or by those that it is given."""

    def __init__(self, edges=None):
        super().__init__()
        torch.manual_seed(0)
        self.edges, self.first, self.head = edges, nn.Linear(6, 5), nn.Linear(5, 4)

    def forward(self, x, edges=None):
        sources, targets = self.edges if edges is None else edges
        h = torch.tanh(self.first(x))
        return self.head(torch.zeros_like(h).index_add(0, targets, h[sources]))


def test_quantities_may_come_from_an_iterator():
    model, x = nn.Sequential(nn.Linear(4, 5), nn.Linear(5, 3)), torch.randn(8, 4)
    for options in ({}, {"max_memory": "1GB"}):
        measured = gramlab.measure(model, x, quantities=iter(["agop", "gram"]), **options)
        assert measured.settings["quantities"] == ["agop", "gram"]
    planned = gramlab.plan(model, x, quantities=iter(["agop"])).quantities
    assert list(planned.index) == [("0", "agop"), ("1", "agop")]


@pytest.mark.parametrize("own", [True, False])
def test_a_graph_that_cannot_be_cut_is_planned_whole(own):
    (x, y), edges = data(50), torch.randint(0, 50, (2, 120))
    model, given = (Graph(edges), (x, y)) if own else (Graph(), ([((x, edges), y)],))
    plan = gramlab.plan(model, *given)
    assert plan.passes == {"loss": 1, "outputs": 4}
    assert plan.activations == 50 * (6 + 5) * 4
    assert (plan.seconds is None) != own
    split, together = (gramlab.measure(model, *given, max_memory=limit) for limit in (1000, None))
    assert len(gramlab.plan(model, *given, max_memory=1000).rounds) > 1
    for name, layer in together.items():
        torch.testing.assert_close(split[name].agop, layer.agop)


def test_the_activations_are_those_of_a_loaders_batch():
    x, y = data(30)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=7)
    assert gramlab.plan(Counted(4), loader).activations == 7 * (6 + 5) * 4
    assert gramlab.plan(Counted(4), x, y, batch_size=7).activations == 7 * (6 + 5) * 4
    assert gramlab.plan(Counted(4), x, y).activations == 30 * (6 + 5) * 4


def test_what_cannot_fit_or_be_read_twice_is_refused():
    model, (x, y) = wide(), data()
    with pytest.raises(ValueError, match="more than max_memory"):
        gramlab.measure(model, x, y, max_memory=100)
    for act in (gramlab.plan, lambda *a: gramlab.measure(*a, max_memory=10**9), gramlab.batch_independence):
        with pytest.raises(ValueError, match="read only once"):
            act(model, iter([(x, y)]))


class Coupled(nn.Module):
    """A network that subtracts the mean of the batch, in evaluation too."""

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(6, 5), nn.Linear(5, 4)

    def forward(self, x):
        h = torch.tanh(self.body(x))
        return self.head(h - h.mean(0))


def test_networks_whose_samples_are_independent():
    x, y = data()
    frame = gramlab.batch_independence(wide(), x, y)
    assert list(frame.columns) == [1, 7]
    assert {name for name, _ in frame.index} == {"(model)", *gramlab.measure(wide(), x)}
    assert 0 < frame.max().max() < frame.attrs["tolerance"]


class InPlace(nn.Linear):
    """A network that scales its inputs in place."""

    def forward(self, x):
        return super().forward(x.mul_(2))


def test_a_network_that_works_in_place_leaves_the_data_alone():
    torch.manual_seed(0)
    x = torch.randn(20, 6)
    before = x.clone()
    frame = gramlab.batch_independence(InPlace(6, 4), x)
    assert torch.equal(x, before)
    assert frame.max().max() < frame.attrs["tolerance"]


def test_attention_under_a_mask_is_independent_of_batches():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True)
    model = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
    mask = torch.arange(5) < torch.randint(1, 6, (20, 1))
    x = {"x": torch.randn(20, 5, 8), "attention_mask": mask}
    frame = gramlab.batch_independence(
        model, x, forward=lambda m, x: m(x["x"], src_key_padding_mask=~x["attention_mask"])
    )
    assert frame.max().max() < frame.attrs["tolerance"]


def test_batches_that_cannot_be_cut_are_refused():
    x, y = data()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=5)
    for batches in (loader, [(x, y)]):
        with pytest.raises(ValueError, match="of batches, which cannot be cut"):
            gramlab.batch_independence(Coupled(), batches)
    with pytest.raises(ValueError, match="are the same for 1 samples"):
        gramlab.batch_independence(Coupled(), x[:1], y[:1])


def test_a_network_that_couples_its_samples_is_found():
    torch.manual_seed(0)
    frame = gramlab.batch_independence(Coupled(), *data())
    assert frame.max().max() > 100 * frame.attrs["tolerance"]


def test_outputs_that_depend_on_the_batch_are_found_where_no_sum_does():
    """The sums of the head see no mean of the batch: its weight is the derivative in every batch."""
    torch.manual_seed(0)
    model, (x, _) = Coupled(), data()
    with torch.no_grad():
        apart = torch.cat([model(rows) for rows in x[:30].split(3)]) - model(x[:30])
    frame = gramlab.batch_independence(model, x[:30], batch_sizes=(3, 30), layers="head", quantities="agop")
    assert frame.drop(index="(model)").max().max() == 0.0
    difference = frame.loc[("(model)", "outputs"), 3]
    assert difference == pytest.approx(float(apart.norm() / model(x[:30]).detach().norm()), rel=1e-5)
    assert difference > 100 * frame.attrs["tolerance"]


@pytest.mark.parametrize("sizes", [3, (), (4,)])
def test_batch_sizes_are_two_or_more(sizes):
    with pytest.raises(ValueError, match="batch_sizes must name two sizes or more"):
        gramlab.batch_independence(Coupled(), *data(), batch_sizes=sizes)


@pytest.mark.parametrize("options", [{"outputs": -3}, {"outputs": "all"}, {"loss": "crossentropy"}])
def test_plan_checks_what_measure_checks(options):
    for act in (gramlab.measure, gramlab.plan):
        with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
            act(wide(), *data(), **options)


@pytest.mark.parametrize(("network", "code"), [("independent", 0), ("coupled", 1)])
def test_the_command_says_whether_batches_matter(network, code, tmp_path):
    (tmp_path / "net.py").write_text(
        "import sys\n"
        f"sys.path.insert(0, {str(__file__.rpartition('/')[0])!r})\n"
        "from test_plan import Coupled, wide\n"
        "independent, coupled = wide, Coupled\n"
    )
    x, y = data()
    np.save(tmp_path / "x.npy", x.numpy())
    np.save(tmp_path / "y.npy", y.numpy())
    command = ["batches", f"{tmp_path}/net.py:{network}", "--data", str(tmp_path), "--size", "3", "--size", "30"]
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    assert result.exit_code == code, result.output
    assert ("do not depend" in result.output) == (code == 0)


def test_the_commands_json_has_no_infinity(tmp_path):
    """Attention among learned tokens is measured in batches of one sample alone."""
    (tmp_path / "net.py").write_text(
        f"import sys\nsys.path.insert(0, {str(__file__.rpartition('/')[0])!r})\nfrom test_shared_rows import Prompt\n"
    )
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((6, 7)))
    np.save(tmp_path / "y.npy", np.random.default_rng(1).standard_normal((6, 3)))
    command = ["batches", f"{tmp_path}/net.py:Prompt", "--data", str(tmp_path), "--size", "1", "--size", "6"]
    result = CliRunner().invoke(app, [*command, "--json"], catch_exceptions=False)
    assert result.exit_code == 1, result.output

    def refuse(constant):
        raise AssertionError(constant)

    content = json.loads(result.output, parse_constant=refuse)
    assert content["depend"]
    assert content["largest"] is None
    assert {row["layer"] for row in content["differences"] if row["1"] is None} >= {"attention.q_proj"}
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    assert "the numbers depend on the batch" in result.output
