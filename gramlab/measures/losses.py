"""Per-sample losses, checked against their targets."""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from gramlab.losses import LOSSES

Loss = str | Callable[[Tensor, Tensor], Tensor]
_OF_TORCH = ("mse", "cross_entropy", "bce_with_logits")  # other names in LOSSES are called as they are


def check(loss: Loss) -> None:
    """Raise ValueError if ``loss`` is neither a name that is known nor a callable."""
    if not callable(loss) and loss not in LOSSES:
        raise ValueError(f"loss must be one of {sorted(LOSSES)} or a callable of (outputs, targets), not {loss!r}")


def per_sample(loss: Loss, outputs: Tensor, targets: Tensor) -> Tensor:
    """The losses (n,) whose mean over the data set is L.

    By name they are those of torch with ``reduction="mean"`` over one sample, so that L is what such a training
    loop minimises: ``mse`` is the mean over a sample's outputs of their squared errors (the papers' ‖f − y‖² is
    c times that; pass a callable for it), with class indices standing for one-hot rows; ``cross_entropy`` takes
    class indices (with -100 left out) or probabilities and, for outputs (n, ..., c), is the mean over a sample's
    positions; ``bce_with_logits`` is the mean over a sample's outputs. A callable gives (n,) losses itself.

    Raises ValueError if the targets don't fit the outputs, or the callable does not give one loss a sample.
    """
    if callable(loss) or loss not in _OF_TORCH:
        losses = (loss if callable(loss) else LOSSES[loss])(outputs, targets)
        if not isinstance(losses, Tensor) or losses.shape != outputs.shape[:1]:
            got = tuple(losses.shape) if isinstance(losses, Tensor) else type(losses).__name__
            raise ValueError(
                f"the loss must give one number a sample, a tensor of shape {tuple(outputs.shape[:1])}, not {got}"
                " (a loss that averages over the batch needs reduction='none')"
            )
        return losses
    fit(loss, tuple(outputs.shape), targets)
    if outputs.dtype not in (torch.float32, torch.float64):
        outputs = outputs.float()
    values = targets.is_floating_point() or targets.dtype == torch.bool or loss == "bce_with_logits"
    if values or (loss == "mse" and targets.shape == outputs.shape):
        targets = targets.to(outputs.dtype)
    else:
        targets = targets.long()
    if loss == "cross_entropy" and not targets.is_floating_point():
        flat = F.cross_entropy(outputs.flatten(0, -2), targets.flatten(), reduction="none").reshape(targets.shape)
        counted = (targets != -100).reshape(len(targets), -1).sum(1).clamp_min(1)
        return flat.reshape(len(targets), -1).sum(1) / counted
    if outputs.ndim == 1:
        outputs = outputs.unsqueeze(1)
    if values or targets.shape == outputs.shape:
        targets = targets.reshape(outputs.shape)
    return LOSSES[loss](outputs, targets)


def fit(loss: str, want: tuple[int, ...], targets: Tensor) -> None:
    """Raise ValueError if the targets don't fit a named loss and outputs of shape ``want``."""
    if loss not in _OF_TORCH:
        return
    have = tuple(targets.shape)
    if len(have) == 0 or have[0] != want[0]:
        raise ValueError(f"targets of shape {have} don't fit outputs of shape {want}: a target a sample is needed")
    indices = not targets.is_floating_point() and targets.dtype != torch.bool
    if loss == "cross_entropy":
        if len(want) < 2:
            raise ValueError(f"cross_entropy needs outputs (n, classes), not {want}")
        if not (have == want[:-1] and indices) and not (have == want and targets.is_floating_point()):
            raise ValueError(
                f"cross_entropy with outputs {want} needs integer targets {want[:-1]} or probabilities {want},"
                f" not {targets.dtype} {have}"
            )
        one_hot = indices
    else:
        one_hot = loss == "mse" and indices and len(want) == 2 and have == want[:1] and want[1] > 1
        if not one_hot and targets.numel() != math.prod(want):
            raise ValueError(f"{loss} with outputs {want} does not fit targets {have} of {targets.dtype}")
    if one_hot and len(targets):
        low, high = int(targets.min()), int(targets.max())
        ignored = loss == "cross_entropy" and low == -100
        if high >= want[-1] or (low < 0 and not ignored):
            raise ValueError(f"class targets from {low} to {high} don't fit {want[-1]} outputs")
    if loss == "bce_with_logits" and len(targets) and (float(targets.min()) < 0 or float(targets.max()) > 1):
        raise ValueError(f"bce_with_logits needs targets in [0, 1], not from {targets.min()} to {targets.max()}")
