"""Networks, their initialisation, and a training loop that trains several seeds at once and resumes exactly."""

from gramlab.nets.fit import Diverged, Fit, fit
from gramlab.nets.models import ACTIVATIONS, initialize, mlp

__all__ = ["ACTIVATIONS", "Diverged", "Fit", "fit", "initialize", "mlp"]
