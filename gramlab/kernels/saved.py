"""Fitted machines in safetensors files, without pickle."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from gramlab.files import BadInput, atomic

# attributes of a fitted RFM that a file holds: as tensors, and as JSON
ARRAYS = ("features_", "dual_coef_", "X_fit_")
SCALARS = ("history_", "best_iter_", "n_iter_", "bandwidth_", "ridge_", "_flat")


def save_machine(machine: Any, path: Path, classifies: bool) -> None:
    """Write a fitted RFM to a file, completely or not at all.

    Parameters
    ----------
    machine : RFM
    path : Path
    classifies : bool
        Whether it has classes.
    """
    arrays = {name: torch.from_numpy(np.ascontiguousarray(getattr(machine, name))) for name in ARRAYS}
    metadata = {"parameters": machine.get_params(), **{name: getattr(machine, name) for name in SCALARS}}
    if classifies:
        metadata["classes_"] = {"dtype": machine.classes_.dtype.str, "values": machine.classes_.tolist()}
    if hasattr(machine, "feature_names_in_"):
        metadata["feature_names_in_"] = {"dtype": "|O", "values": machine.feature_names_in_.tolist()}
    with atomic(path) as temporary:
        save_file(arrays, temporary, {"gramlab.RFM": json.dumps(metadata, default=_plain)})


def load_machine(kind: type[Any], path: Path) -> Any:
    """Return the machine that ``save_machine`` wrote.

    Parameters
    ----------
    kind : type
        RFM, or a subclass.
    path : Path

    Returns
    -------
    RFM

    Raises
    ------
    BadInput
        If the file is not a saved machine.
    """
    try:
        with safe_open(path, "pt") as file:
            metadata = json.loads((file.metadata() or {})["gramlab.RFM"])
            machine = kind(**metadata.pop("parameters"))
            attributes = {name: metadata.pop(name) for name in SCALARS}
            attributes |= {name: file.get_tensor(name).numpy() for name in ARRAYS}
        for name, labels in metadata.items():
            attributes[name] = np.array(labels["values"], dtype=labels["dtype"])
        for name, value in {**attributes, "n_features_in_": attributes["X_fit_"].shape[1]}.items():
            setattr(machine, name, value)
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadInput(f"{path}: not a saved RFM ({type(error).__name__}: {error})") from error
    return machine


def _plain(value: Any) -> Any:
    """A parameter's value as JSON can hold it: a grid search sets numpy's numbers, and a tensor may be one number."""
    return str(value) if isinstance(value, torch.device) else value.item()
