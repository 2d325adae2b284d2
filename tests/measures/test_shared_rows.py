"""Layers whose rows serve several samples, such as position embeddings, against a Jacobian for each sample."""

import pytest
import torch
from torch import nn
from torch.func import functional_call, jacrev
from torch.utils._pytree import tree_map

import gramlab

torch.set_num_threads(1)
LENGTH = 5


class Positions(nn.Module):
    """Token and position embeddings, whose positions come as (1, T), as (T,), or as (n, T)."""

    def __init__(self, ids: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.ids = ids
        self.token, self.position, self.head = nn.Embedding(11, 4), nn.Embedding(LENGTH, 4), nn.Linear(4, 3)
        self.double()

    def forward(self, x):
        ids = torch.arange(x.shape[1])
        if self.ids != "flat":
            ids = ids.unsqueeze(0)
        if self.ids == "all":
            ids = ids.expand(len(x), -1)
        return self.head(torch.tanh(self.token(x) + self.position(ids)).square().sum(1))


class Queries(nn.Module):
    """A Linear layer on learned vectors, (Q, d) or (1, Q, d), which are the same for all samples."""

    def __init__(self, axis: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.queries = nn.Parameter(torch.randn(*([1] if axis else []), LENGTH, 4))
        self.project, self.encode, self.head = nn.Linear(4, 6), nn.Linear(7, 6), nn.Linear(6, 3)
        self.double()

    def forward(self, x):
        scores = torch.tanh(self.encode(x).unsqueeze(1) + self.project(self.queries))
        return self.head(scores.square().sum(1))


class Norm(nn.Module):
    """A Linear layer whose product, the same for all samples, is reshaped to a matrix."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.code, self.make, self.head = nn.Parameter(torch.randn(2)), nn.Linear(2, 12), nn.Linear(3, 3)
        self.double()

    def forward(self, x):
        return self.head(torch.tanh(x[:, :4].double() @ self.make(self.code).view(4, 3)))


def inputs(model, n):
    torch.manual_seed(1)
    y = torch.randint(3, (n,))
    return (torch.randint(11, (n, LENGTH)) if isinstance(model, Positions) else torch.randn(n, 7).double()), y


def by_hand(model, layer, x, y):
    """ptk, back_enfa and weight_gradient of a layer from Jacobians of each sample with respect to its outputs."""
    ptk = enfa = 0.0
    for row, target in zip(x, y, strict=True):
        z = []
        handle = model.get_submodule(layer).register_forward_hook(lambda m, a, out: z.append(out.detach()))  # noqa: B023
        model(row[None])
        handle.remove()

        def outputs(z, row=row):
            handle = model.get_submodule(layer).register_forward_hook(lambda m, a, out: z)
            try:
                return functional_call(model, dict(model.named_parameters()), (row[None],))[0]
            finally:
                handle.remove()

        J = jacrev(outputs)(z[0]).detach()
        J = J.reshape(len(J), -1, J.shape[-1])
        loss = jacrev(lambda z: nn.functional.cross_entropy(outputs(z), target))(z[0]).detach()  # noqa: B023
        g = loss.reshape(-1, loss.shape[-1])
        ptk, enfa = ptk + torch.einsum("ctk,ctl->kl", J, J), enfa + g.mT @ g
    return ptk / len(x), enfa / len(x)


def network(kind):
    return Positions(kind) if kind in ("row", "flat", "all") else Queries(kind == "row of queries")


LAYER = {"row": "position", "flat": "position", "all": "position", "queries": "project", "row of queries": "project"}


@pytest.mark.parametrize("n", [LENGTH, 8, 10])  # as many samples as rows, and a multiple
@pytest.mark.parametrize("kind", LAYER)
def test_each_sample_has_rows_of_its_own(kind, n):
    model = network(kind)
    x, y = inputs(model, n)
    ptk, enfa = by_hand(model, LAYER[kind], x, y)
    for batch_size in (1, 3, n):
        measured = gramlab.measure(model, x, y, batch_size=batch_size, weight_decay=0.1)
        layer = measured[LAYER[kind]]
        assert torch.allclose(layer.ptk, ptk, rtol=1e-12, atol=1e-15), batch_size
        assert torch.allclose(layer.back_enfa, enfa, rtol=1e-12, atol=1e-15), batch_size
        assert set(measured.left_out) <= {"queries"}
    loss = nn.functional.cross_entropy(model(x), y)
    weight = model.get_submodule(LAYER[kind]).weight
    (gradient,) = torch.autograd.grad(loss, weight)
    gradient = gradient.mT if isinstance(model, Positions) else gradient
    assert torch.allclose(layer.weight_gradient, gradient, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("options", [{"outputs": 4}, {"initial": True}, {"max_memory": "1GB"}])
def test_other_ways_see_the_same_rows(options):
    model = network("row")
    x, y = inputs(model, 8)
    if "initial" in options:
        options = {"initial": {name: 1.1 * t for name, t in model.state_dict().items()}}
    one, all_at_once = (gramlab.measure(model, x, y, batch_size=size, **options) for size in (1, 8))
    for name in one:
        for quantity in ("agop", "enfa", *(["centered_agop"] if "initial" in options else [])):
            a, b = getattr(one[name], quantity), getattr(all_at_once[name], quantity)
            assert float((a - b).norm()) <= 1e-12 * float(b.norm()), (name, quantity)


def test_a_layer_without_rows_of_samples_is_left_out_with_the_reason():
    model = Norm()
    x, y = inputs(model, 6)
    for options in ({}, {"max_memory": "1GB"}):
        measured = gramlab.measure(model, x, y, batch_size=3, **options)
        assert list(measured) == ["head"]
        assert "several samples" in measured.left_out["make.weight"]
        assert "several samples" in repr(measured)
    with pytest.raises(ValueError, match=r"layers \['make'\] cannot be measured here"):
        gramlab.measure(model, x, y, layers="make")
    alone = gramlab.measure(model, x, y, batch_size=1)["make"]  # with a sample at a time it can
    assert torch.allclose(alone.ptk, by_hand(model, "make", x, y)[0], rtol=1e-12)


def test_features_have_a_row_for_each_sample():
    model = network("row")
    x, _ = inputs(model, 8)
    for batch_size in (1, 3, 8):
        h = gramlab.features(model, x, "position", batch_size=batch_size)["position"]
        assert torch.equal(h, torch.arange(LENGTH).expand(8, -1))


@pytest.mark.parametrize("ids", ["row", "flat", "all"])
def test_features_repeat_the_rows_of_positions_for_each_sample(ids):
    model = Positions(ids)
    x, _ = inputs(model, 7)
    outputs = gramlab.features(model, x, what="output", batch_size=4)
    torch.testing.assert_close(outputs["position"], model.position.weight.expand(7, LENGTH, 4))
    torch.testing.assert_close(outputs["token"], model.token(x))
    assert gramlab.features(model, x, "position", batch_size=4)["position"].equal(torch.arange(LENGTH).expand(7, -1))


class Wrapper(torch.Tensor):
    """A tensor that holds another and has no storage, as quantized and distributed tensors do."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, strides=inner.stride(), dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, operation, types, args=(), kwargs=None):
        inner = tree_map(lambda value: value.inner if isinstance(value, cls) else value, (args, kwargs or {}))
        result = operation(*inner[0], **inner[1])
        return tree_map(lambda value: cls(value) if isinstance(value, torch.Tensor) else value, result)


def test_inputs_without_storage_are_measured():
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3)).double()
    x, y = torch.randn(5, 4).double(), torch.arange(5) % 3
    options = {"loss": "cross_entropy", "weight_decay": 0.1}
    wrapped = gramlab.measure(model, [(Wrapper(x), y)], **options)
    for name, layer in gramlab.measure(model, x, y, **options).items():
        torch.testing.assert_close(wrapped[name].agop, layer.agop)
        torch.testing.assert_close(wrapped[name].fact, layer.fact)


