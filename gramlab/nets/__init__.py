"""Networks, their initial weights, and training: several seeds at once, interruptible, with reproducible bytes."""

from gramlab.nets.activations import ACTIVATIONS
from gramlab.nets.config import TrainingConfig
from gramlab.nets.errors import Diverged, NetError
from gramlab.nets.init import initialize
from gramlab.nets.models import build, cnn, deep_linear, mlp, resnet18, samples_for, vgg11
from gramlab.nets.training import fit
from gramlab.nets.vae import VAE

__all__ = [
    "ACTIVATIONS", "VAE", "Diverged", "NetError", "TrainingConfig", "build", "cnn", "deep_linear", "fit", "initialize",
    "mlp", "resnet18", "samples_for", "vgg11",
]  # fmt: skip
