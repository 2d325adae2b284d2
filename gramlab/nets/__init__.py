"""Networks, their initialisation, and a training loop that trains several seeds at once and resumes exactly."""

from gramlab.nets.activations import ACTIVATIONS
from gramlab.nets.errors import Diverged, NetError
from gramlab.nets.fit import Fit, fit
from gramlab.nets.init import initialize
from gramlab.nets.models import build, cnn, deep_linear, mlp, resnet18, samples_for, vgg11
from gramlab.nets.vae import VAE

__all__ = [
    "ACTIVATIONS", "VAE", "Diverged", "Fit", "NetError", "build", "cnn", "deep_linear", "fit", "initialize", "mlp",
    "resnet18", "samples_for", "vgg11",
]  # fmt: skip
