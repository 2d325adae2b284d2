"""The model comes back as it was, whether measuring succeeds or not."""

import random
import threading

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import gramlab


class Counter(nn.Module):
    """Counts its calls in a buffer and in a number, even in evaluation, and rebinds another buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))
        self.register_buffer("last", torch.zeros(3))
        self.count, self.half = 0, 0.5

    def forward(self, x):
        self.calls += 1
        self.count, self.rows = self.count + 1, len(x)
        vars(self).pop("half", None)
        self.last = x.detach().mean(0)
        # and draws random numbers, of every kind
        return x + 0.01 * torch.randn_like(x) * random.random() * np.random.rand()


def network():
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    model = nn.Sequential(
        nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(0.5), nn.ReLU(inplace=True), Counter(), nn.Linear(6, 2)
    )
    model[0].weight.requires_grad_(False)
    model[1].eval()
    model(torch.randn(8, 4)).sum().backward()
    model[5].register_forward_hook(lambda module, args, output: output * 2)
    model[0].register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    return model


def state(model):
    hooks = [
        (list(m._forward_hooks.items()), list(m._forward_pre_hooks.items()), list(m._backward_hooks.items()))
        for m in model.modules()
    ]
    return {
        "tensors": {key: (value.data_ptr(), value.clone()) for key, value in model.state_dict().items()},
        "grads": {key: None if p.grad is None else p.grad.clone() for key, p in model.named_parameters()},
        "grad ids": [id(p.grad) for p in model.parameters()],
        "needs grad": [p.requires_grad for p in model.parameters()],
        "modes": [m.training for m in model.modules()],
        "hooks": hooks,
        "random": (torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()),
        "grad mode": torch.is_grad_enabled(),
        "numbers": [
            {k: v for k, v in vars(m).items() if isinstance(v, (bool, int, float, str))} for m in model.modules()
        ],
        "precision": torch.get_float32_matmul_precision(),
        "convolutions": torch.backends.cudnn.allow_tf32,
    }


def same(a, b):
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(left, right) for left, right in zip(a, b, strict=True))
    return a == b


def loader():
    x, y = torch.randn(30, 4), torch.randn(30, 2)
    return DataLoader(TensorDataset(x, y), batch_size=7, shuffle=True)


def check_same(before, after):
    assert [key for key in before if not same(before[key], after[key])] == []


def test_after_measuring():
    model, data = network(), loader()
    before = state(model)
    gramlab.measure(model, data, weight_decay=0.1, initial={k: v * 0 for k, v in model.state_dict().items()})
    check_same(before, state(model))
    with torch.no_grad():
        gramlab.features(model, data, what="output")
        gramlab.measure(model, data)
        assert not torch.is_grad_enabled()
    check_same(before, state(model))


def test_after_an_error_in_the_middle():
    model, x = network(), torch.randn(30, 4)
    before = state(model)

    def forward(model, inputs):
        if len(inputs) < 7:
            raise KeyboardInterrupt
        return model(inputs)

    with pytest.raises(KeyboardInterrupt):
        gramlab.measure(model, x, torch.randn(30, 2), batch_size=7, forward=forward)
    check_same(before | {"random": None}, state(model) | {"random": None})
    with pytest.raises(KeyboardInterrupt):
        gramlab.features(model, x, batch_size=7, forward=forward)
    check_same(before | {"random": None}, state(model) | {"random": None})


def test_the_users_hooks_are_not_part_of_the_layer():
    model = network()
    model[4] = nn.Identity()
    x = torch.randn(9, 4)
    h = gramlab.features(model, x, "0")["0"]
    torch.testing.assert_close(h, x + 1)  # what the layer multiplies, after the user's pre-hook
    z = gramlab.features(model, x, "5", what="output")["5"]
    doubled = gramlab.measure(model, x, layers="5")["5"].ptk
    torch.testing.assert_close(model.eval()(x), 2 * z)  # the user's hook doubles what the layer gives
    torch.testing.assert_close(doubled, 4 * torch.eye(2, dtype=torch.float64))


def doubles(module, arguments, z):
    return 2 * z if isinstance(module, nn.Linear) else None


@pytest.mark.parametrize("hook", [doubles, lambda module, arguments, z: None], ids=["doubles", "only looks"])
def test_hooks_of_all_modules_are_not_part_of_the_layer(hook):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    x, y = torch.randn(9, 4).double(), torch.randn(9, 3).double()
    factor = 2 if hook is doubles else 1
    first, act, last = model
    z = first(x).detach()

    def of_first(z):
        return factor * last(act(factor * z))

    J = torch.func.vmap(torch.func.jacrev(of_first))(z)
    handle = nn.modules.module.register_module_forward_hook(hook)
    try:
        hooks = list(nn.modules.module._global_forward_hooks)
        measured = gramlab.measure(model, x, y)
        seen = gramlab.features(model, x, what="output")
        assert list(nn.modules.module._global_forward_hooks) == hooks
    finally:
        handle.remove()
    torch.testing.assert_close(seen["0"], z)
    torch.testing.assert_close(measured["0"].ptk, torch.einsum("noi,noj->ij", J, J) / 9)
    (gradient,) = torch.autograd.grad(nn.functional.mse_loss(of_first(first(x)), y), first.weight)
    torch.testing.assert_close(measured["0"].weight_gradient, gradient)
    assert not measured.left_out


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
def test_a_backward_hook_of_all_modules_is_obeyed():
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 9)).double(), torch.randn(9, 4).double()
    plain = gramlab.measure(model, x)

    def triples(module, inputs, outputs):
        return (3 * inputs[0],) if module is model[2] else None

    handle = nn.modules.module.register_module_full_backward_hook(triples)
    try:
        hooked = gramlab.measure(model, x)
    finally:
        handle.remove()
    assert (plain.settings["outputs"], hooked.settings["outputs"]) == ("readout", "exact")
    torch.testing.assert_close(hooked["0"].ptk, 9 * plain["0"].ptk)
    torch.testing.assert_close(hooked["2"].ptk, plain["2"].ptk)


def test_training_with_and_without_measuring_ends_in_the_same_weights():
    def train(measured):
        model, data = network(), loader()
        optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
        model.train()
        for _ in range(3):
            for x, y in data:
                optimizer.zero_grad()
                (model(x) - y).square().mean().backward()
                if measured:
                    gramlab.measure(model, data, weight_decay=0.1)
                optimizer.step()
        return model.state_dict()

    plain, measured_run = train(False), train(True)
    assert all(torch.equal(plain[key], measured_run[key]) for key in plain)


def test_products_are_not_rounded_to_fewer_bits():
    model, x = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2)), torch.randn(50, 64)
    expected = gramlab.measure(model, x)["0"].agop
    torch.set_float32_matmul_precision("medium")
    before = state(model)
    try:
        assert torch.equal(gramlab.measure(model, x)["0"].agop, expected)
        check_same(before, state(model))
    finally:
        torch.set_float32_matmul_precision("highest")


def test_inherited_settings_of_precision_stay_inherited():
    """One setting for all products still changes all of them afterwards."""
    library = torch.backends
    backends = library.cudnn.conv, library.cudnn.rnn, library.mkldnn.conv  # no test gives them a setting of their own
    before = [backend.fp32_precision for backend in backends]
    try:
        library.fp32_precision = "tf32"
        gramlab.measure(nn.Linear(2, 2), torch.randn(3, 2))
        assert [backend.fp32_precision for backend in backends] == ["tf32"] * 3
        library.fp32_precision = "ieee"
        assert [backend.fp32_precision for backend in backends] == ["ieee"] * 3
    finally:
        library.fp32_precision = "none"
    assert [backend.fp32_precision for backend in backends] == before


class Noisy(nn.Module):
    """A parametrization that draws random numbers in training."""

    def forward(self, weight):
        return weight + 0.1 * torch.randn_like(weight) if self.training else weight


@pytest.mark.parametrize("act", ["measure", "features", "denoising", "Recorder"])
def test_computed_weights_are_computed_in_evaluation_mode(act, tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(4, 6)), nn.Linear(6, 2))
    nn.utils.parametrize.register_parametrization(model[1], "weight", Noisy())
    x, y = torch.randn(9, 4), torch.arange(9) % 2
    before = state(model)
    if act == "Recorder":
        gramlab.Recorder(model, x, y, tmp_path / "t").begin()
    else:
        getattr(gramlab, act)(model, x, *([] if act == "features" else [y]))
    check_same(before, state(model))


def test_in_inference_mode():
    model, x = network(), torch.randn(5, 4)
    model[4] = nn.Identity()
    expected = gramlab.measure(model, x)["0"].agop
    with torch.inference_mode():
        assert torch.equal(gramlab.measure(model, x)["0"].agop, expected)


class Careless(nn.Module):
    """Changes all that a module can hold in its forward pass."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.words = nn.Embedding(6, 4, max_norm=0.1)
        self.clamped = nn.Parameter(torch.linspace(-1, 1, 4))
        self.register_buffer("adjacency", torch.eye(4).to_sparse())
        self.register_buffer("rows", torch.eye(4).to_sparse_csr())
        self.register_buffer("grown", torch.ones(2))
        self.mean, self.z, self.seen, self.table = torch.zeros(4), None, [0], {"calls": 0}
        self.once = self.inner.register_forward_hook(lambda module, args, output: None, with_kwargs=False)
        self.inner.register_forward_pre_hook(lambda module, args, keywords: None, with_kwargs=True)

    def forward(self, x):
        self.once.remove()
        self.inner.register_forward_hook(lambda module, args, keywords, output: 2 * output, with_kwargs=True)
        self.inner.register_full_backward_hook(lambda module, inputs, outputs: None)
        self.inner.bias.requires_grad_(False)
        x = x + self.words(torch.arange(len(x)) % 6)
        self.clamped.data.clamp_(min=0)
        self.adjacency._values().data.mul_(2)
        self.rows.values().mul_(2)
        self.grown.resize_(5).fill_(1)
        np.random.rand()
        self.mean.add_(x.detach().mean(0))
        self.mean = 0.9 * self.mean
        self.z = self.more = self.inner(x)
        self.seen.append(self.z)
        self.table["z"] = self.z
        self.register_buffer("new", torch.ones(1))
        self.register_parameter("newer", nn.Parameter(torch.ones(1)))
        with torch.enable_grad():
            self.inner(torch.ones(1, 4)).sum().backward()
        return torch.sparse.mm(self.adjacency, self.z.T).T * self.clamped


