"""D.fig1, D.fig3 to D.fig6: Deep RFM on images, layer by layer, and the control without the AGOP (M = I).

The paper has 18 layers, the Laplace kernel (for ReLU features on MNIST the Gaussian one) of bandwidth 2, no ridge, 1024
ReLU features or 4096 Fourier features of scale 0.05, and pixels as they are. (The authors' code standardises pixels,
and has as many Fourier features as inputs.) A kernel matrix can be singular to working precision, as the Gaussian one
is when points collapse. Then gramlab.kernels.solve takes the ridge sqrt(eps) tr(K)/n = 1.5e-8; the rows report it by
layer. Seeds draw the features and, where a source has more images than ``samples``, the subset of images.
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


class Settings(Simulation):
    """``instances`` counts seeds."""

    data: list[Literal["digits", "mnist", "cifar10", "svhn"]]  # image sources
    samples: Count  # training images of each source
    layers: Count  # of the Deep RFM
    width: Count  # number of ReLU features; there are four times as many Fourier features


CONTROL = "control: M = I"
# kernels for ReLU features by source; digits stand for all three sources of the paper
KERNELS = {"cifar10": ("laplace",), "mnist": ("gaussian",), "svhn": ("laplace",), "digits": ("laplace", "gaussian")}
SHOWN = 4  # images of each class in a Gram image


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: NC1 and NC2 by place and layer, mean cosines, ridges, and Gram images of the first seed."""
    root = load("paper").machine.root()
    for source in settings.data:
        data = prepare(source, root, train=None if source == "digits" else settings.samples, order="first")
        x, y = data.numbers(data.x_train, torch.float64).flatten(1).numpy(), data.y_train.numpy()
        for seed in range(settings.instances):
            images, classes = x, y
            if len(x) > settings.samples:
                subset = stream("d_deep_rfm", source, seed).choice(len(x), settings.samples, replace=False)
                images, classes = x[subset], y[subset]
            for features, kernel, arm in _models(source):
                width = settings.width if features == "relu" else 4 * settings.width
                model = DeepRFM(settings.layers, kernel=kernel, features=features, n_features=width, seed=seed,
                                agop=arm == "claim", gram_samples=SHOWN)  # fmt: skip
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", SingularKernel)  # the rows report the ridge
                    model.fit(images, classes)
                labels = {"arm": arm, "case": f"{source}, {kernel}, {features}", "seed": seed, "dtype": "float64"}
                yield from ({**labels, **row} for row in _layers(model, with_images=seed == 0))


def _models(source: str) -> Iterator[tuple[str, str, str]]:
    """Features, kernel and arm of the models of a source; of several kernels the first has the control."""
    for features, kernels in (("relu", KERNELS[source]), ("fourier", ("laplace",))):
        for kernel in kernels:
            yield features, kernel, "claim"
            if kernel == kernels[0]:
                yield features, kernel, CONTROL


def _layers(model: DeepRFM, with_images: bool) -> Iterator[dict]:
    """Rows of every layer; with ``with_images`` also the Gram images of four layers."""
    K = len(model.classes_)
    shown = {1, (model.n_layers + 2) // 3, (2 * model.n_layers + 2) // 3, model.n_layers}
    for number, layer in enumerate(model.layers_, 1):
        values = {f"nc1/{place}": value for place, value in layer.nc1.items()}
        values |= {f"nc2/{place}": value for place, value in layer.nc2.items()}
        values |= {"gram/within": layer.within, "gram/across": layer.across}
        # root mean square over pairs of classes of (the cosine of their means) + 1/(K-1)
        values |= {"gram/spread": layer.nc2["agop"] / (K * (K - 1)) ** 0.5, "ridge": layer.ridge}
        for quantity, value in values.items():
            yield {"layer": str(number), "x": float(number), "quantity": quantity, "value": value}
        if with_images and number in shown:
            for pixel, value in enumerate(layer.gram.ravel().tolist()):
                yield {"layer": str(number), "x": float(pixel), "quantity": "gram/image", "value": value}
