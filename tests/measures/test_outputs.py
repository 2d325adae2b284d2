"""Many outputs: exact through the readout, and estimated with errors as stated, against the sum over all outputs."""

import copy
import itertools

import numpy as np
import pytest
import scipy.stats
import torch
from torch import nn

import gramlab
from gramlab.streams import ROOT_VARIABLE

torch.set_num_threads(1)
FAMILY = ("ptk", "agop")
CENTRED = (*FAMILY, "centered_ptk", "centered_agop", "double_centered_agop", "ptk_centered_agop")


def assert_same(actual, expected, quantities, bound=1e-11):
    assert list(actual) == list(expected)
    for name in expected:
        for quantity in quantities:
            a, b = getattr(actual[name], quantity), getattr(expected[name], quantity)
            assert float((a - b).norm()) <= bound * max(float(b.norm()), 1e-12), (name, quantity)


class Tied(nn.Module):
    """A language model whose readout has the weight of its embedding."""

    def __init__(self, words=23, d=5):
        super().__init__()
        self.embed, self.up = nn.Embedding(words, d), nn.Linear(d, d)
        self.head = nn.Linear(d, words, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, input_ids, attention_mask=None):
        return self.head(torch.tanh(self.up(self.embed(input_ids)).cumsum(1)))


class Changed(nn.Module):
    """A network whose outputs are a function of its head's."""

    def __init__(self, change):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 9))
        self.change = change

    def forward(self, x):
        return self.change(self.body(x))


def mlp(outputs=12):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, outputs)).double()


def inputs(n=11):
    torch.manual_seed(1)
    return torch.randn(n, 4, dtype=torch.float64)


@pytest.mark.parametrize("batch_size", [3, 4096])
def test_through_the_readout_is_exact(batch_size):
    model, x = mlp(), inputs()
    chosen = gramlab.measure(model, x, batch_size=batch_size)
    assert chosen.settings["outputs"] == "readout"
    assert "exact through the readout" in repr(chosen)
    exact = gramlab.measure(model, x, outputs="exact")
    assert exact.settings["outputs"] == "exact"
    assert_same(chosen, exact, FAMILY)
    assert_same(gramlab.measure(model, x, outputs="readout", layers="0"), gramlab.measure(model, x, outputs="exact",
                layers="0"), FAMILY)  # fmt: skip


def test_the_readout_serves_the_centred_quantities_too():
    model, x = mlp(), inputs()
    initial = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    exact = gramlab.measure(model, x, outputs="exact", initial=initial)
    chosen = gramlab.measure(model, x, initial=initial)
    assert chosen.settings["outputs"] == "readout"  # 10 passes in place of 12
    assert_same(chosen, exact, CENTRED)


def test_tied_embeddings_and_masked_tokens():
    torch.manual_seed(0)
    model = Tied().double()
    ids, mask = torch.randint(0, 23, (4, 3)), torch.tensor([[1, 1, 1], [1, 0, 0], [1, 1, 0], [1, 1, 1]])
    x = {"input_ids": ids, "attention_mask": mask}
    chosen = gramlab.measure(model, x, batch_size=3)
    assert chosen.settings["outputs"] == "readout"
    assert_same(chosen, gramlab.measure(model, x, outputs="exact"), FAMILY)


@pytest.mark.parametrize(
    "change",
    [
        lambda z: 5 * torch.tanh(z / 5),
        lambda z: z * z.sigmoid(),
        lambda z: z.log_softmax(-1),
        lambda z: z.clone().requires_grad_() * 1.001,
        lambda z: z.unflatten(1, (3, 3)).permute(0, 2, 1).flatten(1),
    ],
    ids=["capped", "gated", "normalised", "scaled", "permuted"],
)
def test_other_heads_fall_back(change):
    torch.manual_seed(0)
    model, x = Changed(change).double(), inputs()
    chosen = gramlab.measure(model, x)
    assert chosen.settings["outputs"] == "exact"
    assert_same(chosen, gramlab.measure(model, x, outputs="exact"), FAMILY, 0.0)
    with pytest.raises(ValueError, match="without a cap"):
        gramlab.measure(model, x, outputs="readout")