def everything(module):
    dense = {key: value.to_dense().clone() for key, value in module.state_dict().items()}
    attributes = {key: vars(module)[key] for key in sorted(vars(module)) if not key.startswith("_")}
    tensors = {key: value.clone() for key, value in attributes.items() if isinstance(value, torch.Tensor)}
    others = [(key, id(value)) for key, value in attributes.items()]
    grads = {key: None if p.grad is None else (id(p.grad), p.grad.clone()) for key, p in module.named_parameters()}
    inner = list(module.seen), dict(module.table)
    hooks = {key: list(value.items()) for key, value in vars(module.inner).items() if "_hooks" in key}
    needs_grad = [p.requires_grad for p in module.parameters()]
    return {"dense": dense, "tensors": tensors, "others": others, "grads": grads, "inner": inner, "hooks": hooks,
            "needs grad": needs_grad,
            "random": [np.random.get_state()[1].copy()]}  # fmt: skip


@pytest.mark.parametrize("act", ["measure", "features", "plan"])
def test_a_careless_model_comes_back_as_it_was(act):
    torch.manual_seed(0)
    model = Careless()
    model.inner(torch.ones(1, 4)).sum().backward()
    before = everything(model)
    names = {key: id(value) for key, value in [*model.named_parameters(), *model.named_buffers()]}
    getattr(gramlab, act)(model, torch.randn(12, 4), layers="inner")
    check_same(before, everything(model))
    assert names == {key: id(value) for key, value in [*model.named_parameters(), *model.named_buffers()]}


