"""Per-sample losses, checked against their targets."""

from collections.abc import Callable

import torch
from torch import Tensor

from gramlab.losses import LOSSES, reshape_targets
from gramlab.measures.layers import widened

Loss = str | Callable[[Tensor, Tensor], Tensor]
_OF_TORCH = ("mse", "cross_entropy", "bce_with_logits")  # other names in LOSSES are called as they are


def check(loss: Loss) -> None:
    """Raise ValueError if ``loss`` is neither a name that is known nor a callable."""
    if not callable(loss) and loss not in LOSSES:
        raise ValueError(f"loss must be one of {sorted(LOSSES)} or a callable of (outputs, targets), not {loss!r}")


def per_sample(loss: Loss, outputs: Tensor, targets: Tensor, mask: Tensor | None = None) -> Tensor:
    """The losses (n,) whose mean over the data set is L.

    By name they are those of torch with ``reduction="mean"`` over one sample, so that L is what such a training
    loop minimises: ``mse`` is the mean over a sample's outputs of their squared errors (the papers' ‖f − y‖² is
    c times that; pass a callable for it), with class indices standing for one-hot rows; ``cross_entropy`` takes
    class indices or probabilities and, for outputs (n, ..., c), is the mean over a sample's positions;
    ``bce_with_logits`` is the mean over a sample's outputs. A callable gives (n,) losses itself.

    Positions with the class -100, and tokens of outputs (n, T, ...) where the ``mask`` (n, T) is False, are left out
    of a sample's mean; the loss of a sample with no others is 0.

    Raises ValueError if the targets don't fit the outputs, or the callable does not give one loss a sample.
    """
    if callable(loss) or loss not in _OF_TORCH:
        losses = (loss if callable(loss) else LOSSES[loss])(outputs, targets)
    else:
        losses = _of_torch(loss, outputs, targets, mask)
    if not isinstance(losses, Tensor) or losses.shape != outputs.shape[:1]:
        got = tuple(losses.shape) if isinstance(losses, Tensor) else type(losses).__name__
        raise ValueError(
            f"the loss must give one number a sample, a tensor of shape {tuple(outputs.shape[:1])}, not {got}"
            " (a loss that averages over the batch needs reduction='none')"
        )
    return losses


def _of_torch(loss: str, outputs: Tensor, targets: Tensor, mask: Tensor | None) -> Tensor:
    shape = tuple(outputs.shape)
    fit(loss, shape, targets)
    outputs = widened(outputs)
    classes = _are_classes(loss, shape, targets)
    targets = targets.long() if classes else reshape_targets(targets.to(outputs.dtype), shape)
    masked = mask is not None and masks(mask, outputs)
    # one loss a position of these leading axes
    lead = outputs.ndim - 1 if loss == "cross_entropy" else 2 if masked else 1
    if outputs.ndim == 1:
        outputs, targets = outputs.unsqueeze(1), targets.unsqueeze(1)
    losses = LOSSES[loss](outputs.flatten(0, lead - 1), targets.flatten(0, lead - 1))
    if lead == 1:
        return losses
    losses = losses.reshape(shape[:lead])
    counted = targets != -100 if classes else torch.ones_like(losses, dtype=torch.bool)
    if mask is not None and masked:
        counted = counted & mask.reshape(*mask.shape, *[1] * (lead - 2))
    losses, counted = losses.where(counted, 0.0).flatten(1), counted.flatten(1)
    return losses.sum(1) / counted.sum(1).clamp_min(1)


def masks(mask: Tensor, outputs: Tensor) -> bool:
    """Whether the outputs are those of the mask's tokens, (n, T, ...)."""
    return outputs.ndim >= 3 and outputs.shape[:2] == mask.shape


def fit(loss: str, want: tuple[int, ...], targets: Tensor) -> None:
    """Raise ValueError if the targets don't fit a named loss and outputs of shape ``want``."""
    if loss not in _OF_TORCH:
        return
    have = tuple(targets.shape)
    if len(have) == 0 or have[0] != want[0]:
        raise ValueError(f"targets of shape {have} don't fit outputs of shape {want}: a target a sample is needed")
    classes = _are_classes(loss, want, targets)
    if loss == "cross_entropy":
        if len(want) < 2:
            raise ValueError(f"cross_entropy needs outputs (n, classes), not {want}")
        if not (have == want[:-1] and classes) and not (have == want and targets.is_floating_point()):
            raise ValueError(
                f"cross_entropy with outputs {want} needs integer targets {want[:-1]} or probabilities {want},"
                f" not {targets.dtype} {have}"
            )
    elif not classes:
        reshape_targets(targets, want)
    if classes and len(targets):
        low, high = int(targets.min()), int(targets.max())
        if loss == "cross_entropy" and low == -100 and len(counted := targets[targets != -100]):
            low = int(counted.min())
        if high >= want[-1] or (low < 0 and not (loss == "cross_entropy" and low == -100)):
            raise ValueError(f"class targets from {low} to {high} don't fit {want[-1]} outputs")
    if loss == "bce_with_logits" and len(targets) and (float(targets.min()) < 0 or float(targets.max()) > 1):
        raise ValueError(f"bce_with_logits needs targets in [0, 1], not from {targets.min()} to {targets.max()}")


def _are_classes(loss: str, want: tuple[int, ...], targets: Tensor) -> bool:
    """Whether the targets are class indices, and not values beside the outputs of shape ``want``."""
    if targets.is_floating_point() or targets.dtype == torch.bool:
        return False
    one_hot = len(want) == 2 and targets.ndim == 1 and want[1] > 1  # one output is a value, not a class of one
    return loss == "cross_entropy" or (loss == "mse" and one_hot)