class Prototypes(nn.Module):
    """Outputs against learned vectors, a vector for each class, that two layers transform."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.vectors = nn.Parameter(torch.randn(4, 5))
        self.first, self.second, self.encode = nn.Linear(5, 6), nn.Linear(6, 7), nn.Linear(7, 7)
        self.double()

    def forward(self, x):
        return torch.tanh(self.encode(x)) @ self.second(torch.tanh(self.first(self.vectors))).mT


@pytest.mark.parametrize("n", [2, 4, 5, 8])
def test_as_many_shared_rows_as_samples_are_found(n):
    """With four samples a batch the second layer has a row for each sample by chance alone."""
    model, x = Prototypes(), torch.randn(n, 7, dtype=torch.float64)
    measured = gramlab.measure(model, x, torch.randn(n, 4), batch_size=4)
    assert list(measured) == ["encode"]
    assert {"first.weight", "second.weight"} < set(measured.left_out)
    alone = gramlab.measure(model, x, batch_size=1)
    assert list(alone) == ["first", "second", "encode"]
    torch.testing.assert_close(measured["encode"].ptk, alone["encode"].ptk)


@pytest.mark.parametrize("sizes", [[1, 4], [1, 1, 4, 4]])
def test_shared_rows_are_found_after_a_batch_of_one_sample(sizes):
    """The second layer's four rows are those of no sample, though the first batch of several has four samples."""
    model, x = Prototypes(), torch.randn(sum(sizes), 7, dtype=torch.float64)
    measured = gramlab.measure(model, list(x.split(sizes)))
    assert list(measured) == ["encode"]
    assert {"first.weight", "second.weight"} < set(measured.left_out)
    torch.testing.assert_close(measured["encode"].ptk, gramlab.measure(model, x, batch_size=1)["encode"].ptk)


