"""Cross-entropy takes the last axis for the classes, and refuses torch's layout, (n, c, H, W)."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import gramlab

torch.set_num_threads(1)
HINT = r"classes must be the last axis: forward=lambda m, x: m\(x\).movedim\(1, -1\)"


def classes_last(model, x):
    return model(x).movedim(1, -1)


def images(classes, sides):
    torch.manual_seed(0)
    model = {1: nn.Conv1d, 2: nn.Conv2d}[len(sides)](3, classes, 1)
    return model, torch.randn(4, 3, *sides), torch.randint(classes, (4, *sides))


@pytest.mark.parametrize("loss", [None, "cross_entropy"])
@pytest.mark.parametrize(("classes", "sides"), [(5, (8, 8)), (8, (8, 8)), (6, (6,)), (5, (8, 6)), (5, (7,))])
def test_classes_of_images(classes, sides, loss):
    """The number of classes may be the sides'. With the classes last the loss is torch's."""
    model, x, y = images(classes, sides)
    with pytest.raises(ValueError, match=HINT):
        gramlab.measure(model, x, y, loss=loss)
    measurement = gramlab.measure(model, x, y, loss=loss, forward=classes_last)
    assert measurement.loss == pytest.approx(F.cross_entropy(model(x), y).item(), rel=1e-6)


def test_enlarged_images_have_their_channels_second():
    model, x, y = images(8, (4, 4))
    model = nn.Sequential(model, nn.Upsample(scale_factor=2, mode="bilinear"))
    y = torch.randint(8, (4, 8, 8))
    with pytest.raises(ValueError, match=HINT):
        gramlab.measure(model, x, y)
    assert gramlab.measure(model, x, y, forward=classes_last).loss == pytest.approx(
        F.cross_entropy(model(x), y).item(), rel=1e-6
    )


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize(("classes", "sides"), [(5, (8, 6)), (6, (6, 6))])
def test_probabilities_of_images(classes, sides, soft):
    model, x, y = images(classes, sides)
    probabilities = F.one_hot(y, classes).movedim(-1, 1).float()
    if soft:
        probabilities = torch.randn(probabilities.shape).softmax(1)
    with pytest.raises(ValueError, match=HINT):
        gramlab.measure(model, x, probabilities, loss="cross_entropy")
    options = {"loss": "cross_entropy", "forward": classes_last}
    measurement = gramlab.measure(model, x, probabilities.movedim(1, -1), **options)
    assert measurement.loss == pytest.approx(F.cross_entropy(model(x), probabilities).item(), rel=1e-6)


def test_probabilities_sum_to_one():
    """Up to rounding, and but for masked tokens."""
    torch.manual_seed(0)
    model, x = nn.Linear(5, 3), torch.randn(7, 4, 5)
    y, mask = torch.randn(7, 4, 3).softmax(-1), torch.arange(4).expand(7, 4) < 3
    with pytest.raises(ValueError, match=r"sum to 1 over the last axis, not to 2 at \(0, 0\)"):
        gramlab.measure(model, x, 2 * y, loss="cross_entropy")
    junk = torch.where(mask[..., None], y, 3.0)
    expected = -(y * model(x).log_softmax(-1)).sum(-1)[mask].mean()
    assert gramlab.measure(model, x, junk, loss="cross_entropy", mask=mask).loss == pytest.approx(float(expected))
    gramlab.measure(model, x, y.half(), loss="cross_entropy")
    gramlab.measure(model, x, y.bfloat16(), loss="cross_entropy")