class ScaledGradient(torch.autograd.Function):
    """The identity, whose gradient is three times too large."""

    @staticmethod
    def forward(ctx, z):
        return z.view_as(z)

    @staticmethod
    def backward(ctx, g):
        return 3 * g


def test_a_head_that_scales_gradients_alone_falls_back():
    torch.manual_seed(0)
    model, x = Changed(ScaledGradient.apply).double(), inputs()
    chosen = gramlab.measure(model, x)
    assert chosen.settings["outputs"] == "exact"
    plain = Changed(lambda z: z).double()
    plain.load_state_dict(model.state_dict())
    expected = gramlab.measure(plain, x, outputs="exact")
    for name in expected:
        torch.testing.assert_close(chosen[name].agop, 9 * expected[name].agop)
    with pytest.raises(ValueError, match="without a cap"):
        gramlab.measure(model, x, outputs="readout")


def gradient_hook(module, name):
    """Multiply by 3 the gradient that leaves a module through its inputs, as a user's hook might."""
    module.get_submodule(name).register_full_backward_hook(lambda _, inputs, outputs: (3 * inputs[0],))
    return module


@pytest.mark.parametrize("name", ["2.2", "2"], ids=["its own", "of the module around it"])
def test_a_backward_hook_around_the_head_is_obeyed(name):
    torch.manual_seed(0)
    head = nn.Sequential(nn.Linear(7, 6), nn.Tanh(), nn.Linear(6, 30))
    plain, x = nn.Sequential(nn.Linear(8, 7), nn.Tanh(), head).double(), torch.randn(11, 8, dtype=torch.double)
    hooked = gradient_hook(copy.deepcopy(plain), name)
    assert gramlab.measure(plain, x).settings["outputs"] == "readout"
    chosen = gramlab.measure(hooked, x)
    assert chosen.settings["outputs"] == "exact"
    z = hooked[0](x)
    gradients = torch.stack([torch.autograd.grad(f.sum(), z, retain_graph=True)[0] for f in hooked[1:](z).T])
    torch.testing.assert_close(chosen["0"].ptk, torch.einsum("oni,onj->ij", gradients, gradients) / len(x))
    unhooked = gramlab.measure(plain, x)["0"].ptk
    torch.testing.assert_close(chosen["0"].ptk, 9 * unhooked)
    with pytest.raises(ValueError, match="backward hook"):
        gramlab.measure(hooked, x, outputs="readout")


class Beside(nn.Module):
    """A network with a layer that reaches the outputs by another way than the head's input."""

    def __init__(self, how):
        super().__init__()
        self.how, self.body, self.head = how, nn.Linear(4, 3), nn.Linear(3, 9)
        self.more = nn.Conv1d(9, 9, 1, bias=False) if how == "after" else nn.Linear(4, 9, bias=False)
        with torch.no_grad():
            self.more.weight.copy_(torch.eye(9)[..., None] if how == "after" else torch.zeros(9, 4))

    def forward(self, x):
        if self.how == "after":
            return self.more(self.head(torch.tanh(self.body(x))).unsqueeze(-1)).squeeze(-1)
        beside = self.more(x)
        if self.how == "straight through":
            beside = beside + x.sum()
            beside = beside - beside.detach()
        return beside + self.head(torch.tanh(self.body(x)))


