"""The variational autoencoder of paper A, B.6."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from gramlab.nets.activations import ACTIVATIONS


class VAE(nn.Module):
    """A fully connected VAE: encoder and decoder with the same hidden widths, Gaussian latent variables.

    In the paper hidden = (512, 512), latent = 32. Its activation is not printed; the authors' code has GELU.
    ``decoder(z)`` gives logits: the pixels' means are their sigmoids.
    """

    def __init__(self, inputs: int, hidden: Sequence[int], latent: int = 32, activation: str = "gelu"):
        super().__init__()
        self.latent = latent
        self.encoder = _layers([inputs, *hidden], activation)
        self.mean = nn.Linear(hidden[-1], latent)
        self.log_variance = nn.Linear(hidden[-1], latent)
        self.decoder = _layers([latent, *reversed(hidden)], activation)
        self.decoder.append(nn.Linear(hidden[0], inputs))

    def forward(self, x: Tensor, noise: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Logits (..., inputs) of x (..., inputs), mean and log-variance (..., latent) of q(z | x).

        z = mean + noise * standard deviation, with ``noise`` (..., latent) drawn from N(0, 1); the mean without it.
        """
        h = self.encoder(x)
        mean, log_variance = self.mean(h), self.log_variance(h)
        z = mean if noise is None else mean + noise * torch.exp(log_variance / 2)
        return self.decoder(z), mean, log_variance


def _layers(widths: Sequence[int], activation: str) -> nn.Sequential:
    made = nn.Sequential()
    for before, after in pairwise(widths):
        made.extend([nn.Linear(before, after), ACTIVATIONS[activation]()])
    return made