class Prompt(nn.Module):
    """Attention among learned tokens (1, T, d), whose result is added to every sample."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.tokens = nn.Parameter(torch.randn(1, 3, 4))
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
        self.encode, self.head = nn.Linear(7, 4), nn.Linear(4, 3)
        self.double()

    def forward(self, x):
        prompt = self.attention(self.tokens, self.tokens, self.tokens, need_weights=False)[0].mean(1)
        return self.head(torch.tanh(self.encode(x) + prompt))


def test_attention_among_learned_tokens_is_left_out_of_batches():
    model, x = Prompt(), torch.randn(6, 7, dtype=torch.float64)
    measured = gramlab.measure(model, x)
    assert list(measured) == ["encode", "head"]
    assert {"attention.in_proj_weight", "attention.out_proj.weight"} < set(measured.left_out)
    values = model.attention.in_proj_weight[8:]
    jacobian = torch.zeros(4, 4, dtype=torch.float64)
    for row in x:
        added = torch.zeros(3, 4, dtype=torch.float64, requires_grad=True)  # to the values of the three tokens

        def outputs(added, row=row):
            attention, tokens = model.attention, model.tokens[0]
            q, k, _ = (tokens @ W.mT for W in attention.in_proj_weight.split(4))  # biases are zero
            v = tokens @ values.mT + added
            heads = [(a @ b.mT / 2**0.5).softmax(-1) @ c
                     for a, b, c in zip(q.split(2, 1), k.split(2, 1), v.split(2, 1), strict=True)]  # fmt: skip
            prompt = attention.out_proj(torch.cat(heads, 1)).mean(0)
            return model.head(torch.tanh(model.encode(row) + prompt))

        J = torch.autograd.functional.jacobian(outputs, added).reshape(-1, 4)
        jacobian += J.mT @ J / len(x)
    torch.testing.assert_close(gramlab.measure(model, x, batch_size=1)["attention.v_proj"].ptk, jacobian.detach())


class Generator(nn.Module):
    """A transposed convolution of a learned image, which all samples share."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.image = nn.Parameter(torch.randn(1, 2, 3, 3))
        self.grow, self.encode, self.head = nn.ConvTranspose2d(2, 3, 2), nn.Linear(7, 3), nn.Linear(3, 2)
        self.double()

    def forward(self, x, image=None):
        z = self.grow(self.image if image is None else image)
        return self.head((z * self.encode(x)[:, :, None, None]).tanh().mean((-2, -1)))


def test_a_transposed_convolution_of_a_constant_image():
    """As of an image of each sample's own, by autograd."""
    model, x = Generator(), torch.randn(5, 7).double()
    measured = gramlab.measure(model, x, quantities=["agop"], layers="grow")["grow"]
    total = torch.zeros(2, 2).double()
    for row in x:
        image = model.image.detach().clone().requires_grad_()
        for output in model(row[None], image)[0]:
            (gradient,) = torch.autograd.grad(output, image, retain_graph=True)
            g = gradient[0].flatten(1)
            total += g @ g.mT
    torch.testing.assert_close(measured.agop, total / 5)


class Attending(nn.Module):
    """Attention of torch's default ``batch_first=False``, which takes (T, n, d), between two Linear layers."""

    def __init__(self, batch_first=False):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.attention = nn.Linear(4, 4), nn.MultiheadAttention(4, 2, batch_first=batch_first)
        self.head = nn.Linear(4, 3)
        self.double()

    def forward(self, x):
        h = torch.tanh(self.embed(x))
        return self.head(h + self.attention(h, h, h, need_weights=False)[0])