@pytest.mark.parametrize("how", ["zero", "straight through", "after"])
def test_a_layer_beside_the_head_is_measured_where_it_adds_nothing(how):
    torch.manual_seed(0)
    model, x = Beside(how).double(), inputs()
    assert torch.equal(model(x), model.head(torch.tanh(model.body(x))))
    chosen = gramlab.measure(model, x)
    assert chosen.settings["outputs"] == "exact"
    torch.testing.assert_close(chosen["more"].ptk, torch.eye(9, dtype=torch.float64))  # its outputs are the network's
    # where the layer is not measured, the others' derivatives come through the head alone
    assert gramlab.measure(model, x, layers=["body", "head"]).settings["outputs"] == "readout"
    with pytest.raises(ValueError, match="a measured layer beside or after it"):
        gramlab.measure(model, x, outputs="readout")


class Untied(Tied):
    """The language model with the product of its head written out, in one of several ways."""

    def __init__(self, product):
        super().__init__()
        del self.head
        self.product = product

    def forward(self, input_ids, attention_mask=None):
        return self.product(torch.tanh(self.up(self.embed(input_ids)).cumsum(1)), self.embed.weight)


@pytest.mark.parametrize("outputs", [None, "exact", 40])
def test_a_head_of_bare_tensors_is_the_readout_and_is_reported(outputs):
    torch.manual_seed(0)
    model, same = Tied().double(), Untied(lambda h, W: nn.functional.linear(h, W)).double()
    same.load_state_dict(model.state_dict(), strict=False)
    ids = torch.randint(0, 23, (4, 3))
    measured = gramlab.measure(same, ids, outputs=outputs)
    assert measured.settings["outputs"] == (outputs or "readout")
    assert list(measured) == ["embed", "up"]
    assert set(measured.left_out) == {"embed.weight"}
    assert "embed.weight (also multiplied by" in repr(measured)
    # the module's head gives the same network, summed over its outputs
    expected = gramlab.measure(model, ids, outputs=outputs or "exact", layers=["embed", "up"])
    assert_same(measured, expected, FAMILY)
    assert expected.left_out == {}
    limit = int(gramlab.plan(same, ids, outputs=outputs).layers[["sums", "batch"]].sum(axis=1).max())
    assert len(gramlab.plan(same, ids, outputs=outputs, max_memory=limit).rounds) == 2
    assert gramlab.measure(same, ids, outputs=outputs, max_memory=limit).left_out == measured.left_out


def test_a_bare_head_that_is_changed_falls_back():
    torch.manual_seed(0)
    model = Untied(lambda h, W: 2 * torch.nn.functional.linear(h, W)).double()
    assert gramlab.measure(model, torch.randint(0, 23, (4, 3))).settings["outputs"] == "exact"


def test_products_inside_of_layers_are_not_reported():
    torch.manual_seed(0)
    linear = nn.functional.linear
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1, enable_nested_tensor=False)
    measured = gramlab.measure(model, torch.randn(3, 4, 8), layers="layers.0.linear1")
    assert set(measured.left_out.values()) == {"not named in layers="}
    assert nn.functional.linear is linear


def test_a_head_that_is_capped_in_some_batches_is_exact_in_all():
    torch.manual_seed(0)
    model = Changed(lambda z: z.clamp(max=cap)).double()
    x = inputs(8)
    largest = model.body(x).detach().amax(1)
    x, cap = x[largest.argsort()], float(largest.median()) + 1e-6  # no row of the first batch is capped
    chosen = gramlab.measure(model, x, batch_size=4)
    assert chosen.settings["outputs"] == "readout"
    assert_same(chosen, gramlab.measure(model, x, outputs="exact"), FAMILY)


def test_many_outputs_have_the_identity_for_a_kernel():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 320), nn.Tanh(), nn.Linear(320, 300))
    x = torch.randn(7, 4)
    chosen = gramlab.measure(model, x)
    assert chosen.settings["outputs"] == "readout"
    assert torch.equal(chosen["2"].ptk, torch.eye(300, dtype=torch.float64))
    assert_same(chosen, gramlab.measure(model, x, outputs="exact"), FAMILY, 1e-6)


def estimates(root, monkeypatch, m, **options):
    monkeypatch.setenv(ROOT_VARIABLE, str(root))
    return gramlab.measure(mlp(40), inputs(6), outputs=m, **options)


