"""The variational autoencoder of paper A, B.6."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from gramlab.nets.activations import activation_maker


class VAE(nn.Module):
    """A fully connected variational autoencoder with Gaussian latent variables (paper A, B.6).

    Encoder and decoder have the same hidden widths. The paper has hidden = (512, 512) and latent = 32, and does not
    print the activation; the authors' code has GELU. ``decoder(z)`` gives logits, whose sigmoids are the means of the
    pixels.

    Parameters
    ----------
    inputs : int
        Number of pixels.
    hidden : sequence of int
        Widths of the encoder; the decoder has them in reverse.
    latent : int, optional
        Number of latent variables.
    activation : str, optional
        A key of `gramlab.nets.ACTIVATIONS`.

    Raises
    ------
    NetError
        If there is no such activation.

    Examples
    --------
    >>> import torch
    >>> logits, mean, log_variance = VAE(6, (5, 4), latent=2)(torch.rand(3, 6))
    >>> logits.shape, mean.shape
    (torch.Size([3, 6]), torch.Size([3, 2]))
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
        """Encode and decode, with ``z = mean + noise * exp(log_variance / 2)``.

        Parameters
        ----------
        x : Tensor of shape (..., inputs)
        noise : Tensor of shape (..., latent), optional
            Standard normal numbers; without them z is the mean.

        Returns
        -------
        logits : Tensor of shape (..., inputs)
        mean, log_variance : Tensor of shape (..., latent)
            Of q(z | x).
        """
        h = self.encoder(x)
        mean, log_variance = self.mean(h), self.log_variance(h)
        z = mean if noise is None else mean + noise * torch.exp(log_variance / 2)
        return self.decoder(z), mean, log_variance


def _layers(widths: Sequence[int], activation: str) -> nn.Sequential:
    """Linear layers of these widths, each followed by the activation."""
    layers, make_activation = nn.Sequential(), activation_maker(activation)
    for inputs, outputs in pairwise(widths):
        layers.extend([nn.Linear(inputs, outputs), make_activation()])
    return layers
