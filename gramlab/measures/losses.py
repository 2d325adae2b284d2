"""Per-sample losses, checked against their targets."""

from collections.abc import Callable

import torch
from torch import Tensor

from gramlab.arguments import refusal
from gramlab.losses import LOSSES, reshape_targets
from gramlab.measures.layers import at_least_float32

Loss = str | Callable[[Tensor, Tensor], Tensor]
_TORCH_LOSSES = ("mse", "cross_entropy", "bce_with_logits")  # the others in LOSSES are called without a change
_CLASSES_LAST = "the classes must be the last axis: forward=lambda m, x: m(x).movedim(1, -1)"
_CHECKED = (*_TORCH_LOSSES, "signed_mse")  # targets of other losses may be anything


def default_loss(shape: tuple[int, ...], targets: Tensor) -> str:
    """Return the loss of a caller who names none: cross-entropy for class indices, and mse for values.

    Parameters
    ----------
    shape : tuple of int
        Of the outputs, (n, ...).
    targets : Tensor of shape (n, ...)

    Returns
    -------
    str
        "cross_entropy" for integers that give each output (n, ..., c) with c > 1 a class. "mse" for floats, and for
        integers beside a single output.

    Raises
    ------
    ValueError
        If the targets are booleans, or one-hot rows and other integers beside several outputs: several losses fit.

    Examples
    --------
    >>> default_loss((5, 3), torch.zeros(5, dtype=torch.long)), default_loss((5, 3), torch.zeros(5, 3))
    ('cross_entropy', 'mse')
    """
    if targets.is_floating_point() or targets.is_complex():
        return "mse"
    if targets.dtype != torch.bool:
        if len(shape) < 2 or shape[-1] == 1:
            return "mse"
        if tuple(targets.shape) == tuple(shape[:-1]):
            return "cross_entropy"
    dtype_name = str(targets.dtype).removeprefix("torch.")
    raise ValueError(
        f"name the loss: targets of the type {dtype_name} and the shape {tuple(targets.shape)} are no class indices of "
        f"the outputs {shape}, {_fitting_losses(shape, targets)}"
    )


def _fitting_losses(shape: tuple[int, ...], targets: Tensor) -> str:
    """The losses that targets of an unclear meaning may be for, and what to pass to them."""
    if _has_classes_first(shape, targets):
        return f"but of its second axis: {_CLASSES_LAST}"
    if targets.shape[-1:] == (1,) and tuple(targets.shape[:-1]) == shape[:-1]:
        return "for which pass y.squeeze(-1)" + (".long()" if targets.dtype == torch.bool else "")
    if targets.dtype == torch.bool and tuple(targets.shape) == shape[:-1]:
        return "for which pass y.long(), or name loss='bce_with_logits' or 'mse' and pass y.float() in their shape"
    return (
        "so it may be 'cross_entropy' (for one-hot rows pass y.argmax(-1)), 'bce_with_logits' or "
        "'mse' (pass y.float() to both)"
    )


def check_loss(loss: Loss | None) -> None:
    """Raise ValueError unless ``loss`` is a known name, a callable, or None for the default."""
    if isinstance(loss, type):
        raise ValueError(f"loss is the class {loss.__name__}: give an instance, {loss.__name__}(reduction='none')")
    if loss is not None and not callable(loss) and loss not in LOSSES:
        allowed = f"one of {', '.join(sorted(LOSSES))} or a callable of (outputs, targets)"
        raise ValueError(refusal("loss", allowed, loss, LOSSES))


