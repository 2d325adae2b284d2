"""The operation counts of benchmarks/estimates.py, against counts by hand."""

import sys
from pathlib import Path

import pytest
from torch import nn, zeros

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.estimates import estimates, operations, step_operations
from gramlab.nets import build
from tasks import settings as reader


@pytest.fixture(scope="module")
def settings() -> reader.Settings:
    return reader.load("paper")


def test_a_multilayer_perceptron_takes_six_operations_a_weight_but_for_the_inputs_gradient(settings) -> None:
    """B.fig9: 7500 images of 3 x 96 x 96, 128 and 128 units; inputs need no gradient."""
    first, others = 3 * 96 * 96 * 128, 128 * 128 + 128 * 2
    run = settings.train["b_fig9"]
    assert step_operations(run, settings.data[run.data]) == 4 * first + 6 * others
    assert operations(settings, "b_fig9") == run.seeds * run.epochs * 7500 * (4 * first + 6 * others)


def test_a_convolution_takes_its_multiply_adds(settings) -> None:
    run = settings.train["d_vgg11"]
    model, total, first = build("vgg11", (3, 32, 32), 10), [0], [True]

    def count(layer, inputs, output) -> None:
        weights = layer.weight.numel()
        positions = output[0, 0].numel() if isinstance(layer, nn.Conv2d) else 1
        total[0] += (4 if first[0] else 6) * weights * positions
        first[0] = False

    for layer in model.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            layer.register_forward_hook(count)
    model.eval()(zeros(1, 3, 32, 32))
    assert step_operations(run, settings.data[run.data].parts()["CIFAR-10"]) == total[0]


def test_every_stage_without_a_duration_has_an_estimate() -> None:
    seconds = {"train@b_fig1": 100.0, "measure@b_fig1": 10.0, "check@b_fig1": 1.0, "prepare@chain": 2.0,
               "verdicts@fact": 3.0, "train@a_fig12": 50.0}  # fmt: skip
    names = {*seconds, "train@b_fig9", "measure@b_fig9", "check@b_fig9", "report"}
    missing, rates = estimates(names, seconds, "paper")
    assert missing.keys() == names - seconds.keys()
    inputs, others = 3 * 32 * 32 * 256, 2 * 256 * 256 + 256 * 10
    steps = 2 * 40 * 200 * 50_000  # variants, networks, epochs and images
    assert rates == [steps * (4 * inputs + 6 * others) / 50]
    assert missing["measure@b_fig9"] == pytest.approx(0.1 * missing["train@b_fig9"])
    assert (missing["check@b_fig9"], missing["report"]) == (1.0, 3.0)
    twice_as_fast, _ = estimates(names, seconds, "paper", assumed=2 * rates[0])
    assert twice_as_fast["train@b_fig9"] == pytest.approx(missing["train@b_fig9"] / 2)
