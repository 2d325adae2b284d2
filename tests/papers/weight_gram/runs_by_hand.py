"""What the measures of runs and of autoencoders share: samples, accuracies and the autoencoders' networks."""

import math

import numpy as np

SINGLE = 2e-4  # relative error of networks in single precision


def samples(data, part="train") -> np.ndarray:
    """The samples of a part, flat, as the networks see them."""
    stored = getattr(data, f"x_{part}").double().numpy() * data.factor
    return stored.reshape(len(stored), -1)


def accuracies(by_hand, arms) -> list[dict]:
    """The accuracies of the history in the arms that ``arms(row)`` names."""
    return [{**row, "arm": arm} for row in by_hand.history if row["quantity"] in ("train_accuracy", "test_accuracy")
            for arm in arms(row)]  # fmt: skip


def networks(by_hand):
    """Data set, weights of every network and its columns."""
    for data_set, epochs in (("MNIST", (0, 1, 2)), ("CIFAR-10", (0, 1, 2, 3))):
        for case in ("beta=0.1", "beta=5"):
            for seed in (0, 1):
                for epoch in epochs:
                    steps = math.ceil(len(by_hand.data(data_set).x_train) / 3)
                    columns = {"case": f"{data_set}, {case}", "seed": seed, "step": epoch * steps, "x": float(epoch)}
                    yield data_set, by_hand.weights(epoch, seed, case, data_set), columns, epoch == epochs[-1]