def test_the_estimate_is_unbiased_and_its_error_falls_with_the_root_of_m(monkeypatch):
    exact = gramlab.measure(mlp(40), inputs(6), outputs="exact")["0"].agop
    errors = {}
    for m in (1, 4, 16, 64):
        agops = [estimates(root, monkeypatch, m, layers="0")["0"].agop for root in range(30)]
        distances = [float((agop - exact).norm() / exact.norm()) for agop in agops]
        errors[m] = np.sqrt(np.mean(np.square(distances)))
        mean = torch.stack(agops).mean(0)
        assert float((mean - exact).norm() / exact.norm()) < 3 * errors[m] / 30**0.5
    slope = np.polyfit(np.log(list(errors)), np.log(list(errors.values())), 1)[0]
    assert -0.6 < slope < -0.4


def test_the_stated_standard_error_is_the_errors_size(monkeypatch):
    exact = gramlab.measure(mlp(40), inputs(6), outputs="exact")["0"]
    runs = [estimates(root, monkeypatch, 8, layers="0")["0"] for root in range(40)]
    actual = np.mean([float((run.agop - exact.agop).norm() / exact.agop.norm()) ** 2 for run in runs])
    stated = np.mean([run.relative_error("agop") ** 2 for run in runs])
    assert stated == pytest.approx(actual, rel=0.35)
    assert exact.relative_error("agop") == 0.0


def test_cosines_are_debiased_and_their_intervals_cover(monkeypatch):
    exact = gramlab.measure(mlp(40), inputs(6), outputs="exact")
    for name in ("0", "2"):
        true = exact[name].cosine("gram", "agop")
        runs = [estimates(root, monkeypatch, 8)[name] for root in range(60)]
        plain = np.mean([gramlab.cosine(run.gram, run.agop) for run in runs])
        estimated = [run.estimate("gram", "agop") for run in runs]
        error = np.std([e.value for e in estimated]) / 60**0.5
        assert abs(np.mean([e.value for e in estimated]) - true) < max(4 * error, abs(plain - true) / 3)
        covered = np.mean([e.interval[0] <= true <= e.interval[1] for e in estimated])
        assert 0.85 <= covered <= 1.0  # 95 % of 60, give or take
        assert np.mean([e.standard_error for e in estimated]) == pytest.approx(
            np.std([e.value for e in estimated]), rel=0.6
        )
        assert runs[0].cosine("gram", "agop") == estimated[0].value
    assert exact["0"].estimate("gram", "agop").standard_error == 0.0


def test_the_interval_of_a_cosine_near_1_covers(monkeypatch):
    """Draws whose debiased cosines exceed 1 must still have a spread."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 40), nn.GELU(), nn.Linear(40, 60), nn.Tanh()).double()
    x = torch.randn(50, 20, dtype=torch.float64)
    true = gramlab.measure(model, x, layers="2", outputs="exact")["2"].cosine("gram", "agop")
    assert true > 0.999
    covered = 0
    for root in range(100):
        monkeypatch.setenv(ROOT_VARIABLE, str(root))
        estimate = gramlab.measure(model, x, layers="2", outputs=16)["2"].estimate("gram", "agop")
        assert estimate.interval[0] <= estimate.value <= estimate.interval[1] <= 1.0
        covered += estimate.interval[0] <= true <= estimate.interval[1]
    assert covered >= 90  # 95 of 100, give or take


def test_the_interval_is_that_of_students_t_with_the_jackknifes_error(monkeypatch):
    """Against sums over pairs of separate groups of cotangents, and scipy's interval at 95 %."""
    layer = estimates(0, monkeypatch, 8)["0"]
    agops, gram = [group.agop.flatten() for group in layer.by_cotangent_group()], layer.gram.flatten()
    count = len(agops)

    def debiased(kept):
        square = np.mean([float(a @ b) for a, b in itertools.permutations(kept, 2)])
        return np.mean([float(gram @ a) for a in kept]) / float(gram.norm()) / square**0.5

    left_out = np.array([debiased(agops[:g] + agops[g + 1 :]) for g in range(count)])
    value, error = debiased(agops), ((count - 1) * left_out.var()) ** 0.5
    interval = scipy.stats.t.interval(0.95, count - 1, loc=value, scale=error)
    assert -1 < interval[0] < interval[1] < 1  # or it would be cut
    estimate = layer.estimate("gram", "agop")
    assert (estimate.value, estimate.standard_error) == pytest.approx((value, error))
    assert estimate.interval == pytest.approx(interval)