def test_a_graph_of_sparse_edges_is_measured():
    """As with a dense adjacency, by autograd."""
    torch.manual_seed(0)

    class Graph(nn.Module):
        def __init__(self, adjacency):
            super().__init__()
            self.layer = nn.Linear(3, 2)
            self.register_buffer("adjacency", adjacency)

        def forward(self, x):
            return self.adjacency @ self.layer(x)

    dense = (torch.rand(5, 5) < 0.5).float()
    x = torch.randn(5, 3)
    for layout in (torch.sparse_coo, torch.sparse_csr):
        model = Graph(dense.to_sparse(layout=layout))
        state = np.random.get_state()[1].copy()
        measured = gramlab.measure(model, x, batch_size=5, quantities="agop", outputs="exact")["layer"]
        h = x.clone().requires_grad_()
        gradients = [torch.autograd.grad((dense @ model.layer(h))[:, k].sum(), h)[0] for k in range(2)]
        torch.testing.assert_close(measured.agop.float(), sum(g.T @ g for g in gradients) / 5)
        assert (np.random.get_state()[1] == state).all()


@pytest.mark.parametrize("act", ["measure", "features", "plan"])
def test_a_loaders_own_generator_is_set_back(act):
    generator = torch.Generator().manual_seed(3)
    data = DataLoader(TensorDataset(torch.randn(9, 4)), batch_size=4, shuffle=True, generator=generator)
    before = generator.get_state()
    getattr(gramlab, act)(nn.Linear(4, 2), data)
    assert torch.equal(generator.get_state(), before)


