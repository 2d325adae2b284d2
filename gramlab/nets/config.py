"""The settings of a training."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

from gramlab.losses import LOSSES
from gramlab.nets.errors import NetError
from gramlab.nets.init import Scale
from gramlab.nets.members import AXES
from gramlab.nets.observers import OBSERVERS
from gramlab.nets.polar import METHODS

CHOICES = {
    "loss": (*LOSSES, "vae"),
    "method": METHODS,
    "schedule": ("constant", "cosine"),
    "parametrization": ("standard", "ntk"),
    "observe": tuple(OBSERVERS),
    "dtype": ("float64", "float32", "bfloat16", "float16"),
}
# a number's setting -> what it must be, and whether it is
RANGES = {
    "lr": ("a positive number", lambda value: 0 < value < float("inf")),
    "momentum": ("a number from 0 to below 1", lambda value: 0 <= value < 1),
    "betas": ("two numbers from 0 to below 1", lambda value: 0 <= value < 1),
    "weight_decay": ("a number of at least 0", lambda value: 0 <= value < float("inf")),
    "beta": ("a number of at least 0", lambda value: 0 <= value < float("inf")),
    "label_noise": ("a number from 0 to 1", lambda value: 0 <= value <= 1),
}


@dataclass(frozen=True)
class TrainingConfig:
    """How to train.

    Parameters
    ----------
    loss : {"mse", "cross_entropy", "bce_with_logits", "signed_mse", "vae"}, optional
        A key of `gramlab.losses.LOSSES`, or "vae" for a `gramlab.nets.VAE`.
    optimizer : {"sgd", "adam", "adamw", "whitened", "whitened_complement"}, optional
        As in ``torch.optim``; the last two are `gramlab.WhitenedSGD`.
    lr : float, optional
        Learning rate.
    momentum : float, optional
        Of "sgd" and the whitened optimizers, below 1.
    betas : tuple of two floats, optional
        Of "adam" and "adamw", below 1.
    weight_decay : float, optional
    method : {"newton-schulz", "svd", "ten-steps"}, optional
        Of the whitened optimizers, see `gramlab.nets.polar.orthogonal_factor`.
    schedule : {"constant", "cosine"}, optional
        "cosine" lowers the learning rate to 0 over all steps.
    parametrization : {"standard", "ntk"}, optional
        "ntk" trains as if every layer were W / sqrt(fan-in); with "sgd" only.
    beta : float, optional
        Factor of the divergence in a VAE's loss.
    label_noise : float, optional
        Probability that a training label is random, see `gramlab.data.random_labels`.
    grid : mapping of str to sequence of float, optional
        Values of "lr", "weight_decay", "label_noise" or "beta"; a network is trained for each combination.
    batch : int or None, optional
        Samples in a batch; None for full batches.
    epochs : int, optional
    init, init_scale : optional
        Initial weights, see `gramlab.nets.initialize`.
    snapshots : tuple of int, optional
        Epochs after which to write the weights; 0 for the initial weights.
    history_every : int, optional
        Epochs between two rows of the history.
    observe : tuple of {"virtual_shift", "virtual_update"}, optional
        Names of the sums over all steps that snapshots get, see `gramlab.nets.observers`.
    dtype : {"float64", "float32", "bfloat16", "float16"}, optional
    compile : str, optional
        A mode of ``torch.compile`` for steps of networks that are computed together.
    name : tuple of str or int, optional
        Name of the random streams, usually that of the experiment.

    Raises
    ------
    NetError
        If a setting is unknown or out of range, also a value of the grid. `optimizer`, `init` and the names in `grid`
        are checked by `gramlab.nets.fit`.

    Examples
    --------
    >>> TrainingConfig(lr=0.05, epochs=3, snapshots=(0, 3)).batch
    64
    >>> TrainingConfig(schedule="linear")
    Traceback (most recent call last):
        ...
    gramlab.nets.errors.NetError: no schedule 'linear'; there are constant, cosine
    """

    loss: str = "cross_entropy"
    optimizer: str = "sgd"
    lr: float = 0.1
    momentum: float = 0.0
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.0
    method: str = "newton-schulz"
    schedule: str = "constant"
    parametrization: str = "standard"
    beta: float = 1.0
    label_noise: float = 0.0
    grid: Mapping[str, Sequence[float]] = field(default_factory=dict)
    batch: int | None = 64
    epochs: int = 1
    init: str = "uniform"
    init_scale: Scale = 1.0
    snapshots: tuple[int, ...] = ()
    history_every: int = 1
    observe: tuple[str, ...] = ()
    dtype: str = "float32"
    compile: str | None = None
    name: tuple = ("fit",)

    def __post_init__(self):
        for name, allowed in CHOICES.items():
            setting = getattr(self, name)
            for value in setting if name == "observe" else (setting,):
                if value not in allowed:
                    raise NetError(f"no {name} {value!r}; there are {', '.join(allowed)}")
        for name, minimum in (("batch", 1), ("epochs", 0), ("history_every", 1)):
            value = getattr(self, name)
            if (name != "batch" or value is not None) and not (_is_whole(value) and int(value) >= minimum):
                or_none = ", or None for all samples" if name == "batch" else ""
                raise NetError(f"{name} must be a whole number of at least {minimum}{or_none}, not {value!r}")
        for epoch in self.snapshots:
            if not (_is_whole(epoch) and 0 <= int(epoch) <= self.epochs):
                raise NetError(f"snapshots must be epochs from 0 to {self.epochs}, not {epoch!r}")
        for name, (limits, is_within) in RANGES.items():
            value = getattr(self, name)
            numbers = value if name == "betas" and isinstance(value, Sequence) else (value,)
            if (name == "betas") != (len(numbers) == 2) or not all(_is_real(n) and is_within(n) for n in numbers):
                raise NetError(f"{name} must be {limits}, not {value!r}")
            for number in self.grid.get(name, ()) if name in AXES else ():
                if not (_is_real(number) and is_within(number)):
                    raise NetError(f"grid.{name}: {name} must be {limits}, not {number!r}")


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
