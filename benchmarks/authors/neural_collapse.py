"""Paper D: NC1, NC2, the traces' sum rule, AGOP, and a layer of Deep RFM."""

from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import torch
from torch import Tensor, nn

import gramlab
from benchmarks.authors.checkout import Checkout
from benchmarks.authors.comparison import Comparison, Functions
from benchmarks.authors.subject import CLASSES, Subject
from gramlab.kernels.functions import Kernel
from gramlab.measures.collapse import Collapse

FACTOR = "They divide the sum within classes by classes × n, n being all samples, where S_W divides by n."
SINGLE = 1e-5  # what float32 leaves of a matrix root, of the largest entry


def comparisons(checkout: Checkout, subject: Subject) -> Iterator[Comparison]:
    """All comparisons with neural_collapse_rfm."""
    balanced = (subject.hidden()[1], subject.labels, "")
    uneven_h = gramlab.features(subject.model(), subject.uneven_x, ["4"])["4"]
    uneven = (uneven_h, subject.uneven_labels, ", classes of different sizes")
    for h, labels, note in (balanced, uneven):
        yield from collapse(checkout, h, labels, note)
    yield from agops(checkout, subject)
    yield from features(checkout, subject)


def collapse(checkout: Checkout, h: Tensor, labels: Tensor, note: str) -> Iterator[Comparison]:
    """NC1, NC2 and the sum rule of the last hidden layer."""
    n, hot = len(labels), nn.functional.one_hot(labels, CLASSES)
    taken = checkout.take("deep_rfm.py", "get_class_variance", "get_NC2_from_means", NUM_CLASSES=CLASSES, n=n)
    S_B, S_W, S_T, means = taken.get_class_variance(h, hot)
    ours = gramlab.neural_collapse(h, labels)
    between, total = unweighted(ours, h)
    weights = " They also weigh classes alike where S_B weighs samples alike." if note else ""
    functions = Functions(checkout, "deep_rfm.py: get_class_variance", "gramlab.neural_collapse")
    yield functions.compare(
        f"NC1 = tr(S_W)/tr(S_B) of the last hidden layer{note}",
        S_W.trace() / S_B.trace(), ours.nc1, FACTOR + weights, ours.within / CLASSES / between,
    )  # fmt: skip
    yield functions.compare(
        f"(tr(S_W) + tr(S_B)) / tr(S_T) of the last hidden layer{note}",
        (S_W.trace() + S_B.trace()) / S_T.trace(), (ours.within + ours.between) / ours.total,
        f"They divide S_T likewise, but S_B by classes alone, so that the traces do not add up.{weights}",
        (ours.within / CLASSES + between) / (total / CLASSES),
    )  # fmt: skip
    centre = ours.means.mean(0)
    moved = Collapse(ours.within, ours.between, ours.means, centre, ours.labels)
    yield Functions(checkout, "deep_rfm.py: get_NC2_from_means", "gramlab.neural_collapse").compare(
        f"NC2 of the last hidden layer{note}",
        taken.get_NC2_from_means(means), ours.nc2,
        "They take the mean of the squared entries, ‖·‖²/classes², where the figure's label has the norm."
        + (" They centre at the mean of the class means." if note else ""),
        moved.nc2**2 / CLASSES**2,
    )  # fmt: skip


def unweighted(ours: Collapse, h: Tensor) -> tuple[float, float]:
    """Mean squared distances of the class means, and of all samples, from the mean of the class means."""
    centre = ours.means.mean(0)
    return float((ours.means - centre).square().sum(1).mean()), float((h - centre).square().sum(1).mean())


def agops(checkout: Checkout, subject: Subject) -> Iterator[Comparison]:
    """The AGOP of the network at the pixels by both scripts."""
    ours = gramlab.measure(subject.model(), subject.x, quantities=["agop"], layers="0")["0"].agop
    for path, cause, follows in (
        ("nc_nn.py", "They sum over the samples where ours averages.", ours * len(subject.x)),
        ("nc_nn_ratio.py", "", None),
    ):
        theirs = checkout.take(path, "measure_agop").measure_agop(subject.model(), subject.x)
        yield Functions(checkout, f"{path}: measure_agop", "LayerMeasures.agop").compare(
            "AGOP of the pixels", theirs, ours, cause, follows
        )


def features(checkout: Checkout, subject: Subject) -> Iterator[Comparison]:
    """Kernel, root of the AGOP and random features: the parts of a Deep RFM layer that this repository has."""
    x, labels = subject.few(30)
    machine = gramlab.DeepRFM(n_layers=1, n_features=64, ridge=1e-3).fit(x.numpy(), labels.numpy())
    (layer,) = machine.layers_
    unit = x / x.norm(dim=1, keepdim=True)
    kernels = checkout.take("kernels.py", "euclidean_distances", "euclidean_distances_M", "laplacian_M")
    M = layer.root @ layer.root
    yield Functions(checkout, "kernels.py: laplacian_M", "gramlab.kernels.functions.Kernel").compare(
        "Laplace kernel of two samples' sets under the AGOP",
        kernels.laplacian_M(unit[:200], unit[200:], 2.0, M), Kernel("laplace", 2.0).matrix(unit[:200], unit[200:], M),
    )  # fmt: skip
    taken = checkout.take("deep_rfm.py", "matrix_sqrt", "Activation")
    root = taken.matrix_sqrt(M)
    yield Functions(checkout, "deep_rfm.py: matrix_sqrt", "gramlab.psd_power").compare(
        "M^{1/2} of the first layer's AGOP",
        root, layer.root, "They round the eigenvectors and eigenvalues to float32.", single_root(M), SINGLE,
    )  # fmt: skip

    def linear(width: int, outputs: int, bias: bool) -> nn.Linear:
        """A layer with gramlab's random weight in place of theirs."""
        part = nn.Linear(width, outputs, bias=bias, dtype=torch.float64)
        part.weight = nn.Parameter(layer.weight.clone())
        return part

    theirs = SimpleNamespace(Linear=linear, Parameter=nn.Parameter, Sequential=nn.Sequential)
    sample = checkout.take("deep_rfm.py", "sample_feats", nn=theirs, Activation=taken.Activation).sample_feats
    yield Functions(checkout, "deep_rfm.py: sample_feats", "gramlab.DeepRFM").compare(
        "ReLU features of a layer, weights of ours",
        sample(layer.root, x.shape[1], 64)(unit), next(iter(machine.stages(x.numpy())))[2],
    )  # fmt: skip
    drawn = checkout.take("deep_rfm.py", "sample_feats", nn=nn, Activation=taken.Activation).sample_feats
    torch.manual_seed(0)
    weight = drawn(torch.eye(x.shape[1]), x.shape[1], 64)[0].weight.double()
    yield Functions(checkout, "deep_rfm.py: sample_feats", "gramlab.DeepRFM").compare(
        "standard deviation of the features' weights",
        weight.std(), 1.0,
        "They keep torch's default U(±1/√d) where the paper has N(0, I): with ReLU and "
        "samples of length 1 the scale has no effect.",
        np.sqrt(1 / 3 / x.shape[1]), 0.05,
    )  # fmt: skip


def single_root(M: Tensor) -> Tensor:
    """M^{1/2} from eigenvalues and eigenvectors in float32."""
    values, vectors = torch.linalg.eigh(M)
    single = vectors.float()
    return single @ torch.diag(values.clamp_min(0).float().sqrt()) @ single.T