def per_sample(loss: Loss, outputs: Tensor, targets: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the samples' losses, whose mean over the data set is L.

    A named loss is torch's with ``reduction="mean"`` over one sample, so that L is what such a training loop
    minimises: ``mse`` is the mean over a sample's outputs of their squared errors (the papers' ‖f − y‖² is c times
    that; pass a callable for it), where class indices stand for one-hot rows; ``cross_entropy`` takes class indices or
    probabilities and, for outputs (n, ..., c), is the mean over a sample's positions; ``bce_with_logits`` is the mean
    over a sample's outputs. Positions of class -100, and tokens where the mask is False, are left out of a sample's
    mean; a sample with no others has the loss 0.

    Parameters
    ----------
    loss : str or callable (outputs, targets) -> (n,) losses
    outputs : Tensor of shape (n, ...)
    targets : Tensor of shape (n, ...)
    mask : Tensor of shape (n, T), optional
        Booleans for the tokens of outputs (n, T, ...) or (n, T).

    Returns
    -------
    Tensor of shape (n,)

    Raises
    ------
    ValueError
        If the targets do not fit the outputs, or a callable does not give one loss a sample.

    Examples
    --------
    >>> per_sample("mse", torch.tensor([[1.0, 3.0]]), torch.tensor([[0.0, 0.0]]))
    tensor([5.])
    """
    if callable(loss) or loss not in _TORCH_LOSSES:
        if isinstance(loss, str):
            check_targets(loss, tuple(outputs.shape), targets)
        # copies, because the caller's function may change its arguments in place
        losses = (
            loss(outputs.clone(), targets.clone())
            if callable(loss)
            else LOSSES[loss](at_least_float32(outputs), targets)
        )
    else:
        losses = _torch_loss(loss, outputs, targets, mask)
    if isinstance(losses, Tensor) and losses.is_complex():
        raise ValueError(f"the loss must give real numbers, not {losses.dtype}")
    if not isinstance(losses, Tensor) or losses.shape != outputs.shape[:1]:
        actual_shape = tuple(losses.shape) if isinstance(losses, Tensor) else type(losses).__name__
        raise ValueError(
            f"the loss must give one number a sample, a tensor of shape {tuple(outputs.shape[:1])}, not {actual_shape}"
            " (a loss that averages over the batch needs reduction='none')"
        )
    return losses


def _torch_loss(loss: str, outputs: Tensor, targets: Tensor, mask: Tensor | None) -> Tensor:
    shape = tuple(outputs.shape)
    check_targets(loss, shape, targets)
    outputs = at_least_float32(outputs)
    are_classes = _are_classes(loss, shape, targets)
    if loss == "cross_entropy" and not are_classes:
        _check_probabilities(targets, mask)
    targets = targets.long() if are_classes else reshape_targets(targets.to(outputs.dtype), shape)
    has_token_mask = mask is not None and outputs.shape[:2] == mask.shape
    if has_token_mask and outputs.ndim == 2 and (are_classes or loss == "cross_entropy"):
        raise ValueError(f"{loss} of outputs (n, T) = {shape} has the tokens for classes, which no mask leaves out")
    # one loss for each position of these leading axes
    loss_axes = outputs.ndim - 1 if loss == "cross_entropy" else 2 if has_token_mask else 1
    if outputs.ndim == loss_axes:
        outputs, targets = outputs.unsqueeze(-1), targets.unsqueeze(-1)
    losses = LOSSES[loss](outputs.flatten(0, loss_axes - 1), targets.flatten(0, loss_axes - 1))
    if loss_axes == 1:
        return losses
    losses = losses.reshape(shape[:loss_axes])
    is_counted = targets != -100 if are_classes else torch.ones_like(losses, dtype=torch.bool)
    if mask is not None and has_token_mask:
        is_counted = is_counted & mask.reshape(*mask.shape, *[1] * (loss_axes - 2))
    losses, is_counted = losses.where(is_counted, 0.0).flatten(1), is_counted.flatten(1)
    return losses.sum(1) / is_counted.sum(1).clamp_min(1)


def check_differentiable(losses: Tensor) -> None:
    """Raise ValueError if the losses are not computed from the outputs in torch, so that they have no gradient."""
    if not losses.requires_grad:
        raise ValueError(
            "the loss has no gradient: it is constant, or computed from detached outputs or outside of torch; the"
            " quantities that need none can be named in quantities="
        )


def check_targets(loss: str, shape: tuple[int, ...], targets: Tensor) -> None:
    """Raise ValueError if the targets do not fit a named loss and outputs of this shape."""
    if loss not in _CHECKED:
        return
    if targets.is_complex():
        raise ValueError(f"{loss} needs real targets, not {targets.dtype}; a loss of your own may take them")
    target_shape = tuple(targets.shape)
    if len(target_shape) == 0 or target_shape[0] != shape[0]:
        raise ValueError(f"targets of shape {target_shape} don't fit outputs of shape {shape}: each sample needs one")
    are_classes = _are_classes(loss, shape, targets)
    if loss == "cross_entropy":
        if len(shape) < 2:
            raise ValueError(f"cross_entropy needs outputs (n, classes), not {shape}")
        are_probabilities = target_shape == shape and targets.is_floating_point()
        if target_shape != shape[:-1] and _has_classes_first(shape, targets):
            raise ValueError(f"cross_entropy with outputs {shape} and targets {target_shape}: {_CLASSES_LAST}")
        if not (target_shape == shape[:-1] and are_classes) and not are_probabilities:
            raise ValueError(
                f"cross_entropy with outputs {shape} needs integer targets {shape[:-1]} or probabilities {shape},"
                f" not {targets.dtype} {target_shape}"
            )
    elif loss == "signed_mse":
        if len(shape) != 2:
            raise ValueError(f"signed_mse needs outputs (n, classes), not {shape}")
        if bool((targets == -1).any()) and bool((targets.abs() == 1).all()):
            raise ValueError("signed_mse takes class indices and makes rows of ±1 itself: for targets of ±1 use 'mse'")
        if target_shape != shape[:-1] or not are_classes:
            raise ValueError(
                f"signed_mse with outputs {shape} needs integer targets {shape[:-1]},"
                f" not {targets.dtype} {target_shape}"
            )
    elif not are_classes:
        _check_values(targets, shape)
    if are_classes and len(targets):
        lowest, highest = int(targets.min()), int(targets.max())
        if loss == "cross_entropy" and lowest == -100 and len(counted := targets[targets != -100]):
            lowest = int(counted.min())
        if highest >= shape[-1] or (lowest < 0 and not (loss == "cross_entropy" and lowest == -100)):
            raise ValueError(f"class targets from {lowest} to {highest} don't fit {shape[-1]} outputs")
    if loss == "bce_with_logits" and len(targets) and (float(targets.min()) < 0 or float(targets.max()) > 1):
        raise ValueError(f"bce_with_logits needs targets in [0, 1], not from {targets.min()} to {targets.max()}")


def check_classes_last(loss: Loss | None, outputs: Tensor, targets: Tensor | None) -> None:
    """Raise ValueError if a convolution's channels, on axis 1, would be taken for positions and not for classes.

    Classes (n, H, W) beside outputs (n, C, H, W) with C = H = W fit either layout. The operation that gives the outputs
    decides: a convolution, or what makes its images larger, has the channels on axis 1.

    Parameters
    ----------
    loss : str, callable or None
    outputs : Tensor of shape (n, ..., c)
        In autograd's graph.
    targets : Tensor of shape (n, ...), or None

    Examples
    --------
    >>> model, y = torch.nn.Conv1d(3, 6, 1), torch.zeros(2, 6, dtype=torch.long)
    >>> check_classes_last("cross_entropy", model(torch.randn(2, 3, 6)).movedim(1, -1), y)
    """
    if loss != "cross_entropy" or targets is None or not _has_classes_first(tuple(outputs.shape), targets):
        return
    made_by = "" if outputs.grad_fn is None else outputs.grad_fn.name()
    if any(operation in made_by for operation in ("Convolution", "Upsample")):
        raise ValueError(
            f"cross_entropy with outputs {tuple(outputs.shape)} of a convolution, whose second axis holds the channels:"
            f" {_CLASSES_LAST}"
        )


def _has_classes_first(shape: tuple[int, ...], targets: Tensor) -> bool:
    """Whether integers are classes of outputs (n, c, ...) in torch's layout, with the classes on axis 1."""
    is_whole = not targets.is_floating_point() and targets.dtype != torch.bool
    return is_whole and len(shape) > 2 and tuple(targets.shape) == shape[:1] + shape[2:]


