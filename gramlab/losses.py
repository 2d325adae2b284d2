"""Losses by name, one number a sample; the loss of a data set is their mean over samples."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

Loss = Callable[[Tensor, Tensor], Tensor]


def laid_out(targets: Tensor, shape: Sequence[int]) -> Tensor:
    """Targets (n, ...) in the shape of the outputs, from which they may differ by axes of 1, or one of the two be flat.

    Raises ValueError otherwise: as many numbers in another order would be compared with the wrong outputs.
    """
    if targets.shape == shape:
        return targets
    have, want = ([side for side in sides[1:] if side != 1] for sides in (targets.shape, shape))
    flat = min(len(have), len(want)) == 1 and math.prod(have) == math.prod(want)
    if targets.shape[:1] != tuple(shape)[:1] or not (have == want or flat):
        raise ValueError(
            f"outputs {tuple(shape)} do not fit targets {tuple(targets.shape)} of {targets.dtype}: only axes of 1 may"
            " differ, or one of the two be flat"
        )
    return targets.reshape(shape)


def mse(outputs: Tensor, targets: Tensor) -> Tensor:
    """Mean over the outputs of (output - target)^2, as torch's MSELoss; class indices stand for one-hot rows.

    outputs (n, ...), targets of the same shape (see ``laid_out``) or (n,) integers; returns (n,).
    """
    if not targets.is_floating_point():
        targets = F.one_hot(targets, outputs.shape[-1]).to(outputs.dtype)
    return (outputs - laid_out(targets, outputs.shape)).square().flatten(1).mean(1)


def cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    """-log softmax(outputs)[target]; outputs (n, c), targets (n,) integers; returns (n,)."""
    return F.cross_entropy(outputs, targets, reduction="none")


def bce_with_logits(outputs: Tensor, targets: Tensor) -> Tensor:
    """Binary cross-entropy of sigmoid(outputs), mean over the outputs; targets in [0, 1]; returns (n,)."""
    wanted = laid_out(targets, outputs.shape).to(outputs.dtype)
    return F.binary_cross_entropy_with_logits(outputs, wanted, reduction="none").reshape(len(outputs), -1).mean(1)


def signed_mse(outputs: Tensor, targets: Tensor) -> Tensor:
    """``mse`` with the targets of paper D, +1 for a sample's class and -1 for the others; returns (n,)."""
    signs = 2 * F.one_hot(targets, outputs.shape[-1]).to(outputs.dtype) - 1
    return (outputs - signs).square().mean(1)


LOSSES: dict[str, Loss] = {"mse": mse, "cross_entropy": cross_entropy, "bce_with_logits": bce_with_logits,
                           "signed_mse": signed_mse}  # fmt: skip


def vae_terms(outputs: tuple[Tensor, Tensor, Tensor], x: Tensor) -> tuple[Tensor, Tensor]:
    """Paper A, B.6: the two terms of a VAE's loss, -E log p(x|z) + beta * KL(q(z|x) || p(z)), without the beta.

    outputs: logits (..., inputs), mean and log-variance (..., latent); x (..., inputs) in [0, 1]. The paper does not
    print p(x|z). As in the authors' code pixels are Bernoulli: the reconstruction error is the binary cross-entropy
    summed over pixels, and p(z) = N(0, I), KL = (1/2) sum of mean^2 + variance - 1 - log-variance. Returns two
    tensors (...,).
    """
    logits, mean, log_variance = outputs
    reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(-1)
    return reconstruction, (mean.square() + log_variance.exp() - 1 - log_variance).sum(-1) / 2


def correct(outputs: Tensor, targets: Tensor) -> Tensor | None:
    """Which samples are classified correctly, (n,) booleans; None when the targets are not classes."""
    if targets.is_floating_point():
        return None
    return (outputs.argmax(-1) == targets) if outputs.shape[-1] > 1 else ((outputs[..., 0] > 0) == (targets > 0))


def all_finite(*tensors: Tensor) -> bool:
    """Whether no element of any tensor is NaN or infinite."""
    return all(bool(torch.isfinite(tensor).all()) for tensor in tensors)