def rectangle(d, k, c, seed, n=5):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(d, k), nn.GELU(), nn.Linear(k, c)).double(), torch.randn(n, d, dtype=torch.float64)


@pytest.mark.parametrize(("d", "k"), [(20, 30), (30, 20)], ids=["matrices", "factors"])
def test_nulls_of_estimated_cosines_are_debiased(d, k):
    """Over many networks the mean null is the exact one, where that of the estimated matrix is too small."""
    errors, plain = [], []
    for seed in range(60):
        model, x = rectangle(d, k, 40, seed)
        exact = gramlab.measure(model, x, outputs="exact", layers="0")["0"]
        estimated = gramlab.measure(model, x, outputs=4, layers="0")["0"]
        null = np.array(gramlab.cosine_null(exact.gram, exact.agop))
        errors.append(np.array(estimated.cosine_null("gram", "agop")) / null - 1)
        plain.append(np.array(gramlab.cosine_null(estimated.gram, estimated.agop)) / null - 1)
    mean, error = np.mean(errors, 0), np.std(errors, 0) / 60**0.5
    bias = np.abs(np.mean(plain, 0))
    assert bias[0] > 0.02
    # a ratio of unbiased numbers keeps a bias of second order
    assert np.all(np.abs(mean) < 4 * error + bias / 5), (mean, error, bias)


def test_a_null_of_two_estimates_takes_separate_draws():
    """AGOP and centred AGOP have the same signs: products of their traces in one draw would be correlated."""
    values = []
    for seed in range(40):
        model, x = rectangle(6, 8, 30, seed)
        initial = copy.deepcopy(model)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(1.5)
        options = {"layers": "0", "initial": initial}
        exact = gramlab.measure(model, x, outputs="exact", **options)["0"]
        estimated = gramlab.measure(model, x, outputs=16, **options)["0"]
        pair = ("agop", "double_centered_agop")
        values.append(estimated.cosine_null(*pair)[0] / gramlab.cosine_null(*(getattr(exact, q) for q in pair))[0] - 1)
    assert abs(np.mean(values)) < 4 * np.std(values) / 40**0.5 + 0.01


def test_an_estimate_takes_each_factor_of_a_draw_once(monkeypatch):
    """A factor's products are kept under its name: taken anew, they would be computed anew."""
    torch.manual_seed(0)
    layer = gramlab.measure(nn.Linear(20, 4).double(), torch.randn(30, 20, dtype=torch.float64), outputs=8)[""]
    factor, taken = type(layer).factor, []

    def counted(self, name, quantity):
        taken.append((id(self), name))
        return factor(self, name, quantity)

    monkeypatch.setattr(type(layer), "factor", counted)
    layer.estimate("agop", "gram", centred=True)
    assert sum(name == "ptk weight" for _, name in taken) == 4  # the groups of cotangents
    assert len(set(taken)) == len(taken)


