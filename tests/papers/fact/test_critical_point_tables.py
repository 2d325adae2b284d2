"""The table of critical_points, number by number: gradients by the chain rule, written down for each layer in numpy."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from handmade import classes_data
from scipy.special import erf, expit

from gramlab.nets import initialize
from gramlab.streams import stream
from tasks.papers.fact.experiments import critical_points

# name -> the activation and its derivative
ACTIVATIONS = {
    "tanh": (np.tanh, lambda z: 1 - np.tanh(z) ** 2),
    "sigmoid": (expit, lambda z: expit(z) * (1 - expit(z))),
    "softplus": (lambda z: np.logaddexp(0, z), expit),
    "gelu": (lambda z: z * (1 + erf(z / np.sqrt(2))) / 2,
             lambda z: (1 + erf(z / np.sqrt(2))) / 2 + z * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)),
}  # fmt: skip
LAYERS = ("first", "second", "last")


class Oracle:
    """A network of two hidden layers at a point, with its samples one by one."""

    def __init__(self, parameters, x, classes, activation, skip, loss, weight_decay):
        self.theta = {name: np.asarray(value) for name, value in parameters.items()}
        self.x, self.classes, self.skip, self.loss, self.weight_decay = x, classes, skip, loss, weight_decay
        self.act, self.act_slope = ACTIVATIONS[activation]
        self.passes = [self.sample(*pair) for pair in zip(x, classes, strict=True)]

    def sample(self, x, label):
        """Of each layer: its input h, its output's linear part W h, and the loss's gradient at the output."""
        W, b = ([self.theta[f"{name}.{kind}"] for name in LAYERS] for kind in ("weight", "bias"))
        z1 = W[0] @ x + b[0]
        h1 = self.act(z1)
        z2 = W[1] @ h1 + b[1]
        h2 = self.act(z2) + (h1 if self.skip else 0)
        f, hot = W[2] @ h2 + b[2], np.eye(len(b[2]))[label]
        probabilities = np.exp(f - f.max()) / np.exp(f - f.max()).sum()
        last = 2 * (f - hot) / len(f) if self.loss == "mse" else probabilities - hot
        second = (W[2].T @ last) * self.act_slope(z2)
        first = (W[1].T @ second + (W[2].T @ last if self.skip else 0)) * self.act_slope(z1)
        return list(zip((x, h1, h2), (W[0] @ x, W[1] @ h1, W[2] @ h2), (first, second, last), strict=True))

    def slopes(self):
        """The gradient of L + (lambda / 2) ||theta||^2 by the parameter's name."""
        slopes = {name: self.weight_decay * value for name, value in self.theta.items()}
        for one_pass in self.passes:
            for name, (h, _, delta) in zip(LAYERS, one_pass, strict=True):
                slopes[f"{name}.weight"] = slopes[f"{name}.weight"] + np.outer(delta, h) / len(self.x)
                slopes[f"{name}.bias"] = slopes[f"{name}.bias"] + delta / len(self.x)
        return slopes

    def errors(self, factor=1.0, with_bias=False):
        """(layer, quantity, x, value) of every row."""
        slopes = self.slopes()
        size = np.sqrt(sum((slope**2).sum() for slope in slopes.values()))
        length = np.sqrt(sum((value**2).sum() for value in self.theta.values()))
        x = size / (self.weight_decay * length)
        for index, name in enumerate(LAYERS):
            W, b = self.theta[f"{name}.weight"], self.theta[f"{name}.bias"]
            scale = len(self.x) * factor * self.weight_decay
            calls = [one_pass[index] for one_pass in self.passes]
            fact = -sum(np.outer(W.T @ delta, h) for h, _, delta in calls) / scale
            back = -sum(np.outer(z + (b if with_bias else 0), delta) for _, z, delta in calls) / scale
            gram, back_gram = W.T @ W, W @ W.T
            differences = {
                "fact/error": gram - fact,
                "fact/transposed/error": gram - fact.T,
                "fact/root/error": gram - square_root(fact),
                "fact/cone/error": negative_part(fact),
                "back_fact/error": back_gram - back,
                "back_fact/root/error": back_gram - square_root(back),
            }
            for quantity, difference in differences.items():
                yield name, quantity, x, np.linalg.norm(difference) / np.linalg.norm(gram)
            if x > 1e-8:
                largest = np.sqrt(np.linalg.eigvalsh(gram)[-1])
                bound = largest * np.linalg.norm(slopes[f"{name}.weight"]) / self.weight_decay
                yield name, "fact/ratio", x, np.linalg.norm(gram - fact) / bound


def square_root(A):
    """sqrt(A A^T) by the polar decomposition A = P U: P = A U^T."""
    U, _, Vt = np.linalg.svd(A)
    return A @ (U @ Vt).T


def negative_part(A):
    """A minus the closest positive semi-definite matrix: its antisymmetric part and its negative eigenvalues."""
    eigenvalues, vectors = np.linalg.eigh((A + A.T) / 2)
    return (A - A.T) / 2 + (vectors * np.minimum(eigenvalues, 0)) @ vectors.T


def parameters_of(model, point):
    """The parameters of a point by name: its numbers in the order of the model's parameters."""
    parameters, used = {}, 0
    for name, parameter in model.named_parameters():
        parameters[name] = point[used : used + parameter.numel()].reshape(parameter.shape).numpy()
        used += parameter.numel()
    assert used == len(point)
    return parameters


