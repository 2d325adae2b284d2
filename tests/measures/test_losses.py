"""Named losses, targets and masks of every layout, against torch's own losses and autograd; others are refused."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import gramlab
from gramlab.losses import LOSSES


def tokens(c=3):
    torch.manual_seed(0)
    return nn.Linear(5, c).double(), torch.randn(7, 4, 5, dtype=torch.float64)


def agrees(model, x, y, expected, **options):
    """Loss and weight gradient are those of ``expected``, a scalar in the graph of the model."""
    measurement = gramlab.measure(model, x, y, **options)
    (gradient,) = torch.autograd.grad(expected, model.weight, retain_graph=True)
    assert measurement.loss == pytest.approx(float(expected), rel=1e-12)
    torch.testing.assert_close(measurement[""].weight_gradient, gradient)


def test_probabilities_of_every_token():
    model, x = tokens()
    y = torch.randn(7, 4, 3, dtype=torch.float64).softmax(-1)
    agrees(model, x, y, -(y * model(x).log_softmax(-1)).sum(-1).mean(), loss="cross_entropy", batch_size=3)


@pytest.mark.parametrize("y", [torch.zeros(7, dtype=torch.long), torch.arange(7) % 2, torch.arange(7) - 3])
def test_integers_beside_one_output_are_values(y):
    torch.manual_seed(0)
    model, x = nn.Linear(5, 1).double(), torch.randn(7, 5, dtype=torch.float64)
    for targets in (y, y[:, None], y.numpy().astype(np.int16)):
        agrees(model, x, targets, F.mse_loss(model(x)[:, 0], y.double()))


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32"])
@pytest.mark.parametrize("loss", ["mse", "cross_entropy", "signed_mse"])
def test_classes_of_other_integers(dtype, loss):
    torch.manual_seed(0)
    model, x, y = nn.Linear(5, 3), torch.randn(7, 5), torch.arange(7) % 3
    measurement = gramlab.measure(model, x, y.numpy().astype(dtype), loss=loss)
    assert measurement.loss == gramlab.measure(model, x, y, loss=loss).loss
    if loss == "signed_mse":
        assert measurement.loss == pytest.approx((model(x) - 2 * torch.eye(3)[y] + 1).square().mean().item())


def test_a_loss_that_works_in_place_changes_no_outputs_and_no_targets():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1)).double()
    x, y = torch.randn(6, 4).double(), torch.tensor([[0.0], [1.0], [1.0], [0.0], [1.0], [0.0]]).double()

    def in_place(outputs, targets):
        signs = targets.mul_(2).sub_(1)
        return F.binary_cross_entropy(torch.sigmoid_(outputs), (signs + 1) / 2, reduction="none")[:, 0]

    before = y.clone()
    measured = gramlab.measure(model, x, y, loss=in_place, weight_decay=0.1, batch_size=4)
    assert torch.equal(y, before)
    J = torch.func.vmap(torch.func.jacrev(model))(x)[:, 0]
    torch.testing.assert_close(measured["0"].agop, J.mT @ J / 6)
    expected = gramlab.measure(model, x, y, loss="bce_with_logits", weight_decay=0.1)
    for quantity in ("agop", "enfa", "fact"):
        torch.testing.assert_close(getattr(measured["2"], quantity), getattr(expected["2"], quantity))


@pytest.mark.parametrize("loss", ["mse", "cross_entropy", "bce_with_logits", "classes"])
def test_masked_tokens_do_not_count_in_a_loss(loss):
    """As if each sample had been cut to its unmasked tokens, whatever the masked ones' targets are."""
    model, x = tokens()
    mask = torch.arange(4) < torch.tensor([4, 1, 3, 0, 2, 4, 1])[:, None]
    y = torch.rand(7, 4, 3, dtype=torch.float64)
    if loss == "classes":
        y, loss = torch.randint(0, 3, (7, 4)), "cross_entropy"
    elif loss == "cross_entropy":
        y = y / y.sum(-1, keepdim=True)
    torch_loss = {
        "mse": F.mse_loss,
        "cross_entropy": F.cross_entropy,
        "bce_with_logits": F.binary_cross_entropy_with_logits,
    }[loss]
    expected = sum(torch_loss(model(x[i, mask[i]]), y[i, mask[i]]) for i in range(7) if mask[i].any()) / 7
    agrees(model, x, y, expected, loss=loss, mask=mask, batch_size=3)
    agrees(model, x, y, expected, loss=loss, mask=mask.double())