def _check_probabilities(targets: Tensor, mask: Tensor | None) -> None:
    """Raise ValueError unless targets (n, ..., c) sum to 1 over the classes. Masked tokens, and rows of 0, may not."""
    tolerance = max(1e-3, 4 * torch.finfo(targets.dtype).eps)

    def are_ones(axis: int) -> Tensor:
        total = targets.double().sum(axis)
        return ((total - 1).abs() <= tolerance) | (targets == 0).all(axis)

    fits = are_ones(-1)
    if mask is not None and fits.shape[:2] == mask.shape:
        fits = fits | ~mask.reshape(*mask.shape, *[1] * (fits.ndim - 2))
    if bool(fits.all()):
        return
    if targets.ndim > 2 and bool(are_ones(1).all()):
        raise ValueError(
            f"cross_entropy with probabilities {tuple(targets.shape)} that sum to 1 over the second axis:"
            f" {_CLASSES_LAST}, and y.movedim(1, -1)"
        )
    index = tuple(int(i) for i in (~fits).nonzero()[0])
    total = float(targets[index].double().sum())
    raise ValueError(f"cross_entropy needs probabilities that sum to 1 over the last axis, not to {total:g} at {index}")


def _check_values(targets: Tensor, shape: tuple[int, ...]) -> None:
    """Raise ValueError if values do not fit the outputs; whole numbers, one a sample, may be meant as classes."""
    try:
        reshape_targets(targets, shape)
    except ValueError as error:
        are_whole = targets.is_floating_point() and bool((targets == targets.round()).all())
        if are_whole and tuple(targets.shape) == shape[:-1]:
            raise ValueError(f"{error}; class numbers must be integers: pass y.long()") from error
        raise


def _are_classes(loss: str, shape: tuple[int, ...], targets: Tensor) -> bool:
    """Whether the targets are class indices rather than values in the shape of the outputs."""
    if targets.is_floating_point() or targets.dtype == torch.bool:
        return False
    has_several_outputs = len(shape) == 2 and targets.ndim == 1 and shape[1] > 1  # a single one is a value, not a class
    return loss in ("cross_entropy", "signed_mse") or (loss == "mse" and has_several_outputs)