def test_estimated_diagonals_are_debiased():
    differences, plain = [], []
    for seed in range(60):
        model, x = rectangle(80, 60, 40, seed)
        with torch.no_grad():  # of columns of several sizes, so that the diagonals correlate
            model[0].weight *= torch.linspace(0.85, 1.15, 80, dtype=torch.float64)
        exact = gramlab.measure(model, x, outputs="exact", layers="0")["0"]
        estimated = gramlab.measure(model, x, outputs=16, layers="0")["0"]
        true = gramlab.pearson(exact.gram, exact.agop, diagonal=True)
        differences.append(estimated.pearson("gram", "agop", diagonal=True) - true)
        plain.append(gramlab.pearson(estimated.gram, estimated.agop, diagonal=True) - true)
    error, bias = np.std(differences) / 60**0.5, abs(np.mean(plain))
    assert bias > 8 * error
    assert abs(np.mean(differences)) < 4 * error


@pytest.mark.parametrize("outputs", ["exact", 4])
@pytest.mark.parametrize("act", ["cosine", "pearson", "cosine_null", "estimate", "relative_error"])
def test_an_unknown_quantity_names_the_nearest(act, outputs):
    layer = gramlab.measure(mlp(), inputs(), outputs=outputs)["0"]
    names = ["agob"] if act == "relative_error" else ["gram", "agob"]
    with pytest.raises(ValueError, match="did you mean 'agop'"):
        getattr(layer, act)(*names)


def test_signs_depend_on_the_sample_alone():
    model, x = mlp(), inputs()
    for m in (1, 5):
        together, apart = (gramlab.measure(model, x, outputs=m, batch_size=size) for size in (11, 2))
        assert_same(apart, together, FAMILY, 1e-12)
    assert f"estimated from {5} cotangents" in repr(together)


def test_samples_have_signs_of_their_own():
    """The error of one cotangent for 100 copies of a sample is a tenth of that for the sample alone."""
    torch.manual_seed(0)
    model, x = mlp(40), torch.randn(1, 4, dtype=torch.float64)
    exact = gramlab.measure(model, x, outputs="exact")["0"].agop
    errors = []
    for n in (1, 100):
        agop = torch.stack([gramlab.measure(model, x.repeat(n, 1), outputs=m)["0"].agop for m in range(1, 6)])
        errors.append(float(((agop - exact).norm(dim=(1, 2)) * torch.arange(1, 6) ** 0.5).mean()))
    assert errors[1] < 0.3 * errors[0]


def test_estimated_centred_quantities_are_those_of_the_same_signs():
    model, x = mlp(), inputs()
    initial = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5)
    exact = gramlab.measure(model, x, outputs="exact", initial=initial)
    estimated = gramlab.measure(model, x, outputs=400, initial=initial)
    for name in ("0", "2"):
        for quantity in ("centered_ptk", "double_centered_agop"):
            a, b = getattr(estimated[name], quantity), getattr(exact[name], quantity)
            assert float((a - b).norm()) < 0.15 * float(b.norm())
    assert float(estimated["4"].centered_ptk.norm()) < 1e-12


def test_few_cotangents_say_what_they_lack():
    layer = gramlab.measure(mlp(), inputs(), outputs=1)["0"]
    for act in (lambda: layer.cosine("gram", "agop"), lambda: layer.relative_error("agop")):
        with pytest.raises(gramlab.Undefined, match="outputs=2 or more"):
            act()
    assert "(estimated from 1 cotangent)" in repr(gramlab.measure(mlp(), inputs(), outputs=1))
    two = gramlab.measure(mlp(), inputs(), outputs=2)["0"].estimate("gram", "agop")
    assert two.standard_error == float("inf")


def test_a_long_default_is_estimated_and_says_so():
    torch.manual_seed(0)
    model = Changed(torch.tanh)
    model.body[2] = nn.Linear(3, 5000)
    measurement = gramlab.measure(model, torch.randn(3, 4), layers="body.0")
    assert measurement.settings["outputs"] == 16
    assert "5000 outputs (estimated from 16 cotangents)" in repr(measurement)


@pytest.mark.parametrize("outputs", ["all", 0, 2.5, True])
def test_bad_outputs_are_refused(outputs):
    with pytest.raises(ValueError, match="outputs must be"):
        gramlab.measure(mlp(), inputs(), outputs=outputs)