@pytest.mark.parametrize(("activation", "skip", "loss"), [
    ("gelu", True, "mse"), ("tanh", False, "cross_entropy"), ("sigmoid", True, "cross_entropy"),
    ("softplus", False, "mse"),
])  # fmt: skip
def test_errors_far_from_critical_points(activation, skip, loss):
    """Nothing is small here, so that every factor, sign and transpose counts."""
    draw = np.random.default_rng(5)
    x, classes = draw.normal(size=(6, 4)), draw.integers(0, 3, size=6)
    model = critical_points.Network(4, 5, 3, activation, skip).double()
    point = torch.from_numpy(draw.normal(size=sum(parameter.numel() for parameter in model.parameters())))
    problem = critical_points.Problem("planted", model, loss, 0.03, torch.from_numpy(x), torch.from_numpy(classes))
    oracle = Oracle(parameters_of(model, point), x, classes, activation, skip, loss, 0.03)
    slope = torch.func.grad(problem.objective)(point)
    assert parameters_of(model, slope).keys() == oracle.slopes().keys()
    for name, values in parameters_of(model, slope).items():
        np.testing.assert_allclose(values, oracle.slopes()[name], rtol=1e-9, atol=1e-12)
    for options in ({}, {"factor": 2.0}, {"with_bias": True}):
        rows = [(row["layer"], row["quantity"], row["x"], row["value"]) for row in problem.errors(point, **options)]
        expected = list(oracle.errors(**options))
        assert [row[:2] for row in rows] == [row[:2] for row in expected]
        np.testing.assert_allclose([row[2:] for row in rows], [row[2:] for row in expected], rtol=1e-9)


def test_networks_of_the_table():
    x, y = torch.zeros(5, 3).double(), torch.zeros(5, dtype=torch.long)
    for instance in range(6):
        draw = stream("critical_points", instance)
        activation = str(draw.choice(["gelu", "tanh", "sigmoid", "softplus"]))
        decay = 10 ** draw.uniform(-3.5, -2)
        width = int(draw.integers(4, 9))
        problem, initial = critical_points.problem(instance, x, y)
        assert problem.weight_decay == decay
        assert problem.loss == ["mse", "cross_entropy"][instance % 2]
        assert problem.model.skip == (instance not in (0, 3))
        assert f"{instance}: {activation}, {problem.loss}" in problem.case
        shapes = {name: tuple(value.shape) for name, value in problem.parameters_at(initial).items()}
        assert shapes == {"first.weight": (width, 3), "first.bias": (width,), "second.weight": (width, width),
                          "second.bias": (width,), "last.weight": (10, width), "last.bias": (10,)}  # fmt: skip
        z = torch.linspace(-2, 2, 7).double()
        np.testing.assert_allclose(problem.model.activation(z), ACTIVATIONS[activation][0](z.numpy()), atol=1e-12)
        for name, values in initialize(problem.model, ("critical_points", instance)).items():
            torch.testing.assert_close(problem.parameters_at(initial)[name], values)


def grouped(rows):
    """The (x, value) of the rows of each arm, layer and quantity, in their order."""
    groups = {}
    for arm, layer, quantity, x, value in rows:
        groups.setdefault((arm, layer, quantity), []).append((x, value))
    return groups


def test_the_table(monkeypatch):
    """On a dozen images of 4 pixels in place of the digits."""
    data = classes_data(train=12, shape=(1, 2, 4), classes=10, factor=0.5)

    def small(*args, **options):
        assert (args, options) == (("digits", Path()), {"train": 200, "test": 0})
        return data

    monkeypatch.setattr(critical_points, "prepare", small)
    rows = list(critical_points.measure(critical_points.Settings(instances=2)))
    x, classes = data.x_train.numpy().reshape(12, 8)[:, ::2] * 0.5, data.y_train.numpy()
    assert {row["dtype"] for row in rows} == {"float64"}
    for instance in range(2):
        problem, initial = critical_points.problem(instance, torch.from_numpy(x), data.y_train)
        path = list(problem.path(initial))
        activation = problem.case.split(": ")[1].split(",")[0]

        def oracle(point, problem=problem, activation=activation):
            settings = activation, problem.model.skip, problem.loss, problem.weight_decay
            return Oracle(parameters_of(problem.model, point), x, classes, *settings)

        sizes = [np.sqrt(sum((slope**2).sum() for slope in oracle(point).slopes().values())) for point in path]
        assert torch.equal(path[0], initial)
        assert sizes[-1] < 1e-12 < 1e-4 < sizes[2]  # a critical point, and one that is not
        direction = torch.from_numpy(stream("critical_points", instance, "away").normal(size=len(initial)))
        expected = []
        for (arm, end, options), distance in product(
            (("claim", path[-1], {}), ("control: lambda doubled", path[-1], {"factor": 2.0}),
             ("control: a point that is not critical", path[2], {}),
             ("control: bFACT with the bias", path[-1], {"with_bias": True})),
            [*(2.0**-k for k in range(25)), 0.0],
        ):  # fmt: skip
            length = 0.1 * distance * torch.linalg.vector_norm(end)
            for row in oracle(end + length * direction / torch.linalg.vector_norm(direction)).errors(**options):
                if arm != "control: bFACT with the bias" or "back" in row[1]:
                    expected.append((arm, *row))
        for point in path[:: max(1, len(path) // 30)]:
            renamed = {"fact/error": "fact/descent", "fact/ratio": "fact/ratio"}
            expected += [("claim", layer, renamed[quantity], *numbers)
                         for layer, quantity, *numbers in oracle(point).errors() if quantity in renamed]  # fmt: skip
        columns = ("arm", "layer", "quantity", "x", "value")
        measured = grouped([row[name] for name in columns] for row in rows if row["case"] == problem.case)
        compared = grouped(expected)
        assert measured.keys() == compared.keys()
        for key, numbers in compared.items():
            assert len(measured[key]) == len(numbers), key
            np.testing.assert_allclose(measured[key], numbers, rtol=1e-5, atol=1e-9, err_msg=str(key))
