"""What the commands measure: a network, its weights and its samples, from the files that the command line names."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import sysconfig
import traceback
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gramlab.arguments import Check, did_you_mean

if TYPE_CHECKING:
    from torch import Tensor, nn

_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


def load_network(model: str, checkpoint: Path | None, device: str) -> nn.Module:
    """The network with the checkpoint's weights, on the device."""
    network = _build(model)
    if checkpoint is not None:
        try:
            network.load_state_dict(load_weights(checkpoint, network))
        except RuntimeError as error:
            raise ValueError(f"{checkpoint}: does not fit the network ({error})") from error
    try:
        network.to(device)
    except (RuntimeError, AssertionError) as error:  # an unknown name, or a device that is not there
        raise ValueError(f"--device {device!r} is not available: {str(error).splitlines()[0]}") from error
    return network


def _build(model: str) -> nn.Module:
    """The network that ``package.module:callable`` or ``file.py:callable`` returns."""
    from torch import nn

    place, _, name = model.rpartition(":")
    if not place or not name:
        raise ValueError(f"give the model as package.module:callable or file.py:callable, not {model!r}")
    if place.endswith(".py"):
        spec = importlib.util.spec_from_file_location(Path(place).stem, place)
        if spec is None or spec.loader is None or not Path(place).is_file():
            raise ValueError(f"{place}: no such Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(spec.name, module)
        with _code_errors_at(place):
            spec.loader.exec_module(module)
    else:
        sys.path.insert(0, "")  # modules in the current folder, as with python -m
        try:
            with _code_errors_at(place):
                module = importlib.import_module(place)
        finally:
            sys.path.remove("")
    build = getattr(module, name, None)
    if not callable(build):
        callables = [key for key, value in vars(module).items() if callable(value)]
        raise ValueError(f"{place} has no callable {name!r}{did_you_mean(name, callables)}")
    if isinstance(build, nn.Module):
        raise ValueError(f"{model} is a network, not a function that makes one: name a callable such as lambda: {name}")
    try:
        inspect.signature(build).bind()
    except TypeError as error:
        raise ValueError(f"{model} must build the network without arguments: {error}") from error
    except ValueError:  # the callable has no signature to inspect
        pass
    with _code_errors_at(model):
        network = build()
    if not isinstance(network, nn.Module):
        raise ValueError(f"{model} returns a {type(network).__name__}, not a torch.nn.Module")
    return network


@contextmanager
def _code_errors_at(place: str) -> Iterator[None]:
    """Turn an error of the user's code into a ValueError that names the place and the line of the code."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ValueError(f"no module {error.name!r} on the Python path") from error
    except (Exception, SystemExit) as error:  # a script may end the program when it is imported
        frames = traceback.extract_tb(error.__traceback__)
        user_frames = [frame for frame in frames if not frame.filename.startswith(("<", __file__, *_LIBRARIES))]
        line = f" ({user_frames[-1].filename}, line {user_frames[-1].lineno})" if user_frames else ""
        raise ValueError(f"{place} cannot be run: {type(error).__name__}: {error}{line}") from error


def load_weights(path: Path, network: nn.Module) -> Mapping[str, Tensor]:
    """The state dict in a file, also under a training loop's key or of a data-parallel or compiled network."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    from gramlab.measures.shards import unwrapped_weights

    if not path.is_file():
        raise ValueError(f"{path}: no such checkpoint")
    try:
        if path.suffix == ".safetensors":
            state: Any = load_file(path)
        else:
            state = torch.load(path, map_location="cpu", weights_only=True)
    except (SafetensorError, RuntimeError, EOFError, OSError, ValueError, KeyError) as error:
        raise ValueError(f"{path}: not a readable checkpoint ({error})") from error
    except Exception as error:  # pickle's own errors have no common base
        raise ValueError(f"{path}: holds more than weights, or is damaged ({type(error).__name__})") from error
    for key in ("state_dict", "model_state_dict", "model"):
        if isinstance(state, dict) and isinstance(state.get(key), dict):
            state = state[key]
    if not isinstance(state, dict) or not all(
        isinstance(key, str) and isinstance(value, torch.Tensor) for key, value in state.items()
    ):
        raise ValueError(f"{path}: holds no state dict of tensors")
    return unwrapped_weights(state, network.state_dict().keys())


def takes_indices(network: nn.Module) -> bool:
    """Whether the network embeds its inputs, which are then indices."""
    from torch import nn

    return any(isinstance(module, (nn.Embedding, nn.EmbeddingBag)) for module in network.modules())


def _array(path: Path) -> Tensor:
    """The array of a file, an entry for each sample."""
    import numpy as np

    from gramlab.measures.arrays import as_real

    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:  # numpy takes a file that begins so for .npz
        raise ValueError(f"{path}: not a readable array of numbers ({error})") from error
    values = as_real(array, path.name)
    if not values.ndim:
        raise ValueError(f"{path.name} holds a single number, not an entry for each sample")
    return values


def load_samples(
    folder: Path, split: str, indices: bool, limit: int | None = None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Inputs, targets, and the mask of tokens if there is a mask.npy; of the first ``limit`` samples.

    For a network that takes ``indices``, integers of x.npy such as tokens stay integers.
    """
    x, y, mask = _load_all_samples(folder, split, indices)
    return x[:limit], y[:limit], None if mask is None else mask[:limit]


def _load_all_samples(folder: Path, split: str, indices: bool) -> tuple[Tensor, Tensor, Tensor | None]:
    import torch

    Check(ValueError).choice("--split", split, ("train", "test"))
    if not folder.is_dir():
        raise ValueError(f"{folder}: no such folder")
    if (folder / "x.npy").is_file() and (folder / "y.npy").is_file():
        if split == "test":
            raise ValueError(f"{folder}: x.npy and y.npy are one set; --split test is for folders of images")
        x, y = _array(folder / "x.npy"), _array(folder / "y.npy")
        if len(x) != len(y):
            raise ValueError(f"x.npy has {len(x)} rows and y.npy {len(y)}")
        mask = _array(folder / "mask.npy") if (folder / "mask.npy").exists() else None
        return x if x.is_floating_point() else x.long() if indices else x.float(), y, mask
    from gramlab.data.sources import folder as images
    from gramlab.data.sources import parquet

    if list(folder.glob("*train*.parquet")):
        data = parquet(folder, ".")
    elif (folder / "train").is_dir():
        data = images(folder, ".")
    else:
        raise ValueError(f"{folder}: neither x.npy and y.npy, nor train/CLASS/image files, nor *train*.parquet")
    return data.scaled(getattr(data, f"x_{split}"), torch.float32), getattr(data, f"y_{split}"), None
