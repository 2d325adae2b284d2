"""Numbers that summarise one measurement: the papers' curves against training steps and layers."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from torch import Tensor
from torch.nn import functional as F

from gramlab.measures.collapse import neural_collapse
from gramlab.measures.linearity import surrogate, target_linearity
from gramlab.measures.measurement import Measurement
from gramlab.measures.powers import psd_power
from gramlab.measures.results import LayerMeasures
from gramlab.measures.similarity import pearson
from gramlab.measures.undefined import Undefined

_WIDEST = 1024  # an eigen-decomposition of this side takes about a second

# the quantities that compare a layer's features with the targets
TARGET_QUANTITIES = ("target_linearity", "surrogate", "nc1", "nc2")

# quantity -> its value from a layer's measures
CORRELATIONS: dict[str, Callable[[LayerMeasures], float]] = {
    # paper B, Figure 2: the cosine of the NFA, plain and without the initial weights
    "nfa": lambda m: m.cosine("gram", "agop"),
    "centered_nfa": lambda m: m.cosine("centered_gram", "centered_agop"),
    "double_centered_nfa": lambda m: m.cosine("centered_gram", "double_centered_agop"),
    "ptk_centered_nfa": lambda m: m.cosine("initial_gram", "ptk_centered_agop"),
    # paper C, Table 2, Figures 3, 8 and 10: Pearson correlations with WᵀW, and with WWᵀ on the output side
    "pearson_agop": lambda m: m.pearson("gram", "agop"),
    "pearson_agop_root": lambda m: _pearson_root(m, "agop"),
    "pearson_enfa": lambda m: m.pearson("gram", "enfa"),
    "pearson_enfa_root": lambda m: _pearson_root(m, "enfa"),
    "pearson_fact": lambda m: m.pearson("gram", "fact"),
    "pearson_back_agop": lambda m: m.pearson("back_gram", "back_agop"),
    "pearson_back_enfa": lambda m: m.pearson("back_gram", "back_enfa"),
    "pearson_back_fact": lambda m: m.pearson("back_gram", "back_fact"),
    # paper A, Figure 7: the same of the diagonals
    "diagonal_agop": lambda m: m.pearson("gram", "agop", diagonal=True),
    # the layer's distance from FACT's hypothesis, a critical point: ‖∇_W L + λW‖ / ‖λW‖
    "stationarity": lambda m: m.stationarity,
}


def summarize(
    measurement: Measurement, features: Mapping[str, Tensor], targets: Tensor | None, mask: Tensor | None = None
) -> tuple[list[tuple[str, str, float]], dict[str, str]]:
    """Return the papers' numbers of a measurement, and the reasons why others are undefined.

    With features and targets come paper A's target linearity (λ = 0) and surrogate of centred targets, with classes
    as one-hot rows, and for classes paper D's NC1 and NC2. Integers that the loss "mse" takes for values are values. A
    layer with at least as many inputs as samples has no target linearity: any target is linear in independent inputs.
    Samples of class -100, which the loss ignores, are left out. Classes (n, T) are those of tokens: they are compared
    with layers that see (n, T, d), without the masked tokens. A layer that sees the rows of some samples only, such as
    an expert, has none of these numbers. A layer of masked tokens (n, T, d) has none either, unless the targets are
    classes of tokens: its samples have different numbers of inputs.

    Parameters
    ----------
    measurement : Measurement
    features : mapping of str to Tensor of shape (n, ...)
        The layers' inputs for the same samples (``gramlab.features``).
    targets : Tensor of shape (n,), (n, T) or (n, c), or None
        Classes, classes of tokens, or values.
    mask : Tensor of bool of shape (n, T), optional
        The tokens that count.

    Returns
    -------
    numbers : list of (layer, quantity, value)
    undefined : dict
        "layer quantity" -> the reason.

    Examples
    --------
    >>> import torch, gramlab
    >>> x, y = torch.randn(10, 4), torch.randn(10, 2)
    >>> numbers, undefined = summarize(gramlab.measure(torch.nn.Linear(4, 2), x, y), {"": x}, y)
    >>> {"nfa", "target_linearity", "surrogate"} <= {quantity for _, quantity, _ in numbers}
    True
    >>> undefined[" pearson_fact"]
    "layer '': fact divides by λ and λ is None; pass a positive weight_decay to measure"
    """
    numbers: list[tuple[str, str, float]] = []
    undefined: dict[str, str] = {}

    def add(layer: str, quantity: str, compute: Callable[..., float], *arguments: Any) -> None:
        try:
            numbers.append((layer, quantity, compute(*arguments)))
        except Undefined as reason:
            undefined[f"{layer} {quantity}"] = str(reason)

    if measurement.loss is not None:
        numbers.append(("", "loss", measurement.loss))
    are_token_classes = False
    if targets is not None and not targets.is_floating_point() and _are_values(measurement, targets):
        targets = targets.double()
    if targets is not None and not targets.is_floating_point() and targets.ndim == 2:
        are_token_classes = any(H.ndim == 3 and H.shape[:2] == targets.shape for H in features.values())
    for name, layer in measurement.items():
        for quantity, compute in CORRELATIONS.items():
            add(name, quantity, compute, layer)
        if targets is None or name not in features or not features[name].is_floating_point():
            continue  # the inputs of an Embedding are no features
        if not are_token_classes and len(features[name]) != len(targets):
            reason = f"the layer sees {len(features[name])} rows, and there are {len(targets)} samples"
            undefined[f"{name} target_linearity"] = reason
            continue
        if mask is not None and not are_token_classes and _have_masked_tokens(mask, features[name], targets):
            reason = "masked tokens count nowhere, and without them the samples have different numbers of inputs"
            undefined |= {f"{name} {quantity}": reason for quantity in TARGET_QUANTITIES}
            continue
        H, labels = _labelled_samples(features[name], targets, are_token_classes, mask)
        if not len(H):
            continue
        Y = centred_targets(labels)
        if H[0].numel() < len(H):
            add(name, "target_linearity", target_linearity, H, Y)
        else:
            reason = f"any target is linear in as many inputs as there are samples, {H[0].numel()} of {len(H)}"
            undefined[f"{name} target_linearity"] = reason
        if H.ndim == 2:
            add(name, "surrogate", surrogate, H, layer.weight, Y)
        if not labels.is_floating_point() and labels.ndim == 1:
            collapse = cache(partial(neural_collapse, H, labels))  # both numbers come from one pass over the features
            add(name, "nc1", lambda measured: measured().nc1, collapse)
            add(name, "nc2", lambda measured: measured().nc2, collapse)
    return numbers, undefined


def _are_values(measurement: Measurement, targets: Tensor) -> bool:
    """Whether integers are values: ``mse`` takes them for values, except classes (n,) beside outputs (n, c).

    Without a named loss integers are classes.
    """
    return measurement.settings.get("loss") == "mse" and (targets.ndim > 1 or measurement.outputs == 1)


def _have_masked_tokens(mask: Tensor, H: Tensor, targets: Tensor) -> bool:
    """Whether features (n, T, ..., d), or targets (n, T, ...) that are no classes, are those of tokens, some masked."""
    of_tokens = (H.ndim > 2 and H.shape[:2] == mask.shape) or targets.shape[:2] == mask.shape
    return of_tokens and not bool(mask.all())


def _labelled_samples(
    H: Tensor, targets: Tensor, are_token_classes: bool, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Features and targets of the samples, or tokens, that have a target; none if the layer does not see tokens."""
    if are_token_classes:
        if H.ndim != 3 or H.shape[:2] != targets.shape:
            return H[:0], targets[:0]
        if mask is not None and mask.shape == targets.shape:
            H, targets = H[mask.to(H.device)], targets[mask.to(targets.device)]
        else:
            H, targets = H.flatten(0, 1), targets.flatten()
    if targets.is_floating_point() or targets.ndim > 1 or bool((labelled := targets != -100).all()):
        return H, targets
    return H[labelled.to(H.device)], targets[labelled]


def centred_targets(targets: Tensor) -> Tensor:
    """Return targets (n, c) in float64 with mean zero, classes as one-hot rows."""
    if targets.ndim == 1 and not targets.is_floating_point():
        targets = F.one_hot(targets.unique(return_inverse=True)[1])  # of the classes that occur, whatever their numbers
    Y = targets.reshape(len(targets), -1).double()
    return Y - Y.mean(0)


def _pearson_root(m: LayerMeasures, quantity: str) -> float:
    root = _root(m, quantity)  # before the Gram matrix of a wide layer, which takes long
    return pearson(m.gram, root)


def _root(m: LayerMeasures, quantity: str) -> Tensor:
    if (side := m.weight.shape[-1]) > _WIDEST:  # before the matrix itself is computed
        raise Undefined(f"the root of a matrix of side {side} takes too long")
    matrix = getattr(m, quantity)
    return psd_power(matrix, 0.5)
