"""The command ``gramlab``: measure a checkpoint without writing a program."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from torch import Tensor, nn

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Measure what a network's weights have learned.")


@app.callback()
def main() -> None:
    """Measure what a network's weights have learned."""


@app.command()
def probe(
    model: Annotated[str, typer.Argument(help="what builds the network: package.module:callable or file.py:callable")],
    data: Annotated[
        Path,
        typer.Option(
            help="a folder with x.npy and y.npy, with train/CLASS/image files, or with *train*.parquet of images"
        ),
    ],
    out: Annotated[Path, typer.Option(help="the folder to write probe.parquet and probe.png to")],
    checkpoint: Annotated[Path | None, typer.Option(help="trained weights: .safetensors, or torch.save's file")] = None,
    initial: Annotated[Path | None, typer.Option(help="weights before training, for paper B's centred NFA")] = None,
    loss: Annotated[str, typer.Option(help="mse, signed_mse, cross_entropy or bce_with_logits")] = "cross_entropy",
    weight_decay: Annotated[float | None, typer.Option(help="the λ of FACT, as in training")] = None,
    layer: Annotated[list[str] | None, typer.Option(help="a layer's name; repeat for several; all by default")] = None,
    split: Annotated[str, typer.Option(help="train or test, of a folder of images")] = "train",
    limit: Annotated[int | None, typer.Option(min=1, help="at most this many samples, the first ones")] = None,
    batch_size: Annotated[int, typer.Option(help="rows in a batch: what memory grows with")] = 512,
    device: Annotated[str, typer.Option(help="where to compute: cpu, cuda, cuda:1, or another of torch's")] = "cpu",
    name: Annotated[str, typer.Option(help="the experiment's name in the table")] = "probe",
) -> None:
    """Measure every Linear and Conv2d layer of a checkpoint: a table of numbers and a page of figures."""
    try:
        _probe(model, data, out, checkpoint, initial, loss, weight_decay, layer, split, limit, batch_size, device, name)
    except (ValueError, OSError) as error:
        typer.echo(f"gramlab probe: {error}", err=True)
        raise typer.Exit(2) from error


@app.command()
def figures(
    table: Annotated[Path, typer.Argument(help="a table that gramlab.Recorder or gramlab probe has written")],
    out: Annotated[Path, typer.Argument(help="the PNG to write")],
) -> None:
    """Draw a page of figures from a table: the papers' figures for your own training run."""
    from gramlab import plots, tables

    try:
        _can_draw()
        typer.echo(plots.page(tables.read(table), out))
    except (ValueError, OSError) as error:
        typer.echo(f"gramlab figures: {error}", err=True)
        raise typer.Exit(2) from error


def _probe(
    model: str,
    data: Path,
    out: Path,
    checkpoint: Path | None,
    initial: Path | None,
    loss: str,
    weight_decay: float | None,
    layers: list[str] | None,
    split: str,
    limit: int | None,
    batch_size: int,
    device: str,
    name: str,
) -> None:
    from gramlab import plots, tables
    from gramlab.measures.features import features
    from gramlab.measures.measure import measure
    from gramlab.measures.observe import observe

    _can_draw()
    network = _build(model)
    if checkpoint is not None:
        _load(network, checkpoint)
    try:
        network.to(device)
    except (RuntimeError, AssertionError) as error:  # an unknown name, or a device that is not there
        raise ValueError(f"--device {device}: {str(error).splitlines()[0]}") from error
    x, y = _samples(data, split, _takes_indices(network))
    x, y = x[:limit], y[:limit]
    before = None if initial is None else _weights(initial, network)
    measured = measure(
        network, x, y, loss=loss, layers=layers, weight_decay=weight_decay, batch_size=batch_size, initial=before
    )
    found, undefined = observe(measured, features(network, x, layers, batch_size=batch_size), y)
    labels = {"experiment": name, "scale": "user", "case": model, "dtype": _dtype(network)}
    rows = [labels | {"layer": layer, "quantity": quantity, "value": value} for layer, quantity, value in found]
    tables.write(out / "probe.parquet", rows)
    _print(found, measured.n)
    for what, why in undefined.items():
        typer.echo(f"left out: {what}: {why}", err=True)
    typer.echo(out / "probe.parquet")
    typer.echo(plots.page(tables.table(rows), out / "probe.png"))


def _can_draw() -> None:
    """Before the work, not after it."""
    try:
        import seaborn  # noqa: F401  # and matplotlib with it
    except ImportError as error:
        raise ValueError(f"{error.name} is missing, which draws: pip install 'gramlab[figures]'") from error


