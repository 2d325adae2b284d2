"""What an ensemble trains on: samples, each member's labels, batches and noise, from named random streams."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from gramlab.data import DataSet, random_labels
from gramlab.nets.config import TrainingConfig
from gramlab.nets.errors import NetError
from gramlab.nets.members import Member
from gramlab.nets.models import samples_for
from gramlab.nets.vae import VAE
from gramlab.streams import stream


class Batches:
    """The samples of a data set as the members of an ensemble see them.

    Random streams are named after the training, the seed and the purpose, never after the grid case. So all cases of a
    seed see the same batches and noise, and a member sees what it would see if it trained alone.

    Parameters
    ----------
    model : nn.Module
    data : DataSet
    config : TrainingConfig
    members : sequence of Member
    device : str

    Attributes
    ----------
    parts : dict of str to tuple of Tensor
        Samples (n, ...) and targets (n,) or (n, c) of ``train`` and, if there are any, ``test``.
    labels : Tensor of shape (members, n) or None
        Each member's training labels, if some have label noise.
    weights : Tensor of shape (n,) or None
        Weights of the training samples in the loss, if they are not equal.
    n, size, per_epoch : int
        Number of training samples, of samples in a batch, and of batches in an epoch.

    Raises
    ------
    NetError
        If the data set does not fit the label noise or the batch size.

    Examples
    --------
    >>> from gramlab.data import prepare
    >>> from gramlab.nets import mlp
    >>> from gramlab.nets.members import members
    >>> data = prepare("digits", "", train=100)
    >>> batches = Batches(mlp(64, [8], 10), data, TrainingConfig(batch=30), members(2, {}, lr=0.1), "cpu")
    >>> [rows.shape for rows in batches.epoch(0)]
    [torch.Size([2, 30]), torch.Size([2, 30]), torch.Size([2, 30]), torch.Size([2, 10])]
    """

    def __init__(self, model: nn.Module, data: DataSet, config: TrainingConfig, members: Sequence[Member], device: str):
        self.members, self.name, self.device = members, config.name, device
        self.dtype = getattr(torch, config.dtype)
        self.latent = model.latent if isinstance(model, VAE) else None
        self.parts = {
            part: (
                samples_for(model, data.scaled(x, self.dtype)).to(device),
                (y.to(self.dtype) if y.is_floating_point() else y).to(device),
            )
            for part, x, y in (("train", data.x_train, data.y_train), ("test", data.x_test, data.y_test))
            if len(x)
        }
        self.labels: Tensor | None = None
        if any(member.label_noise for member in members):
            if not data.classes:
                raise NetError(f"label_noise needs classes, and the targets of {data.source} are numbers")
            labels = [
                random_labels(data.y_train, data.classes, member.label_noise, *self.name, member.seed, "label noise")
                for member in members
            ]
            self.labels = torch.stack(labels).to(device)
        self.n = len(data.x_train)
        self.size = min(config.batch or self.n, self.n)
        self.per_epoch = -(-self.n // self.size)
        self.weights: Tensor | None = None
        if data.weight_train is not None:
            if self.size < self.n:
                raise NetError(f"the samples of {data.source} have weights: it needs full batches, batch: null")
            self.weights = data.weight_train.to(device, self.dtype)

    def epoch(self, number: int) -> tuple[Tensor, ...]:
        """Row numbers of the batches of an epoch; a full batch keeps the order of the samples.

        Parameters
        ----------
        number : int
            Number of the epoch, from 0.

        Returns
        -------
        tuple of Tensor of shape (members, b)
        """
        if self.size == self.n:
            return (torch.arange(self.n, device=self.device).expand(len(self.members), -1),)
        return self.permutations("order", number, self.n).split(self.size, dim=1)

    def permutations(self, purpose: str, draw: int, n: int) -> Tensor:
        """One random permutation per member, the same for all members of a seed.

        Parameters
        ----------
        purpose : str
        draw : int
            Number of the draw; with the purpose it names the random stream.
        n : int

        Returns
        -------
        Tensor of shape (members, n)
        """
        by_seed = {
            seed: torch.from_numpy(stream(*self.name, seed, purpose, draw).permutation(n))
            for seed in {member.seed for member in self.members}
        }
        return torch.stack([by_seed[member.seed] for member in self.members]).to(self.device)

    def noise(self, members: slice, draw: str | int, n: int) -> tuple[Tensor, ...]:
        """The standard normal numbers by which a VAE samples; other networks need none.

        Parameters
        ----------
        members : slice
        draw : str or int
            With the seed it names the random stream.
        n : int
            Number of samples.

        Returns
        -------
        tuple of one Tensor of shape (members, n, latent), or of none
        """
        if self.latent is None:
            return ()
        by_seed = {
            seed: torch.from_numpy(stream(*self.name, seed, "latent noise", draw).normal(size=(n, self.latent)))
            for seed in {member.seed for member in self.members[members]}
        }
        numbers = torch.stack([by_seed[member.seed] for member in self.members[members]])
        return (numbers.to(self.device, self.dtype),)

    def pick(self, members: slice, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Training samples and targets by row number.

        Parameters
        ----------
        members : slice
        rows : Tensor of shape (all members, b)

        Returns
        -------
        x, y : Tensor of shape (members, b, ...)
        """
        x, y = self.parts["train"]
        rows = rows[members]
        samples = x.index_select(0, rows.reshape(-1)).view(*rows.shape, *x.shape[1:])
        if self.labels is not None:
            return samples, self.labels[members].gather(1, rows)
        return samples, y.index_select(0, rows.reshape(-1)).view(*rows.shape, *y.shape[1:])

    def targets(self, members: slice, part: str, rows: Tensor) -> Tensor:
        """Targets of the same samples for all members, with each member's own training labels.

        Parameters
        ----------
        members : slice
        part : {"train", "test"}
        rows : Tensor of shape (b,)

        Returns
        -------
        Tensor of shape (members, b, ...)
        """
        if part == "train" and self.labels is not None:
            return self.labels[members][:, rows]
        y = self.parts[part][1][rows]
        return y.expand(len(self.members[members]), *y.shape)
