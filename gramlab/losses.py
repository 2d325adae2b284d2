"""Losses by name, one value per sample; the loss of a data set is their mean over the samples."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

Loss = Callable[[Tensor, Tensor], Tensor]


def reshape_targets(targets: Tensor, shape: Sequence[int]) -> Tensor:
    """Give targets the shape of the outputs.

    The two shapes may differ by axes of length 1, or one of them may be flat. Any other reshape would compare
    numbers with the wrong outputs, so it is refused.

    Parameters
    ----------
    targets : Tensor of shape (n, ...)
    shape : sequence of int
        Shape of the outputs, (n, ...).

    Returns
    -------
    Tensor of the given shape

    Raises
    ------
    ValueError
        If the shapes differ in any other way.

    Examples
    --------
    >>> import torch
    >>> reshape_targets(torch.ones(4), (4, 1)).shape
    torch.Size([4, 1])
    """
    if targets.shape == shape:
        return targets
    target_sides, output_sides = ([side for side in sides[1:] if side != 1] for sides in (targets.shape, shape))
    one_is_flat = min(len(target_sides), len(output_sides)) == 1 and math.prod(target_sides) == math.prod(output_sides)
    if targets.shape[:1] != tuple(shape)[:1] or not (target_sides == output_sides or one_is_flat):
        raise ValueError(
            f"outputs {tuple(shape)} do not fit targets {tuple(targets.shape)} of {targets.dtype}: the shapes may"
            " differ by axes of length 1 only, or one of them be flat"
        )
    return targets.reshape(shape)


def mse(outputs: Tensor, targets: Tensor) -> Tensor:
    """Mean squared error of each sample, ``(1/c) sum_k (f_k(x_i) - y_ik)^2``.

    Its mean over samples is ``torch.nn.MSELoss``.

    Parameters
    ----------
    outputs : Tensor of shape (n, ...)
    targets : Tensor of shape (n, ...) or (n,)
        Numbers in the shape of the outputs (see `reshape_targets`), or integer classes, which stand for one-hot rows.

    Returns
    -------
    Tensor of shape (n,)

    Raises
    ------
    ValueError
        If the shapes of outputs and targets do not fit.

    Examples
    --------
    >>> import torch
    >>> mse(torch.tensor([[1.0, 0.0], [0.0, 0.0]]), torch.tensor([0, 1]))
    tensor([0.0000, 0.5000])
    """
    if not targets.is_floating_point():
        targets = F.one_hot(targets.long(), outputs.shape[-1]).to(outputs.dtype)
    return (outputs - reshape_targets(targets, outputs.shape)).square().flatten(1).mean(1)


def cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of each sample, ``-log softmax(f(x_i))[y_i]``, as ``torch.nn.CrossEntropyLoss``.

    Parameters
    ----------
    outputs : Tensor of shape (n, c)
        Logits.
    targets : Tensor of shape (n,)
        Integer classes.

    Returns
    -------
    Tensor of shape (n,)

    Examples
    --------
    >>> import torch
    >>> cross_entropy(torch.zeros(1, 2), torch.tensor([1]))
    tensor([0.6931])
    """
    return F.cross_entropy(outputs, targets, reduction="none")


def bce_with_logits(outputs: Tensor, targets: Tensor) -> Tensor:
    """Binary cross-entropy of ``sigmoid(f(x_i))``, averaged over the outputs, as ``torch.nn.BCEWithLogitsLoss``.

    Parameters
    ----------
    outputs : Tensor of shape (n, ...)
        Logits.
    targets : Tensor of shape (n, ...)
        Probabilities in [0, 1], in the shape of the outputs (see `reshape_targets`).

    Returns
    -------
    Tensor of shape (n,)

    Raises
    ------
    ValueError
        If the shapes of outputs and targets do not fit.

    Examples
    --------
    >>> import torch
    >>> bce_with_logits(torch.zeros(2, 1), torch.tensor([0.0, 1.0]))
    tensor([0.6931, 0.6931])
    """
    targets = reshape_targets(targets, outputs.shape).to(outputs.dtype)
    return F.binary_cross_entropy_with_logits(outputs, targets, reduction="none").reshape(len(outputs), -1).mean(1)