@pytest.mark.parametrize(("n", "T"), [(6, 5), (5, 6), (5, 5), (2, 2), (1, 5)])
def test_attention_that_takes_samples_for_tokens_is_left_out(n, T):
    model, x = Attending(), torch.randn(n, T, 4, dtype=torch.float64)
    measured = gramlab.measure(model, x)
    if n > 1:  # of the last sample's inputs, the outputs of the first one
        x.requires_grad_()
        (mixed,) = torch.autograd.grad(model(x)[0].sum(), x)
        assert mixed[-1].abs().max() > 0
        assert list(measured) == ["head"]
    assert not any("attention" in name for name in measured)
    for name in ("attention.in_proj_weight", "attention.out_proj.weight"):
        assert measured.left_out[name].startswith("its rows mix samples: if the model takes (T, n, d), transpose in")
    assert gramlab.measure(model, x.detach(), max_memory=10**6).left_out == measured.left_out
    transposed = gramlab.measure(model, x.detach(), forward=lambda m, x: m(x.transpose(0, 1)).transpose(0, 1))
    same = Attending(batch_first=True)
    for name, layer in gramlab.measure(same, x.detach()).items():
        torch.testing.assert_close(transposed[name].ptk, layer.ptk)


class Windows(nn.Module):
    """Attention within windows of four tokens, several for each sample, on the second axis of (T, n windows, d)."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.attention, self.head = nn.MultiheadAttention(4, 2), nn.Linear(4, 3)
        self.double()

    def forward(self, x):
        h = x.reshape(-1, 4, 4).transpose(0, 1)
        return self.head(self.attention(h, h, h, need_weights=False)[0].transpose(0, 1).reshape(len(x), -1, 4).mean(1))


@pytest.mark.parametrize("n", [4, 6])
def test_windows_on_the_axis_of_samples_are_measured(n):
    """With four samples there are as many tokens in a window as samples."""
    x = torch.randn(n, 12, 4, dtype=torch.float64)
    measured, alone = (gramlab.measure(Windows(), x, batch_size=size) for size in (n, 1))
    assert list(measured) == list(alone) == [*(f"attention.{part}_proj" for part in ("q", "k", "v", "out")), "head"]
    for name, layer in measured.items():
        torch.testing.assert_close(layer.ptk, alone[name].ptk)


def test_layers_that_only_some_batch_sizes_measure_depend_on_the_batch():
    x = torch.randn(6, 7, dtype=torch.float64)
    frame = gramlab.batch_independence(Prototypes(), x, batch_sizes=(1, 6))
    assert frame.loc[("first", "ptk"), 1] == frame.loc[("second", "ptk"), 1] == float("inf")
    assert frame.loc[("encode", "ptk"), 1] < frame.attrs["tolerance"]
    reverse = gramlab.batch_independence(Prototypes(), x, batch_sizes=(6, 1))
    assert reverse.loc[("first", "ptk"), 6] == float("inf")


def test_attention_over_samples_is_found_by_its_outputs():
    model, x = Attending(), torch.randn(6, 5, 4, dtype=torch.float64)
    frame = gramlab.batch_independence(model, x, batch_sizes=(1, 3, 6))
    with torch.no_grad():
        apart, whole = torch.cat([model(row[None]) for row in x]) - model(x), model(x)
    assert frame.loc[("(model)", "outputs"), 1] == pytest.approx(float(apart.norm() / whole.norm()))


def test_a_round_without_measurable_layers_leaves_them_out():
    model, x = Norm(), torch.randn(5, 7)
    limit = int(gramlab.plan(model, x).layers[["sums", "batch"]].sum(axis=1).max())
    assert gramlab.plan(model, x, max_memory=limit).rounds == [["make"], ["head"]]
    together, in_rounds = gramlab.measure(model, x), gramlab.measure(model, x, max_memory=limit)
    assert list(in_rounds) == list(together) == ["head"]
    assert in_rounds.left_out == together.left_out
    assert list(together.left_out) == ["make.weight"]  # and not the bias, which is no matrix
    torch.testing.assert_close(in_rounds["head"].ptk, together["head"].ptk)
    with pytest.raises(ValueError, match="its rows serve several samples"):
        gramlab.measure(model, x, layers="make", max_memory=limit)
