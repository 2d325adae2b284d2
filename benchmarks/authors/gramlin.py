"""Paper A: target linearity, surrogate, virtual covariance shift, whitened step."""

from collections.abc import Iterator
from types import SimpleNamespace

import torch
from torch import nn

import gramlab
from benchmarks.authors.checkout import Checkout
from benchmarks.authors.comparison import Comparison, Functions
from benchmarks.authors.subject import CLASSES, Subject, network
from gramlab.measures.losses import per_sample
from gramlab.nets.polar import same_gram

STEP, LARGE, MOMENTUM, STEPS = 0.05, 500.0, 0.8, 5


def comparisons(checkout: Checkout, subject: Subject) -> Iterator[Comparison]:
    """All comparisons with GramLin."""
    yield from linearity(checkout, subject)
    yield from surrogates(checkout, subject)
    yield from shifts(checkout, subject)
    yield from whitened(checkout, subject)


def linearity(checkout: Checkout, subject: Subject) -> Iterator[Comparison]:
    """Target linearity of the last hidden layer, of the pixels, and of features that repeat each other."""
    theirs = checkout.take("src/metric.py", "target_linearity").target_linearity
    functions = Functions(checkout, "src/metric.py: target_linearity", "gramlab.target_linearity")
    h, Y = subject.hidden()[1], subject.targets
    alive = h.any(0)  # without dead units HᵀH has an inverse
    h = h[:, alive]
    centred = Y - Y.mean(0)
    yield functions.compare(
        "T_0 of the last hidden layer, one-hot labels, classes of one size",
        theirs(Y, h), gramlab.target_linearity(h, Y),
    )  # fmt: skip
    uneven_h = gramlab.features(subject.model(), subject.uneven_x, ["4"])["4"][:, alive]
    uneven_Y = nn.functional.one_hot(subject.uneven_labels, CLASSES).double()
    ours = gramlab.target_linearity(uneven_h, uneven_Y)
    spread, row_spread = ((uneven_Y - uneven_Y.mean(axis, keepdim=True)).square().sum() for axis in (0, 1))
    yield functions.compare(
        "T_0 of the last hidden layer, one-hot labels, classes of different sizes",
        theirs(uneven_Y, uneven_h), ours,
        "They subtract from each sample the mean over its outputs (dim=1), where Definition 2 has each output's mean "
        "over the samples.",
        1 - (1 - ours) * spread / row_spread,
    )  # fmt: skip
    yield functions.compare(
        "T_0 of the last hidden layer, centred labels (as their scripts call it)",
        theirs(centred, h), gramlab.target_linearity(h, centred),
    )  # fmt: skip
    yield functions.compare(
        "T_0 of the pixels, some always black, centred labels",
        theirs(centred, subject.x), gramlab.target_linearity(subject.x, centred),
        "They invert HᵀH; where torch finds it singular they add a ridge of 1e-5.",
        gramlab.target_linearity(subject.x, centred, ridge=1e-5),
    )  # fmt: skip
    repeated = torch.cat([h, h @ h[:7].T], 1)  # HᵀH is singular up to round-off, which its LU factors do not show
    basis = torch.linalg.svd(h, full_matrices=False).U
    yield functions.compare(
        "T_0 of an orthonormal basis of the last hidden layer, centred labels",
        theirs(centred, basis), gramlab.target_linearity(h, centred),
    )  # fmt: skip
    yield functions.compare(
        "T_0 of the last hidden layer beside 7 linear maps of it, centred labels",
        theirs(centred, repeated), gramlab.target_linearity(repeated, centred),
        "They invert the singular HᵀH without a ridge, since its round-off hides that it is singular.",
        inverted(repeated, centred),
    )  # fmt: skip


def inverted(H: torch.Tensor, Y: torch.Tensor) -> torch.Tensor:
    """T_0 of centred targets by the inverse of HᵀH, which is only round-off in some directions."""
    fitted = torch.linalg.multi_dot((H, torch.linalg.inv(H.T @ H), H.T, Y))
    return 1 - (Y - fitted).square().sum() / Y.square().sum()


def surrogates(checkout: Checkout, subject: Subject) -> Iterator[Comparison]:
    """The surrogate, alone and as their function over all layers computes it."""
    taken = checkout.take("src/metric.py", "surrogate", "target_linearity", "compute_layerwise_metrics")
    hidden, Y = subject.hidden(), subject.targets
    ours = [gramlab.surrogate(h, W, Y) for h, W in zip(hidden, subject.weights[1:], strict=True)]
    yield Functions(checkout, "src/metric.py: surrogate", "gramlab.surrogate").compare(
        "S(G_id) of the last hidden layer, one-hot labels",
        taken.surrogate(Y, hidden[1], subject.weights[2], 256)[0], ours[1],
        "They average over the outputs the diagonal whose sum is the trace.", ours[1] / CLASSES,
    )  # fmt: skip
    layers = [SimpleNamespace(weight=weight) for weight in subject.weights]
    alive = [h[:, h.any(0)] for h in hidden]
    for layer, inputs in zip(layers[1:], hidden, strict=True):
        layer.weight = layer.weight[:, inputs.any(0)]
    values = taken.compute_layerwise_metrics(SimpleNamespace(layers=layers), alive, subject.labels)
    centred = Y - Y.mean(0)
    follows = [gramlab.surrogate(h, W, centred) / CLASSES for h, W in zip(hidden, subject.weights[1:], strict=True)]
    function = "src/metric.py: compute_layerwise_metrics"
    yield Functions(checkout, function, "gramlab.surrogate").compare(
        "S(G_id) by layer, labels as their scripts give them",
        values[0], ours,
        "They centre the labels, and average over the outputs; the paper's formula has the labels Y and a trace.",
        follows,
    )  # fmt: skip
    yield Functions(checkout, function, "gramlab.target_linearity").compare(
        "T_0 by layer, labels as their scripts give them",
        values[1], [gramlab.target_linearity(h, Y) for h in hidden],
        "They centre the labels before the fit without an intercept; Definition 2 fits Y itself.",
        [gramlab.target_linearity(h, centred) for h in hidden],
    )  # fmt: skip


