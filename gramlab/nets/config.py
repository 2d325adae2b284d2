"""The settings of a training."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gramlab.arguments import refusal
from gramlab.losses import LOSSES
from gramlab.nets.errors import CHECK, NetError
from gramlab.nets.init import Scale
from gramlab.nets.members import AXES
from gramlab.nets.observers import OBSERVERS
from gramlab.nets.polar import METHODS

CHOICES = {
    "loss": (*LOSSES, "vae"),
    "method": METHODS,
    "schedule": ("constant", "cosine"),
    "parametrization": ("standard", "ntk"),
    "dtype": ("float64", "float32", "bfloat16", "float16"),
}
# a number's setting -> what it must be
NUMBERS = {
    "lr": "a positive number",
    "momentum": "a number from 0 to below 1",
    "weight_decay": "a number of at least 0",
    "beta": "a number of at least 0",
    "label_noise": "a number from 0 to 1",
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
    gramlab.nets.errors.NetError: schedule must be one of constant, cosine, not 'linear'
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
            CHECK.choice(name, getattr(self, name), allowed)
        CHECK.choices("observe", self.observe, tuple(OBSERVERS))
        if self.batch is not None:
            CHECK.integer("batch", self.batch, otherwise=", or None for all samples")
        CHECK.integer("epochs", self.epochs, minimum=0)
        CHECK.integer("history_every", self.history_every)
        for epoch in self.snapshots:
            CHECK.integer("each of snapshots", epoch, 0, int(self.epochs))
        if not isinstance(self.betas, Sequence) or len(self.betas) != 2:
            raise NetError(refusal("betas", "two numbers from 0 to below 1", self.betas))
        for beta in self.betas:
            CHECK.number("each of betas", beta, "a number from 0 to below 1")
        for name, expected in NUMBERS.items():
            CHECK.number(name, getattr(self, name), expected)
            for number in self.grid.get(name, ()) if name in AXES else ():
                CHECK.number(f"each of grid.{name}", number, expected)
