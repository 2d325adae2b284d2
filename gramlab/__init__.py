"""gramlab: measure what a neural network's weights have learned.

Public names load on first use, so that ``import gramlab.tables`` does not import torch.

Examples
--------
>>> import torch, gramlab
>>> model = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.GELU(), torch.nn.Linear(64, 3))
>>> measurement = gramlab.measure(model, torch.randn(50, 20), torch.randn(50, 3))
>>> measurement["0"].gram.shape
torch.Size([20, 20])
"""

from importlib import import_module
from typing import Any

# public name -> module that defines it
_HOME: dict[str, str] = {
    # measuring a network
    "measure": "gramlab.measures.measure",
    "Measurement": "gramlab.measures.measurement",
    "plan": "gramlab.measures.plan",
    "batch_independence": "gramlab.measures.independence",
    "merge": "gramlab.measures.parts",
    "features": "gramlab.measures.features",
    # comparing matrices
    "cosine": "gramlab.measures.similarity",
    "pearson": "gramlab.measures.similarity",
    "cosine_null": "gramlab.measures.similarity",
    "random_eigenvectors": "gramlab.measures.similarity",
    "psd_power": "gramlab.measures.powers",
    # features and targets
    "target_linearity": "gramlab.measures.linearity",
    "surrogate": "gramlab.measures.linearity",
    "k_norm": "gramlab.measures.linearity",
    "neural_collapse": "gramlab.measures.collapse",
    "RunningCollapse": "gramlab.measures.collapse",
    "denoising": "gramlab.measures.denoising",
    # kernel machines that learn features
    "RFM": "gramlab.kernels.rfm",
    "DeepRFM": "gramlab.kernels.deep",
    # training
    "WhitenedSGD": "gramlab.nets.whitened",
    # measuring a training run
    "Recorder": "gramlab.record",
    "AccumulatedFact": "gramlab.accumulated_fact",
    # the error for a quantity that has no value
    "Undefined": "gramlab.measures.undefined",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("gramlab")
    if name == "theory":
        return import_module("gramlab.theory")
    if name not in _HOME:
        raise AttributeError(f"module 'gramlab' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, "theory", "__version__"])
