"""D.fig1, D.fig3 to D.fig6: Deep RFM on images, and the same without the AGOP (M = I), layer by layer.

The paper: Laplace kernel, for ReLU features on MNIST the Gaussian one, bandwidth 2, no ridge; 1024 ReLU features, 4096
Fourier features of scale 0.05; 18 layers; pixels as they are. (The authors' code standardises pixels, and has as many
Fourier features as inputs.) Where a kernel matrix is singular to working precision, as the Gaussian one becomes when
points collapse, gramlab.kernels.solve takes a ridge of sqrt(eps) tr(K)/n = 1.5e-8: it is among the rows, by layer.
Seeds draw the features, and, where fewer images are kept than there are, which of them.
"""

import warnings
from collections.abc import Iterator
from typing import Literal

import torch

from gramlab import DeepRFM
from gramlab.data import prepare
from gramlab.kernels.solve import SingularKernel
from gramlab.streams import stream
from tasks.settings import load
from tasks.settings.fields import Count
from tasks.settings.simulation import Simulation

CONTROL = "control: M = I"
# of each data set, the kernels for ReLU features; digits stand for all of the paper's three
KERNELS = {"cifar10": ("laplace",), "mnist": ("gaussian",), "svhn": ("laplace",), "digits": ("laplace", "gaussian")}
SHOWN = 4  # images of each class in a Gram image


class Settings(Simulation):
    """Settings of this experiment."""

    data: list[Literal["digits", "mnist", "cifar10", "svhn"]]  # image sources
    samples: Count  # of each source
    layers: Count
    width: Count  # of the hidden layers


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: NC1 and NC2 by place and layer, the cosines' means, and Gram images of the first seed."""
    root = load("paper").machine.root()
    for source in settings.data:
        data = prepare(source, root, train=None if source == "digits" else settings.samples, order="first")
        x, y = data.numbers(data.x_train, torch.float64).flatten(1).numpy(), data.y_train.numpy()
        for seed in range(settings.instances):
            kept = slice(None)
            if len(x) > settings.samples:
                kept = stream("d_deep_rfm", source, seed).choice(len(x), settings.samples, replace=False)
            for features, width in (("relu", settings.width), ("fourier", 4 * settings.width)):
                for kernel in KERNELS[source] if features == "relu" else ("laplace",):
                    controlled = features == "fourier" or kernel == KERNELS[source][0]
                    for arm in ("claim", CONTROL) if controlled else ("claim",):
                        model = DeepRFM(settings.layers, kernel=kernel, features=features, n_features=width, seed=seed,
                                        agop=arm == "claim", gram_samples=SHOWN)  # fmt: skip
                        about = {
                            "arm": arm,
                            "case": f"{source}, {kernel}, {features}",
                            "seed": seed,
                            "dtype": "float64",
                        }
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore", SingularKernel)  # the ridge used is among the rows
                            model.fit(x[kept], y[kept])
                        yield from _rows(about, model)


def _rows(about: dict, model: DeepRFM) -> Iterator[dict]:
    K = len(model.classes_)
    shown = {1, (model.n_layers + 2) // 3, (2 * model.n_layers + 2) // 3, model.n_layers}
    for number, layer in enumerate(model.layers_, 1):
        at = {**about, "layer": str(number), "x": float(number)}
        for name, places in (("nc1", layer.nc1), ("nc2", layer.nc2)):
            for place, value in places.items():
                yield {**at, "quantity": f"{name}/{place}", "value": value}
        yield {**at, "quantity": "gram/within", "value": layer.within}
        yield {**at, "quantity": "gram/across", "value": layer.across}
        # root mean square over pairs of classes of the cosine of their means less -1/(K-1)
        yield {**at, "quantity": "gram/spread", "value": layer.nc2["agop"] / (K * (K - 1)) ** 0.5}
        yield {**at, "quantity": "ridge", "value": layer.ridge}
        if number in shown and about["seed"] == 0:
            for pixel, value in enumerate(layer.gram.ravel().tolist()):
                yield {**at, "quantity": "gram/image", "x": float(pixel), "value": value}