def test_ignored_classes_count_as_the_documentation_says():
    """A sample's mean leaves them out; a sample without a class has the loss 0 and still counts as one of n."""
    model, x = tokens()
    y = torch.randint(0, 3, (7, 4))
    y[0], y[1, 2:], y[4, 0] = -100, -100, -100
    agrees(model, x, y, sum(F.cross_entropy(model(x[i]), y[i]) for i in range(1, 7)) / 7, loss="cross_entropy")
    flat, labels = x[:, 0], y[:, 0]
    expected = F.cross_entropy(model(flat), labels) * int((labels != -100).sum()) / 7
    agrees(model, flat, labels, expected, loss="cross_entropy", batch_size=2)


def test_targets_may_be_flat_or_have_axes_of_one():
    torch.manual_seed(0)
    x, y = torch.randn(6, 3, 4, 4), torch.randn(6, 2, 4, 4)
    conv = nn.Conv2d(3, 2, 1)
    expected = F.mse_loss(conv(x), y).item()
    for targets in (y, y.flatten(1), y.unsqueeze(2)):
        assert gramlab.measure(conv, x, targets).loss == pytest.approx(expected)
    flat = nn.Sequential(conv, nn.Flatten())
    assert gramlab.measure(flat, x, y).loss == pytest.approx(expected)
    assert gramlab.measure(flat, x, y.sigmoid(), loss="bce_with_logits").loss == pytest.approx(
        F.binary_cross_entropy_with_logits(conv(x), y.sigmoid()).item()
    )