def signed_mse(outputs: Tensor, targets: Tensor) -> Tensor:
    """`mse` with the targets of paper D: +1 at a sample's class, -1 at the other classes.

    Parameters
    ----------
    outputs : Tensor of shape (n, c)
    targets : Tensor of shape (n,)
        Integer classes.

    Returns
    -------
    Tensor of shape (n,)

    Examples
    --------
    >>> import torch
    >>> signed_mse(torch.tensor([[1.0, -1.0], [0.0, 0.0]]), torch.tensor([0, 1]))
    tensor([0., 1.])
    """
    signs = 2 * F.one_hot(targets.long(), outputs.shape[-1]).to(outputs.dtype) - 1
    return (outputs - signs).square().mean(1)


LOSSES: dict[str, Loss] = {"mse": mse, "cross_entropy": cross_entropy, "bce_with_logits": bce_with_logits,
                           "signed_mse": signed_mse}  # fmt: skip


def vae_terms(outputs: tuple[Tensor, Tensor, Tensor], x: Tensor) -> tuple[Tensor, Tensor]:
    """The two terms of a VAE's loss (paper A, B.6): ``-E log p(x|z)`` and ``KL(q(z|x) || p(z))``.

    The paper does not print p(x|z). As in the authors' code, pixels are Bernoulli, so the reconstruction error is the
    binary cross-entropy summed over pixels. With ``p(z) = N(0, I)`` the divergence is
    ``(1/2) sum_j (mean_j^2 + var_j - 1 - log var_j)``.

    Parameters
    ----------
    outputs : tuple of Tensor
        Logits (..., inputs), mean (..., latent) and log-variance (..., latent), as `gramlab.nets.VAE` returns them.
    x : Tensor of shape (..., inputs)
        Pixels in [0, 1].

    Returns
    -------
    reconstruction, divergence : Tensor of shape (...,)
        In nats. The loss is ``reconstruction + beta * divergence``.

    Examples
    --------
    >>> import torch
    >>> x, latent = torch.ones(1, 3), torch.zeros(1, 2)
    >>> vae_terms((torch.zeros(1, 3), latent, latent), x)
    (tensor([2.0794]), tensor([0.]))
    """
    logits, mean, log_variance = outputs
    reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(-1)
    return reconstruction, (mean.square() + log_variance.exp() - 1 - log_variance).sum(-1) / 2


def correct_predictions(outputs: Tensor, targets: Tensor) -> Tensor | None:
    """Which samples are classified correctly.

    Parameters
    ----------
    outputs : Tensor of shape (..., c)
        Scores of the classes; with c = 1 a positive score stands for class 1.
    targets : Tensor of shape (...,)
        Integer classes, or floating-point targets of a regression.

    Returns
    -------
    Tensor of bool of shape (...,), or None for a regression

    Examples
    --------
    >>> import torch
    >>> correct_predictions(torch.tensor([[0.1, 0.9], [0.8, 0.2]]), torch.tensor([1, 1]))
    tensor([ True, False])
    """
    if targets.is_floating_point():
        return None
    return (outputs.argmax(-1) == targets) if outputs.shape[-1] > 1 else ((outputs[..., 0] > 0) == (targets > 0))


def all_finite(tensor: Tensor) -> bool:
    """Whether no entry is NaN or infinite. A finite sum decides quickly; entries are checked only where it is not.

    Parameters
    ----------
    tensor : Tensor

    Returns
    -------
    bool

    Examples
    --------
    >>> import torch
    >>> all_finite(torch.ones(2)), all_finite(torch.tensor([1.0, float("nan")]))
    (True, False)
    """
    if not tensor.is_floating_point() and not tensor.is_complex():
        return True
    return bool(torch.isfinite(tensor.sum())) or bool(torch.isfinite(tensor).all())
