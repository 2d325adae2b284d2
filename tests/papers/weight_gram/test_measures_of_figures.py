"""What the experiments of Figures 3, 4, 8 and 12 measure, against plain formulas and explicit Jacobians."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from gramlab.nets import initialize, mlp
from gramlab.streams import stream
from tasks.papers.weight_gram.experiments import a_fig8
from tasks.papers.weight_gram.experiments.shared.growth import NORMALISED, arms_of, by_layer


def network(name: str, hidden: list[int], outputs: int) -> torch.nn.Sequential:
    model = mlp(4, hidden, outputs, "gelu")
    model.load_state_dict(initialize(model, ("test_measures_of_figures", name)))
    return model


def test_the_surrogates_by_layer():
    """In numpy, a pair of samples at a time."""
    x = torch.from_numpy(stream("test_measures_of_figures", "x").normal(size=(20, 4))).float()
    labels = np.arange(20) % 3
    Y = np.eye(3)[labels]
    model = network("surrogates", [7, 5], 3)
    measured = {(row["layer"], row["quantity"]): row["value"] for row in by_layer(model, x, torch.from_numpy(Y))}
    for layer, read, hidden in (("1", 2, 2), ("2", 4, 4)):
        H, W = model[:hidden](x).detach().numpy().astype(float), model[read].weight.detach().numpy().astype(float)
        Z = [W @ h for h in H]
        centred = Y - Y.mean(0)
        raw, numerator = (sum(y[i] @ y[j] * (Z[i] @ Z[j]) for i in range(20) for j in range(20)) for y in (Y, centred))
        assert measured[layer, "surrogate"] == pytest.approx(raw, rel=1e-6)
        assert measured[layer, NORMALISED] == pytest.approx(numerator / sum(z @ z for z in Z), rel=1e-6)
        assert measured[layer, NORMALISED] <= np.linalg.norm(centred, 2) ** 2


def test_the_distance_of_the_linearization():
    """Against the Jacobian by its columns, a finite difference for each weight."""
    before, after = network("before", [6, 5], 1), network("after", [6, 5], 1)
    X = torch.from_numpy(stream("test_measures_of_figures", "X").normal(size=(9, 4))).float()

    def outputs(weights: torch.Tensor) -> torch.Tensor:
        model = network("before", [6, 5], 1).double()
        torch.nn.utils.vector_to_parameters(weights, model.parameters())
        return model(X.double()).detach()

    start, end = (torch.nn.utils.parameters_to_vector(net.double().parameters()).detach() for net in (before, after))
    linear, step = outputs(start), 1e-6
    for index in range(len(start)):
        unit = torch.zeros_like(start)
        unit[index] = step
        linear = linear + (outputs(start + unit) - outputs(start - unit)) / (2 * step) * (end - start)[index]
    f = outputs(end)
    expected = float((f - linear).norm() / (f - outputs(start)).norm())
    at_start = a_fig8._Before(before, torch.zeros(1), outputs(start), torch.zeros(1))
    assert at_start.distance_of_linearization(after, X, f) == pytest.approx(expected, rel=1e-5)
    assert expected > 0.01


def test_the_authors_momentum_is_the_corrected_arm_and_never_the_print_s():
    def run(*names: str) -> SimpleNamespace:
        variants = {name: SimpleNamespace(settings=SimpleNamespace(part=name.partition(" ")[0])) for name in names}
        return SimpleNamespace(variants=variants)

    assert arms_of(run("CIFAR-10 text", "CIFAR-10 momentum")) == {
        "CIFAR-10 text": "claim",
        "CIFAR-10 momentum": "corrected",
    }
    assert arms_of(run("digits")) == {"digits": "claim"}
    assert arms_of(run("digits momentum")) == {"digits momentum": "corrected"}