def _build(what: str) -> nn.Module:
    """The network that ``package.module:callable`` or ``file.py:callable`` gives."""
    from torch import nn

    where, _, name = what.rpartition(":")
    if not where or not name:
        raise ValueError(f"the model is given as package.module:callable or file.py:callable, not {what!r}")
    if where.endswith(".py"):
        spec = importlib.util.spec_from_file_location(Path(where).stem, where)
        if spec is None or spec.loader is None or not Path(where).is_file():
            raise ValueError(f"{where}: no such Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(spec.name, module)
        spec.loader.exec_module(module)
    else:
        sys.path.insert(0, "")  # modules in the current folder, as with python -m
        try:
            module = importlib.import_module(where)
        except ModuleNotFoundError as error:
            raise ValueError(f"no module {error.name!r} on the Python path") from error
        finally:
            sys.path.remove("")
    if not callable(getattr(module, name, None)):
        raise ValueError(f"{where} has no callable {name!r}")
    try:
        inspect.signature(getattr(module, name)).bind()
    except TypeError as error:
        raise ValueError(f"{what} must build the network without arguments: {error}") from error
    except ValueError:  # a callable that does not tell its arguments
        pass
    network = getattr(module, name)()
    if not isinstance(network, nn.Module):
        raise ValueError(f"{what} gives a {type(network).__name__}, not a torch.nn.Module")
    return network


def _weights(path: Path, network: nn.Module) -> dict[str, Tensor]:
    """The state dict in a file, also where a training loop has put it under a key or a data-parallel prefix."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

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
    if not isinstance(state, dict) or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise ValueError(f"{path}: holds no state dict of tensors")
    # a part of the network may be called "module" itself
    if all(key.startswith("module.") for key in state) and not state.keys() <= network.state_dict().keys():
        return {key.removeprefix("module."): value for key, value in state.items()}
    return state


def _load(network: nn.Module, path: Path) -> None:
    try:
        network.load_state_dict(_weights(path, network))
    except RuntimeError as error:
        raise ValueError(f"{path}: does not fit the network ({error})") from error


def _takes_indices(network: nn.Module) -> bool:
    from torch import nn

    return any(isinstance(module, (nn.Embedding, nn.EmbeddingBag)) for module in network.modules())


def _samples(folder: Path, split: str, indices: bool) -> tuple[Tensor, Tensor]:
    """Inputs and targets; integers of x.npy stay integers, a text's tokens, for a network that takes ``indices``."""
    import numpy as np
    import torch

    from gramlab.measures.arrays import as_tensor

    if split not in ("train", "test"):
        raise ValueError(f"split must be train or test, not {split!r}")
    if (folder / "x.npy").is_file() and (folder / "y.npy").is_file():
        if split == "test":
            raise ValueError(f"{folder}: x.npy and y.npy are one set; --split test is for folders of images")
        x, y = (as_tensor(np.load(folder / f"{part}.npy", allow_pickle=False), f"{part}.npy") for part in "xy")
        if len(x) != len(y):
            raise ValueError(f"x.npy has {len(x)} rows and y.npy {len(y)}")
        return x if x.is_floating_point() else x.long() if indices else x.float(), y
    from gramlab.data.sources import folder as images
    from gramlab.data.sources import parquet

    if list(folder.glob("*train*.parquet")):
        data = parquet(folder, ".")
    elif (folder / "train").is_dir():
        data = images(folder, ".")
    else:
        raise ValueError(f"{folder}: neither x.npy and y.npy, nor train/CLASS/image files, nor *train*.parquet")
    return data.numbers(getattr(data, f"x_{split}"), torch.float32), getattr(data, f"y_{split}")


def _dtype(network: nn.Module) -> str:
    return str(next(network.parameters()).dtype).removeprefix("torch.")


def _print(found: list[tuple[str, str, float]], n: int) -> None:
    from rich.console import Console
    from rich.table import Table

    heads = {"nfa": "NFA", "centered_nfa": "C-NFA", "pearson_agop": "AGOP", "pearson_enfa": "eNFA",
             "pearson_fact": "FACT", "target_linearity": "TL", "nc1": "NC1"}  # fmt: skip
    values = {(layer, quantity): value for layer, quantity, value in found}
    shown = [q for q in heads if any(quantity == q for _, quantity in values)]
    table = Table("layer", *(heads[quantity] for quantity in shown),
                  title=f"{n} samples, loss {values.get(('', 'loss'), float('nan')):.4g}",
                  caption="with WᵀW: cosine of NFA and C-NFA, Pearson's of AGOP, eNFA and FACT")  # fmt: skip
    for layer in dict.fromkeys(layer for layer, quantity, _ in found if quantity != "loss"):
        cells = (values.get((layer, quantity)) for quantity in shown)
        table.add_row(layer or "(model)", *("" if value is None else f"{value:.4f}" for value in cells))
    Console().print(table)
