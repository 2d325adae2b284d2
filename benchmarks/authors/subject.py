"""The data and the network of the comparisons: scikit-learn's digits, and three layers without biases."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

import gramlab
from gramlab.data.digits import digits
from gramlab.streams import stream

WIDTH, CLASSES = 32, 10


@dataclass(frozen=True)
class Subject:
    """A data set and a network, in float64.

    Attributes
    ----------
    x, labels : Tensor of shape (n, 64) and (n,)
        As many samples of each class, in the order of the classes.
    uneven_x, uneven_labels : Tensor
        All training samples, whose classes have different sizes.
    weights, initial : tuple of Tensor
        Of the network, after and before training.
    """

    x: Tensor
    labels: Tensor
    uneven_x: Tensor
    uneven_labels: Tensor
    weights: tuple[Tensor, ...]
    initial: tuple[Tensor, ...]

    @property
    def targets(self) -> Tensor:
        """The one-hot labels (n, classes)."""
        return nn.functional.one_hot(self.labels, CLASSES).double()

    def model(self, activation: type[nn.Module] = nn.ReLU) -> nn.Sequential:
        """The trained network, a copy."""
        return network(self.weights, activation)

    def hidden(self) -> list[Tensor]:
        """The inputs of the second and the third layer, (n, 32)."""
        captured = gramlab.features(self.model(), self.x, ["2", "4"])
        return [captured["2"], captured["4"]]

    def few(self, per_class: int) -> tuple[Tensor, Tensor]:
        """The first ``per_class`` samples of each class (classes × per_class, 64), and their labels."""
        rows = torch.cat([(self.labels == label).nonzero()[:per_class, 0] for label in range(CLASSES)])
        return self.x[rows], self.labels[rows]


def network(weights: tuple[Tensor, ...], activation: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    """Linear layers with copies of these weights and an activation between them."""
    parts: list[nn.Module] = []
    for weight in weights:
        linear = nn.Linear(weight.shape[1], weight.shape[0], bias=False, dtype=torch.float64)
        linear.weight = nn.Parameter(weight.clone())
        parts += [linear, activation()]
    return nn.Sequential(*parts[:-1])


def subject(per_class: int = 80, steps: int = 300) -> Subject:
    """Train the network by gradient descent with momentum on the squared error of ``per_class`` samples a class."""
    data = digits()
    x, labels = data.scaled(data.x_train, torch.float64).flatten(1), data.y_train
    rows = torch.cat([(labels == label).nonzero()[:per_class, 0] for label in range(CLASSES)])
    shapes = ((WIDTH, x.shape[1]), (WIDTH, WIDTH), (CLASSES, WIDTH))
    draws = (torch.from_numpy(stream("authors", layer).normal(size=shape)) for layer, shape in enumerate(shapes))
    initial = tuple(draw * (2 / draw.shape[1]) ** 0.5 for draw in draws)
    model = network(initial)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    targets = nn.functional.one_hot(labels[rows], CLASSES).double()
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x[rows]), targets).backward()
        optimizer.step()
    trained = tuple(parameter.detach().clone() for parameter in model.parameters())
    return Subject(x[rows], labels[rows], x, labels, trained, initial)
