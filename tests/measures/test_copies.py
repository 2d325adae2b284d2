"""Initial weights of models whose attributes cannot be copied: tensors in a graph, locks, extra state."""

import copy
import threading

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations

import gramlab
from gramlab.measures.copies import copied_model, copied_tensors

torch.set_num_threads(1)
KEPT = {
    "tensor": lambda h: h,
    "list": lambda h: [h],
    "tuple": lambda h: (h, (h,)),
    "dict": lambda h: {"h": [h]},
    "lock": lambda _: threading.Lock(),
}


class Keeping(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.a, self.b, self.kind, self.kept = nn.Linear(6, 8), nn.Linear(8, 3), kind, None

    def forward(self, x):
        h = torch.relu(self.a(x))
        self.kept = KEPT[self.kind](h)
        return self.b(h)


class Extra(nn.Linear):
    """A layer with an extra state, which is set only where the layer is the caller's or its own copy."""

    calls = 0

    def get_extra_state(self):
        return {"calls": self.calls}

    def set_extra_state(self, state):
        self.calls = state["calls"]


def data():
    torch.manual_seed(0)
    return torch.randn(40, 6), torch.randint(3, (40,))


def moved(model):
    """The model's state before a step, after which it keeps what its forward pass made."""
    initial = copy.deepcopy(model.state_dict())
    x, y = data()
    F.cross_entropy(model(x), y).backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0.3 * parameter.grad
    model(x)
    return initial


@pytest.mark.parametrize("kind", KEPT)
def test_a_recorder_does_not_end_the_training(kind, tmp_path):
    x, y = data()
    model = Keeping(kind)
    W0, optimizer = model.a.weight.detach().double().clone(), torch.optim.SGD(model.parameters(), lr=0.1)
    recording = gramlab.Recorder(model, x, y, tmp_path / "t", every=2)
    with recording.attach(optimizer):
        for _ in range(4):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    change = model.a.weight.detach().double() - W0
    m = gramlab.measure(model, x, y)["a"]
    values = {(row["step"], row["layer"], row["quantity"]): row["value"] for row in recording.rows}
    centred_agop = change.T @ m.ptk @ change
    assert values[4, "a", "centered_nfa"] == pytest.approx(gramlab.cosine(change.T @ change, centred_agop), rel=1e-5)


@pytest.mark.parametrize("kind", [kind for kind in KEPT if kind != "lock"])
def test_centred_quantities_of_a_model_that_keeps_tensors(kind):
    """centered_ptk runs the copy: the derivatives of f - f₀ by autograd."""
    x, _ = data()
    model, x = Keeping(kind), x.double()
    initial = {name: tensor.double() for name, tensor in moved(model).items()}
    model.double()(x)
    m = gramlab.measure(model, x, initial=initial)["b"]
    torch.testing.assert_close(m.centered_ptk, torch.zeros(3, 3, dtype=torch.float64))  # the outputs are b's own
    first = gramlab.measure(model, x, initial=initial)["a"]
    before = Keeping(kind).double()
    before.load_state_dict(initial)
    total = torch.zeros(8, 8, dtype=torch.float64)
    for row in x:
        jacobians = []
        for network in (model, before):
            z = network.a(row).detach().requires_grad_()
            outputs = network.b(torch.relu(z))
            jacobians.append(torch.stack([torch.autograd.grad(f, z, retain_graph=True)[0] for f in outputs]))
        J = jacobians[0] - jacobians[1]
        total += J.T @ J
    torch.testing.assert_close(first.centered_ptk, total / len(x))


class Stateful(nn.Module):
    """A network that takes batches of four samples only, since it keeps a state for each of them."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(5, 6), nn.Linear(6, 3)
        self.register_buffer("state", torch.randn(4, 6))
        self.double()

    def forward(self, x):
        return self.b(torch.tanh(self.a(x) + self.state))


def test_centred_quantities_of_batches_of_one_size():
    """The sample's derivatives at the output of the first layer, b's weight times tanh's slope, before and after."""
    model, before = Stateful(), Stateful()
    with torch.no_grad():
        model.a.weight.add_(0.1 * torch.randn_like(model.a.weight))
    x = torch.randn(8, 5, dtype=torch.float64)
    measured = gramlab.measure(model, x, initial=before.state_dict(), batch_size=4)["a"]
    slopes = [1 - torch.tanh(network.a(x) + network.state.repeat(2, 1)).square() for network in (model, before)]
    J = model.b.weight * (slopes[0] - slopes[1])[:, None]
    torch.testing.assert_close(measured.centered_ptk, torch.einsum("nck,ncl->kl", J, J).detach() / 8)


def test_a_lock_is_named_where_the_model_is_copied():
    x, y = data()
    model = nn.Sequential(nn.Identity(), Keeping("lock"))
    initial = moved(model)
    with pytest.raises(ValueError, match=r"the module '1', a Keeping, keeps 'kept', which cannot be copied .*lock"):
        gramlab.measure(model, x, y, initial=initial)
    m = gramlab.measure(model, x, y, initial=initial, quantities=["centered_gram"])["1.a"]
    change = model[1].a.weight.detach().double() - initial["1.a.weight"].double()
    torch.testing.assert_close(m.centered_gram, change.T @ change)


def test_an_extra_state_stays_the_models_own(tmp_path):
    x, y = data()
    model = nn.Sequential(Extra(6, 3))
    initial = moved(model)
    model[0].calls = 5
    for quantities in (None, ["centered_gram"]):
        m = gramlab.measure(model, x, y, initial=initial, quantities=quantities)["0"]
        change = model[0].weight.detach().double() - initial["0.weight"].double()
        torch.testing.assert_close(m.centered_gram, change.T @ change)
        assert model[0].calls == 5
    recording = gramlab.Recorder(model, x, y, tmp_path / "t")
    recording.begin()
    assert recording.rows


@pytest.mark.parametrize("copied", [copied_model, copied_tensors])
def test_a_copy_has_tensors_of_its_own(copied):
    """Tied and parametrized weights, buffers, and a module in two places."""
    torch.manual_seed(0)
    shared = nn.Linear(4, 4)
    model = nn.Sequential(shared, parametrizations.weight_norm(nn.Linear(4, 4)), nn.BatchNorm1d(4), shared)
    tied = nn.Linear(4, 4)
    tied.weight = shared.weight
    model.append(tied)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    new = copied(model)
    assert new[0] is new[3]
    assert new[4].weight is new[0].weight
    assert new[1].weight.data_ptr() != model[1].weight.data_ptr()
    torch.testing.assert_close(new[1].weight, model[1].weight)
    new.load_state_dict({name: tensor + 1 for name, tensor in before.items()})
    for name, tensor in model.state_dict().items():
        torch.testing.assert_close(tensor, before[name])
    new[0].register_forward_hook(lambda *_: None)
    assert not model[0]._forward_hooks