def shifts(checkout: Checkout, subject: Subject) -> Iterator[Comparison]:
    """The virtual covariance shift of the input, as called by default, with outer products, and in batches."""
    theirs = checkout.take("src/vc.py", "compute_vc", tqdm=lambda batches, desc: batches).compute_vc
    functions = Functions(checkout, "src/vc.py: compute_vc", "LayerMeasures.virtual_shift")
    model, x, Y = subject.model(), subject.x, subject.targets
    layer = gramlab.measure(model, x, Y, layers="0")["0"]
    shift = layer.virtual_shift(STEP)

    def vc(batch: int, categorize: bool, step: float = STEP) -> torch.Tensor:
        return theirs(model, list(zip(x.split(batch), Y.split(batch), strict=True)), mean_loss, step, "cpu", categorize)

    n = len(x)
    lost, lost_trace = cancellation(x.T @ x, shift), cancellation((x.T @ x).trace(), shift.trace())
    subtraction = "They subtract two nearly equal matrices, which leaves their round-off."
    yield functions.compare(
        f"VC of the pixels, all samples in a batch, categorize=False, γ = {STEP}",
        vc(n, False), shift, subtraction, shift, n * lost,
    )  # fmt: skip
    yield functions.compare(
        f"VC of the pixels, all samples in a batch, categorize=False, γ = {LARGE}",
        vc(n, False, LARGE), layer.virtual_shift(LARGE),
    )  # fmt: skip
    yield functions.compare(
        "VC of the pixels, all samples in a batch, categorize=True (their default)",
        vc(n, True), shift, "They contract the pixels with each other: what remains is 1 × 1, the trace of the shift.",
        shift.trace(), x.numel() * lost_trace,
    )  # fmt: skip
    yield functions.compare(
        "VC of the pixels, 8 batches, categorize=False",
        vc(n // 8, False), shift,
        "Their loss is the mean over a batch, so that gradients and step grow with the number of batches; Definition 1 "
        "has the loss of all samples.",
        layer.virtual_shift(8 * STEP), n * lost,
    )  # fmt: skip


def cancellation(total: torch.Tensor, difference: torch.Tensor) -> float:
    """The relative error of a small difference of matrices, for one rounding of the large ones."""
    return float(torch.finfo(total.dtype).eps * total.abs().max() / difference.abs().max())


def mean_loss(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """gramlab's loss "mse", averaged over the samples."""
    return per_sample("mse", outputs, targets).mean()


def whitened(checkout: Checkout, subject: Subject) -> Iterator[Comparison]:
    """The whitened step of one weight, and five steps of their optimizer."""
    newtonschulz = checkout.take("src/utils.py", "newtonschulz").newtonschulz
    taken = checkout.take(
        "src/optim.py",
        "GramFace",
        "_params_viewed_as_2d",
        "whitening",
        Optimizer=torch.optim.Optimizer,
        newtonschulz=newtonschulz,
    )
    loss = nn.functional.mse_loss
    model = subject.model()
    loss(model(subject.x), subject.targets).backward()
    for place, name in (("0", "32 × 64"), ("2", "32 × 32")):
        W = model.get_parameter(f"{place}.weight")
        target = (W - STEP * W.grad).detach()
        W = W.detach()
        yield Functions(checkout, "src/optim.py: whitening", "gramlab.nets.polar.same_gram(svd)").compare(
            f"whitened step of a weight of {name}",
            taken.whitening(W, target), same_gram(W, target, "svd"),
            "Ten Newton-Schulz steps do not reach the orthogonal factor of the small directions.",
            same_gram(W, target, "ten-steps"), 1e-7,
        )  # fmt: skip
    weights = {}
    for name in ("theirs", "ten-steps", "svd"):
        model = network(subject.initial)
        if name == "theirs":
            optimizer = taken.GramFace(torch.optim.SGD, model.parameters(), taken.whitening, lr=STEP, momentum=MOMENTUM)
        else:
            optimizer = gramlab.WhitenedSGD(model.parameters(), lr=STEP, momentum=MOMENTUM, method=name)
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss(model(subject.x), subject.targets).backward()
            optimizer.step()
        weights[name] = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    yield Functions(checkout, "src/optim.py: GramFace", "gramlab.WhitenedSGD(method='svd')").compare(
        f"weights after {STEPS} whitened steps with momentum",
        weights["theirs"], weights["svd"], "The same ten Newton-Schulz steps.", weights["ten-steps"], 1e-7,
    )  # fmt: skip