def test_threads_that_measure_at_once_leave_torch_as_it_was():
    linear = nn.functional.linear
    first, second = (threading.Event() for _ in range(2))
    x = torch.randn(5, 4)
    model = nn.Sequential(nn.Linear(4, 3))
    expected, found = gramlab.measure(model, x)["0"].agop, {}

    def measure(name, own, other):
        def forward(model, inputs):
            own.set()
            other.wait(0.5)  # for the other thread to begin, which it may not
            return model(inputs)

        found[name] = gramlab.measure(model, x, forward=forward)["0"].agop
        own.clear()

    threads = [threading.Thread(target=measure, args=a) for a in (("a", first, second), ("b", second, first))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert nn.functional.linear is linear
    assert torch.equal(found["a"], expected)
    assert torch.equal(found["b"], expected)


class Padded(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)
        self.o = nn.Linear(8, 3)

    def forward(self, x, padding):
        return self.o(self.e(x, src_key_padding_mask=padding))


@pytest.mark.filterwarnings("ignore:.*nested tensor")
def test_fused_encoder_layers_are_off_whatever_is_measured():
    torch.manual_seed(0)
    model = Padded().eval()
    padding = torch.arange(5).expand(6, 5) >= torch.tensor([[5], [3], [4], [2], [5], [1]])
    data = {"x": torch.randn(6, 5, 8), "padding": padding}
    enabled = torch.backends.mha.get_fastpath_enabled()
    expected = []
    hook = model.o.register_forward_pre_hook(lambda _, args: expected.append(args[0].detach()))
    model(**data)  # with gradients: no fused kernel
    hook.remove()
    for layers in (None, ["o"], ["o", "e.layers.0.linear1"]):
        torch.testing.assert_close(gramlab.features(model, data, layers)["o"], expected[0])
    first = gramlab.features(model, data, ["e.layers.0.linear1"])["e.layers.0.linear1"]
    torch.testing.assert_close(first, gramlab.features(model, data)["e.layers.0.linear1"])
    frozen = model.requires_grad_(False)
    assert list(gramlab.measure(frozen, data, layers=["e.layers.0.linear1", "o"])) == ["e.layers.0.linear1", "o"]
    assert torch.backends.mha.get_fastpath_enabled() == enabled


def test_attributes_without_plain_numbers_are_left_alone():
    model = nn.Sequential(nn.Linear(4, 2))
    kept = torch.empty(3, device="meta"), torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    model.shape, model.rows = kept
    gramlab.measure(model, torch.randn(5, 4))
    assert model.shape is kept[0]
    assert model.rows is kept[1]
