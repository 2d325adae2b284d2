"""D.fig1, D.fig3 to D.fig6: Deep RFM on images, layer by layer, with its controls.

The paper has 18 layers, the Laplace kernel (for ReLU features on MNIST the Gaussian one) of bandwidth 2, no ridge, 1024
ReLU features or 4096 Fourier features of scale 0.05, and unchanged pixels. (The authors' code standardises pixels, and
has as many Fourier features as inputs.) A kernel matrix can be singular to working precision, as the Gaussian one is
when points collapse. Then gramlab.kernels.solve takes the ridge sqrt(eps) tr(K)/n = 1.5e-8; the rows report it by
layer. Seeds draw the features and the subset of the digits. Of the other sources all seeds have the first ``samples``
images, as in the paper. Cases are named for the images that were there: ``cifar10-jpeg`` where CIFAR-10 is missing.

Digits have the Laplace kernel. With the Gaussian kernel, the paper's for ReLU features on MNIST, the kernel matrix of
1,000 digits is singular in 13 to 15 of 18 layers, and the last machine does not interpolate.

Controls: random features alone (M = I); a Deep RFM that is fitted to shuffled labels, whose AGOP has no reason to bring
the true classes together; M of the same spectrum with random eigenvectors; feature maps without their nonlinearity.
"""

import warnings
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from gramlab import DeepRFM, neural_collapse
from gramlab.kernels.deep import DeepLayer, Stage
from gramlab.kernels.solve import SingularKernel
from gramlab.streams import stream
from tasks.measuring.invariants import check_traces, error_context
from tasks.measuring.nulls import collapse_nulls, in_random_directions
from tasks.measuring.resumable import rows_of_part
from tasks.measuring.stand_ins import prepare_or_stand_in
from tasks.settings import load
from tasks.settings.fields import Count
from tasks.settings.simulation import Simulation


class Settings(Simulation):
    """``instances`` counts the seeds of Fourier features on all samples."""

    data: list[Literal["digits", "mnist", "cifar10", "svhn"]]  # image sources
    samples: Count  # training images of each source
    fewer_samples: list[Count]  # of them, for how collapse with Fourier features depends on their number
    layers: Count  # of the Deep RFM
    relu: Count  # number of ReLU features
    fourier: Count  # number of Fourier features
    fewer_instances: Count | None = None  # seeds of all else but the control M = I; by default all

    def fewer_seeds(self) -> int:
        """The number of seeds of ReLU features, of the fits to fewer samples, and of controls other than M = I."""
        return min(self.instances, self.fewer_instances or self.instances)

    def seeds(self) -> set[int]:
        """A series of the table has all seeds, or the fewer seeds."""
        return {self.instances, self.fewer_seeds()}


NO_AGOP, SHUFFLED = "control: M = I", "control: fitted to shuffled labels"
LINEAR, TURNED = "control: features without their nonlinearity", "control: M with random eigenvectors"
KERNELS = {"cifar10": "laplace", "mnist": "gaussian", "svhn": "laplace", "digits": "laplace"}  # for ReLU features
PLACES = ("data", "agop", "features")  # the data of a layer, after M^{1/2}, and after the feature map
SHOWN = 4  # images of each class in a Gram image
IMAGES = ("gram/image", "image/class means")  # of the first seed
BY_SAMPLES = "nc1/by samples"
Features = tuple[Tensor, Tensor | None]  # weights and shifts of a layer


