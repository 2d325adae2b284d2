"""The model comes back as it was, whether measuring succeeds or not."""

import random

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
