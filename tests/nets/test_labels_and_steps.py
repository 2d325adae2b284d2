"""Labels and steps of a training, against loops in plain numpy and torch: noisy labels, two classes, whitened steps."""

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from gramlab.data import DataSet
from gramlab.losses import correct_predictions, signed_mse
from gramlab.nets import TrainingConfig, fit, initialize, mlp
from gramlab.streams import stream

N, EPOCHS, RATE = 24, 3, 0.05
SETTINGS = {"batch": None, "epochs": EPOCHS, "snapshots": (EPOCHS,), "name": ("steps",), "dtype": "float64", "lr": RATE}


def data_of(classes: int) -> DataSet:
    """Random samples; every class occurs in both parts."""
    draw = np.random.default_rng(classes)
    x, x_test = (torch.from_numpy(draw.normal(size=(n, 5))) for n in (N, 11))
    y, y_test = (torch.from_numpy(draw.permutation(np.arange(n) % classes)) for n in (N, 11))
    return DataSet("steps", x, y, x_test, y_test, classes=classes)


def last(history, quantity, seed) -> float:
    """The value after the last epoch."""
    return [row["value"] for row in history if (row["quantity"], row["seed"]) == (quantity, seed)][-1]


def noisy(labels, classes, probability, seed) -> np.ndarray:
    """Labels of which each is replaced by a uniformly random one with this probability, from the seed's own streams."""
    replaced = stream("steps", seed, "label noise", "which").uniform(size=len(labels)) < probability
    drawn = stream("steps", seed, "label noise", "label").integers(classes, size=len(labels))
    return np.where(replaced, drawn, labels.numpy())


def test_each_seed_trains_on_its_own_random_labels(tmp_path):
    """Losses and accuracies of the training samples are those of the random labels, of the test samples the true."""
    data = data_of(3)
    config = TrainingConfig(**SETTINGS, label_noise=0.7)
    snapshots, history = fit(mlp(5, [6], 3), data, config, 2, tmp_path)
    labels = [noisy(data.y_train, 3, 0.7, seed) for seed in (0, 1)]
    assert (labels[0] != labels[1]).any()
    for seed in (0, 1):
        model = mlp(5, [6], 3).double()
        model.load_state_dict(initialize(model, ("steps", seed)))
        optimizer, y = torch.optim.SGD(model.parameters(), lr=RATE), torch.from_numpy(labels[seed])
        for _ in range(EPOCHS):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(data.x_train), y).backward()
            optimizer.step()
        for name, value in model.state_dict().items():
            torch.testing.assert_close(load_file(snapshots[EPOCHS])[name][seed], value, rtol=1e-9, atol=1e-11)
        with torch.no_grad():
            for part, x, truth in (("train", data.x_train, y), ("test", data.x_test, data.y_test)):
                logits = model(x).numpy()
                shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
                loss = -np.log(shares[np.arange(len(truth)), truth.numpy()]).mean()
                assert last(history, f"{part}_loss", seed) == pytest.approx(loss, rel=1e-9)
                accuracy = (logits.argmax(1) == truth.numpy()).mean()
                assert last(history, f"{part}_accuracy", seed) == pytest.approx(accuracy, abs=1e-12)


def test_a_classifier_of_one_output_says_class_1_above_zero():
    scores, classes = torch.tensor([[2.0], [0.5], [-0.5], [-3.0], [-1.0]]), torch.tensor([1, 0, 0, 0, 1])
    assert correct_predictions(scores, classes).tolist() == [True, False, True, True, False]


def test_the_targets_of_paper_d_are_1_and_minus_1():
    draw = np.random.default_rng(0)
    outputs, classes = draw.normal(size=(7, 4)), np.arange(7) % 4
    expected = [
        sum((outputs[i, k] - (1 if k == classes[i] else -1)) ** 2 for k in range(4)) / 4 for i in range(len(outputs))
    ]
    losses = signed_mse(torch.from_numpy(outputs), torch.from_numpy(classes))
    np.testing.assert_allclose(losses.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("optimizer", ["whitened", "whitened_complement"])
def test_training_by_the_whitened_step_and_by_its_complement(tmp_path, optimizer):
    """The whitened step keeps the Gram matrix of a gradient step; its complement moves by what remains of that step."""
    data = data_of(3)
    config = TrainingConfig(**SETTINGS, optimizer=optimizer, method="svd")
    weights = load_file(fit(mlp(5, [6], 3), data, config, 1, tmp_path)[0][EPOCHS])
    model = mlp(5, [6], 3).double()
    model.load_state_dict(initialize(model, ("steps", 0)))
    for _ in range(EPOCHS):
        model.zero_grad()
        torch.nn.functional.cross_entropy(model(data.x_train), data.y_train).backward()
        with torch.no_grad():
            for parameter in model.parameters():
                target = parameter - RATE * parameter.grad
                if parameter.ndim > 1:
                    U, _, Vh = torch.linalg.svd(parameter @ target.T)
                    whitened = U @ Vh @ target
                    target = whitened if optimizer == "whitened" else parameter + target - whitened
                parameter.copy_(target)
    for name, value in model.state_dict().items():
        torch.testing.assert_close(weights[name][0], value, rtol=1e-8, atol=1e-10)