class SameFeatures(DeepRFM):
    """A DeepRFM that draws its random features at its first fit alone: they depend on no label, sample or AGOP."""

    @cached_property
    def _drawn(self) -> dict[int, Features]:
        return {}

    def _draw_features(self, layer: int, x: Tensor) -> Features:
        if layer not in self._drawn:
            self._drawn[layer] = super()._draw_features(layer, x)
        return self._drawn[layer]


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: NC1 and NC2 by place and layer, and by chance in the last layer, mean cosines, ridges, training accuracy.

    The first seed has Gram images too. With Fourier features there are rows of the last layer's NC1 by the number of
    samples: these are the run's first samples. Only the fewer seeds have these rows, ReLU features, and controls other
    than M = I, which a statement compares with the claim seed by seed.
    """
    root = load("paper").machine.root()
    seeds_of = {**dict.fromkeys(IMAGES, 1), BY_SAMPLES: settings.fewer_seeds()}
    for wanted in settings.data:
        count = None if wanted == "digits" else settings.samples
        data, _ = prepare_or_stand_in("measure@d_deep_rfm", wanted, root, train=count, order="first")
        source = data.source
        x, y = data.scaled(data.x_train, torch.float64).flatten(1).numpy(), data.y_train.numpy()
        for seed in range(settings.instances):
            images, classes, among_fewer = x, y, seed < settings.fewer_seeds()
            if len(x) > settings.samples:
                subset = stream("d_deep_rfm", source, seed).choice(len(x), settings.samples, replace=False)
                images, classes = x[subset], y[subset]
            for features, kernel, width in (
                ("relu", KERNELS[wanted], settings.relu), ("fourier", "laplace", settings.fourier),
            ):  # fmt: skip
                if features == "relu" and not among_fewer:
                    continue
                model = SameFeatures(settings.layers, kernel=kernel, features=features, n_features=width, seed=seed,
                                     gram_samples=SHOWN)  # fmt: skip
                labels = {"case": f"{source}, {kernel}, {features}", "seed": seed, "dtype": "float64"}
                part = [source, len(images), among_fewer, model.get_params()]
                rows_of_model = partial(_rows_of_model, model, images, classes, among_fewer)
                for row in rows_of_part("d_deep_rfm", part, rows_of_model):
                    if seed < seeds_of.get(row["quantity"], settings.instances):
                        yield {**labels, **row}
                for count in settings.fewer_samples if features == "fourier" and among_fewer else ():
                    part = ["fewer samples", source, count, model.get_params()]
                    rows_of_fewer = partial(_rows_of_fewer, model, images[:count], classes[:count])
                    for row in rows_of_part("d_deep_rfm", part, rows_of_fewer):
                        yield {**labels, **row}


def _rows_of_model(model: DeepRFM, x: np.ndarray, y: np.ndarray, all_controls: bool) -> Iterator[dict]:
    """Rows of a model fitted to images (n, d) with labels (n,), and of all its controls or of M = I alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularKernel)  # the rows report the ridge
        model.fit(x, y)
        sizes = np.minimum(np.unique(y, return_counts=True)[1], SHOWN)
        yield from ({**row, "arm": "claim"} for row in _rows_of_layers(model, sizes))
        yield {"arm": "claim", "quantity": "train_accuracy", "value": _training_accuracy(model, y)}
        yield {"arm": "claim", **_row_of_samples(model, len(x))}
        yield from _rows_of_stages(model, x, y, all_controls)
        model.set_params(agop=False).fit(x, y)
        # with M = I, NC1 after the AGOP is that of the data
        yield from ({**row, "arm": NO_AGOP} for row in _rows_of_layers(model, sizes) if row["quantity"] != "nc1/agop")
        yield {"arm": NO_AGOP, **_row_of_samples(model, len(x))}
        model.set_params(agop=True)
        if all_controls:
            shuffled = stream("d_deep_rfm", "shuffled", model.seed).permutation(y)
            model.fit(x, shuffled)
            yield from ({**row, "arm": SHUFFLED} for row in _class_rows(model, x, y))