torch.manual_seed(0)
X = torch.randn(4, 3, 5)
MASK = torch.ones(4, 3, dtype=torch.bool)
IMAGES = torch.randn(4, 3, 5, 5)
REFUSED = {
    "channels last": (nn.Conv2d(3, 2, 1), IMAGES, torch.randn(4, 5, 5, 2), {}, r"\(4, 2, 5, 5\) do not fit targets"),
    "transposed": (nn.Linear(5, 2), X, torch.rand(4, 2, 3), {"loss": "bce_with_logits"}, "do not fit targets"),
    "negative class": (
        nn.Linear(5, 2), X[:, 0], torch.tensor([-100, -5, 1, 0]), {"loss": "cross_entropy"}, "from -5 to 1",
    ),
    "another batch axis": (
        nn.Linear(5, 2), X, None, {"forward": lambda m, x: m(x).transpose(0, 1)},
        r"outputs of shape \(3, 4, 2\) for inputs of shape \(4, 3, 5\)",
    ),
    "flattened tokens": (nn.Linear(5, 2), X, None, {"forward": lambda m, x: m(x).flatten(0, 1)}, r"each of the 4 sam"),
    "flattened with a loss": (
        nn.Linear(5, 2), [((X, torch.ones(2)), torch.zeros(4, 3))], None,
        {"forward": lambda m, x: m(x[0]).flatten(0, 1), "loss": lambda f, y: (f[:, 0] - y.flatten()).square()},
        r"outputs of shape \(12, 2\) for targets of shape \(4, 3\)",
    ),
    "mean of the batch": (nn.Linear(5, 2), X[:, 0], None, {"forward": lambda m, x: m(x).mean(0, True)}, r"\(1, 2\)"),
    "mask of three axes": (nn.Linear(5, 2), X, None, {"mask": MASK[..., None]}, r"shape \(n, T\).*not \(4, 3, 1\)"),
    "mask too short": (nn.Linear(5, 2), X, None, {"mask": MASK[:, :2]}, r"shape \(4, 2\) fits no tokens .*\(4, 3\)"),
    "mask of vectors": (nn.Linear(5, 2), X[:, 0], None, {"mask": MASK}, r"mask of shape \(4, 3\) has no effect"),
    "mask of features": (nn.Linear(3, 2), X[..., 0], None, {"mask": ~MASK}, r"mask of shape \(4, 3\) has no effect"),
    "tokens before samples": (
        nn.Linear(5, 2), X, None, {"mask": MASK, "forward": lambda m, x: m(x.transpose(0, 1)).transpose(0, 1)},
        r"layer '' sees rows of the shape \(3, 4\), which the mask \(4, 3\) does not reach",
    ),
    "tokens in a row": (
        nn.Linear(5, 2), X, None, {"mask": MASK, "forward": lambda m, x: m(x.flatten(0, 1)).unflatten(0, (4, 3))},
        r"rows of the shape \(12,\), which",
    ),
    "heads before tokens": (
        nn.Linear(5, 2), X, None,
        {"mask": MASK, "forward": lambda m, x: m(x.unsqueeze(1).expand(4, 2, 3, 5)).transpose(1, 2)},
        r"rows of the shape \(4, 2, 3\), which",
    ),
    "tokens or outputs": (
        nn.Linear(5, 3), X, None, {"mask": ~MASK, "forward": lambda m, x: m(x).mean(1)},
        r"as \(n, T, 1\) or as \(n, 1, c\)",
    ),
    "tokens for classes": (
        nn.Linear(5, 1), X, torch.tensor([0, 1, 2, 0]),
        {"mask": MASK.triu(), "forward": lambda m, x: m(x).squeeze(2)}, "tokens for classes",
    ),
    "additive mask": (nn.Linear(5, 2), X, None, {"mask": MASK * -1e9}, "booleans, or 0 and 1, not numbers from -1"),
    "mask in a mapping": (
        nn.Linear(5, 2), {"input": X, "attention_mask": MASK[:, None, None]}, None,
        {"forward": lambda m, x: m(x["input"])}, r"not \(4, 1, 1, 3\)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_ambiguous_layouts_are_refused(name):
    model, x, y, options, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        gramlab.measure(model, x, y, **options)


@pytest.mark.parametrize("name", ["mse", "bce_with_logits"])
def test_losses_of_training_refuse_other_layouts_too(name):
    f, y = torch.randn(4, 2, 3), torch.rand(4, 2, 3)
    torch_loss = {"mse": F.mse_loss, "bce_with_logits": F.binary_cross_entropy_with_logits}[name]
    for targets in (y, y.flatten(1), y.unsqueeze(2)):
        assert float(LOSSES[name](f, targets).mean()) == pytest.approx(float(torch_loss(f, y)), rel=1e-6)
    for targets in (y.transpose(1, 2), y.transpose(0, 1), y.flatten()):
        with pytest.raises(ValueError, match="do not fit targets"):
            LOSSES[name](f, targets)


def test_a_mask_of_tokens_that_the_measured_layers_do_not_see():
    """Only a pooled head is measured: the mask belongs to the inputs and does not affect it."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 4), nn.Flatten(), nn.Linear(12, 2))
    measurement = gramlab.measure(model, X, mask=MASK.logical_not(), layers="2")
    torch.testing.assert_close(measurement["2"].agop, gramlab.measure(model, X, layers="2")["2"].agop)


def test_class_weights_as_the_conventions_say():
    """At a minimum of torch's weighted mean, which divides by the sum of w[y]."""
    torch.manual_seed(0)
    x, y = torch.randn(60, 4).double(), torch.randint(3, (60,))
    w, decay = torch.tensor([1.0, 2.0, 5.0]).double(), 0.01
    model = torch.nn.Linear(4, 3).double()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2000, tolerance_grad=1e-12, tolerance_change=0.0,
                                  line_search_fn="strong_wolfe")  # fmt: skip

    def closure():
        optimizer.zero_grad()
        total = F.cross_entropy(model(x), y, weight=w) + decay / 2 * model.weight.square().sum()
        total.backward()
        return total

    optimizer.step(closure)

    def weighted(f, y):
        return F.cross_entropy(f, y, weight=w, reduction="none") * len(y) / w[y].sum()

    right, undivided = (
        gramlab.measure(model, x, y, weight_decay=decay, loss=loss)[""].stationarity
        for loss in (weighted, torch.nn.CrossEntropyLoss(weight=w, reduction="none"))
    )
    assert right < 1e-5
    assert undivided > 1


def test_signed_mse_of_half_precision_is_computed_in_float32():
    """Squares of the errors, of 300 and more, leave the range of float16."""
    torch.manual_seed(0)
    model, x, y = nn.Linear(4, 3).half(), torch.randn(6, 4), torch.arange(6) % 3
    with torch.no_grad():
        model.weight *= 1000
    outputs = model(x.half()).detach().float()
    assert outputs.abs().max() > 300
    expected = (outputs - (2.0 * F.one_hot(y, 3) - 1)).square().mean()
    assert gramlab.measure(model, x, y, loss="signed_mse").loss == pytest.approx(float(expected), rel=1e-6)


def test_signed_mse_takes_no_tokens():
    model, x = tokens()
    with pytest.raises(ValueError, match=r"signed_mse needs outputs \(n, classes\), not \(7, 4, 3\)"):
        gramlab.measure(model, x, torch.zeros(7, 4, dtype=torch.long), loss="signed_mse")
