"""Paper B: tangent kernels, the NFA and the centered NFA, AGOP."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

import gramlab
from benchmarks.authors.checkout import Checkout
from benchmarks.authors.comparison import Comparison, Functions
from benchmarks.authors.subject import CLASSES, WIDTH, Subject, network
from gramlab.measures.measurement import Measurement

FLOAT32 = "Their perturbations are float32 whatever the network is, so that K has the digits of float32."


def comparisons(checkout: Checkout, subject: Subject) -> Iterator[Comparison]:
    """All comparisons with centered_NFA."""
    utils = checkout.take("MLP/utils.py", "get_Ks", "mat_cov", "measure_agop")
    measured = gramlab.measure(
        subject.model(),
        subject.x,
        quantities=["gram", "ptk", "centered_gram", "centered_agop"],
        initial=network(subject.initial),
        layers=["0", "2"],
    )
    ours = torch.stack([layer.ptk for layer in measured.values()])
    model = their_model(checkout, subject)
    K = utils.get_Ks(model, subject.x, 2, WIDTH).double()
    torch.set_default_dtype(torch.float64)  # what their perturbations are made in
    exact = utils.get_Ks(model, subject.x, 2, WIDTH)
    torch.set_default_dtype(torch.float32)
    functions = Functions(checkout, "MLP/utils.py: get_Ks", "LayerMeasures.ptk")
    yield functions.compare(
        "PTK of the hidden layers",
        K, ours, f"They sum over the samples where ours averages. {FLOAT32}", ours * len(subject.x), 1e-5,
    )  # fmt: skip
    yield functions.compare(
        "PTK of the hidden layers, their perturbations in float64",
        exact, ours, "They sum over the samples where ours averages.", ours * len(subject.x),
    )  # fmt: skip
    W = subject.weights[0]
    yield Functions(checkout, "MLP/utils.py: mat_cov", "gramlab.pearson").compare(
        "Pearson correlation of AGOP and Gram, layer 1",
        utils.mat_cov(W.T @ ours[0] @ W, W.T @ W), gramlab.pearson(measured["0"].agop, measured["0"].gram),
    )  # fmt: skip
    function = "MLP/main.py: the loop over layers"
    for quantity, pair in (("NFA", ("agop", "gram")), ("centered NFA", ("centered_agop", "centered_gram"))):
        centered = quantity != "NFA"
        value = [gramlab.pearson(*(getattr(layer, name) for name in pair)) for layer in measured.values()]
        yield Functions(checkout, function, "gramlab.pearson of LayerMeasures").compare(
            f"{quantity} correlation by layer",
            correlations(utils.mat_cov, K, subject, centered), value, FLOAT32,
            correlations(gramlab.pearson, K, subject, centered),
        )  # fmt: skip
        yield Functions(checkout, function, "gramlab.pearson of LayerMeasures").compare(
            f"{quantity} correlation by layer, their perturbations in float64",
            correlations(utils.mat_cov, exact, subject, centered), value,
        )  # fmt: skip
    yield from broken_agop(checkout, subject, measured)


def correlations(correlation, K: Tensor, subject: Subject, centered: bool) -> list[float]:
    """The lines of their loop over layers: W - W0 where centered, the Gram and W^T K W, and their correlation."""
    values = []
    for kernel, W, W0 in zip(K, subject.weights, subject.initial, strict=False):
        moved = W - W0 if centered else W
        values.append(correlation(moved.T @ kernel @ moved, moved.T @ moved))
    return values


def their_model(checkout: Checkout, subject: Subject) -> nn.Module:
    """Their MLP with the weights of ours."""
    taken = checkout.take("MLP/models.py", "MLP", "Activation", "get_MLP")
    model = taken.get_MLP(subject.x.shape[1], CLASSES, WIDTH, 1.0, 2).double()
    linears = [part for part in model.layers if isinstance(part, nn.Linear)]
    for linear, weight in zip(linears, subject.weights, strict=True):
        linear.weight.data = weight.clone()
    return model


def broken_agop(checkout: Checkout, subject: Subject, measured: Measurement) -> Iterator[Comparison]:
    """Their AGOP by Jacobians, which calls a function that their file does not define."""
    agop = checkout.take("MLP/utils.py", "measure_agop").measure_agop
    yield Functions(checkout, "MLP/utils.py: measure_agop", "LayerMeasures.agop").broken(
        "AGOP of the pixels", lambda: agop(subject.model(), subject.x), measured["0"].agop, "It cannot run."
    )