def _rows_of_fewer(model: DeepRFM, x: np.ndarray, y: np.ndarray) -> Iterator[dict]:
    """Rows of the last layer's NC1 and of the training accuracy of a model fitted to fewer images, and with M = I."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularKernel)
        for arm, agop in (("claim", True), (NO_AGOP, False)):
            model.set_params(agop=agop).fit(x, y)
            yield {"arm": arm, **_row_of_samples(model, len(x))}
            if agop:
                accuracy = _training_accuracy(model, y)
                yield {"arm": arm, "x": float(len(x)), "quantity": "train_accuracy", "value": accuracy}
        model.set_params(agop=True)


def _training_accuracy(model: DeepRFM, y: np.ndarray) -> float:
    return float((model.training_labels() == y).mean())


def _row_of_samples(model: DeepRFM, count: int) -> dict:
    return {"x": float(count), "quantity": BY_SAMPLES, "value": model.layers_[-1].nc1["agop"]}


def _rows_of_layers(model: DeepRFM, sizes: np.ndarray) -> Iterator[dict]:
    """Rows of every layer with its class means' Gram image, and the samples' Gram images of four layers.

    ``sizes`` counts the samples of each class in a Gram image.
    """
    K = len(model.classes_)
    shown = {1, (model.n_layers + 2) // 3, (2 * model.n_layers + 2) // 3, model.n_layers}
    for number, layer in enumerate(model.layers_, 1):
        values = {f"nc1/{place}": value for place, value in layer.nc1.items()}
        values |= {f"nc2/{place}": value for place, value in layer.nc2.items()}
        values |= {"gram/within": layer.within, "gram/across": layer.across, "ridge": layer.ridge}
        values |= {"gram/spread": _spread(layer.nc2["agop"], K)}
        yield from _layer_rows(number, values)
        starts = np.cumsum(sizes) - sizes
        sums = np.add.reduceat(np.add.reduceat(layer.gram.astype(float), starts, 0), starts, 1)
        images = {"image/class means": sums / np.outer(sizes, sizes)}
        if number in shown:
            images["gram/image"] = layer.gram
        for quantity, image in images.items():
            for pixel, value in enumerate(image.ravel().tolist()):
                yield {"layer": str(number), "x": float(pixel), "quantity": quantity, "value": value}


def _layer_rows(number: int, values: dict[str, float]) -> Iterator[dict]:
    for quantity, value in values.items():
        yield {"layer": str(number), "x": float(number), "quantity": quantity, "value": value}


def _spread(nc2: float, K: int) -> float:
    """Root mean square over pairs of classes of (the cosine of their means) + 1/(K-1)."""
    return nc2 / (K * (K - 1)) ** 0.5


def _rows_of_stages(model: DeepRFM, x: np.ndarray, y: np.ndarray, other_maps: bool) -> Iterator[dict]:
    """Rows after other maps of each layer, if they are wanted, and those by chance in the last layer."""
    labels, draw = torch.from_numpy(y), stream("d_deep_rfm", "turned", model.features, model.seed)
    for number, (layer, stages) in enumerate(zip(model.layers_, model.stages(x), strict=True), 1):
        if other_maps:
            yield from _rows_of_other_maps(number, layer, stages, labels, draw)
    yield from ({**row, "arm": "claim"} for row in _chance_rows(model, stages, labels))


def _rows_of_other_maps(
    number: int, layer: DeepLayer, stages: Stage, labels: Tensor, draw: np.random.Generator
) -> Iterator[dict]:
    """NC1 of a layer's data after a linear feature map, and after M^{1/2} with random eigenvectors."""
    data, projected = (torch.from_numpy(stage).to(layer.weight) for stage in stages[:2])
    linear = neural_collapse(projected @ layer.weight.mT, labels).nc1
    assert layer.root is not None
    root = in_random_directions(torch.linalg.eigvalsh(layer.root), data.shape[1], draw)
    turned = neural_collapse(data @ root, labels).nc1
    values = {LINEAR: {"nc1/agop": layer.nc1["agop"], "nc1/features": linear},
              TURNED: {"nc1/data": layer.nc1["data"], "nc1/agop": turned}}  # fmt: skip
    for arm, arm_values in values.items():
        yield from ({**row, "arm": arm} for row in _layer_rows(number, arm_values))


def _class_rows(model: DeepRFM, x: np.ndarray, y: np.ndarray) -> Iterator[dict]:
    """Rows of every layer for other classes than those that the model was fitted to."""
    labels, K = torch.from_numpy(y), len(model.classes_)
    for number, (layer, stages) in enumerate(zip(model.layers_, model.stages(x), strict=True), 1):
        values = {"ridge": layer.ridge}
        for place, stage in zip(PLACES, stages, strict=True):
            collapse = neural_collapse(torch.from_numpy(stage), labels)
            with error_context(seed=model.seed, layer=number, place=place):
                check_traces(collapse.within, collapse.between, float(stage.var(0).sum()))
            values |= {f"nc1/{place}": collapse.nc1, f"nc2/{place}": collapse.nc2}
        within, across = cosines(torch.from_numpy(stages[1]), labels)
        values |= {"gram/within": within, "gram/across": across, "gram/spread": _spread(values["nc2/agop"], K)}
        yield from _layer_rows(number, values)
    yield from _chance_rows(model, stages, labels)


def _chance_rows(model: DeepRFM, stages: Sequence[np.ndarray], labels: Tensor) -> Iterator[dict]:
    """Rows null/nc1/... and null/nc2/... of the last layer: NC1 and NC2 for permuted labels."""
    draw = stream("d_deep_rfm", "classes by chance", model.features, model.seed)
    for place, stage in zip(PLACES, stages, strict=True):
        chance = collapse_nulls(torch.from_numpy(stage), labels, draw)
        yield from _layer_rows(model.n_layers, {f"null/{name}/{place}": value for name, value in chance.items()})


def cosines(h: Tensor, labels: Tensor) -> tuple[float, float]:
    """Mean cosines of two samples of one class, and of two classes, centred at the mean of the class means.

    They follow from each class's sum of unit vectors: its squared norm is the sum of the cosines of all pairs.
    """
    member = (labels[:, None] == labels.unique()).to(h)  # (n, K), without classes that have no sample
    counts = member.sum(0)
    centred = h - ((member.mT @ h) / counts[:, None]).mean(0)
    sums = member.mT @ (centred / centred.norm(dim=1, keepdim=True))
    in_classes = float(sums.square().sum())
    pairs_within = float((counts * (counts - 1)).sum())
    pairs_across = float(counts.sum() ** 2 - counts.square().sum())
    return (in_classes - len(h)) / pairs_within, (float(sums.sum(0).square().sum()) - in_classes) / pairs_across
