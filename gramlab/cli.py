"""The command ``gramlab``: measure a checkpoint, or draw a recorded table, without writing a program."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gramlab.files import did_you_mean

if TYPE_CHECKING:
    from torch import Tensor, nn

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Measure what a network's weights have learned.")


@app.callback()
def main() -> None:
    """Measure what a network's weights have learned."""


@app.command()
def probe(
    model: Annotated[str, typer.Argument(help="builds the network: package.module:callable or file.py:callable")],
    data: Annotated[
        Path,
        typer.Option(
            help="a folder with x.npy and y.npy, with train/CLASS/image files, or with *train*.parquet of images"
        ),
    ],
    out: Annotated[Path, typer.Option(help="the folder to write probe.parquet and probe.png to")],
    checkpoint: Annotated[Path | None, typer.Option(help="trained weights: .safetensors or a torch.save file")] = None,
    initial: Annotated[Path | None, typer.Option(help="weights before training, for paper B's centred NFA")] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            help="mse, signed_mse, cross_entropy or bce_with_logits; default cross_entropy for classes, else mse"
        ),
    ] = None,
    weight_decay: Annotated[float | None, typer.Option(help="the weight decay of training, FACT's λ")] = None,
    layer: Annotated[list[str] | None, typer.Option(help="a layer's name, default all; repeat for several")] = None,
    split: Annotated[str, typer.Option(help="train or test, for a folder of images")] = "train",
    limit: Annotated[int | None, typer.Option(min=1, help="measure at most this many samples, the first ones")] = None,
    batch_size: Annotated[int, typer.Option(help="samples in a batch; memory grows with it")] = 512,
    device: Annotated[str, typer.Option(help="where to compute: cpu, cuda, cuda:1, or another torch device")] = "cpu",
    name: Annotated[str, typer.Option(help="the experiment's name in the table")] = "probe",
) -> None:
    """Measure the layers of a checkpoint: a table of numbers and a page of figures."""
    with _one_line_errors("probe"):
        _check_drawing()
        from gramlab import plots, tables
        from gramlab.measures.features import features
        from gramlab.measures.measure import measure
        from gramlab.measures.summary import summarize

        network = _trained(model, checkpoint, device)
        x, y = _samples(data, split, _takes_indices(network))
        x, y = x[:limit], y[:limit]
        initial_weights = None if initial is None else _weights(initial, network)
        measurement = measure(network, x, y, loss=loss, layers=layer, weight_decay=weight_decay,
                              batch_size=batch_size, initial=initial_weights)  # fmt: skip
        numbers, undefined = summarize(measurement, features(network, x, layer, batch_size=batch_size), y)
        dtype = str(next(network.parameters()).dtype).removeprefix("torch.")
        labels = {"experiment": name, "scale": "user", "case": model, "dtype": dtype}
        rows = [labels | {"layer": layer, "quantity": quantity, "value": value} for layer, quantity, value in numbers]
        tables.write(out / "probe.parquet", rows)
        _print(numbers, measurement.n, str(measurement.settings["loss"]))
        for quantity, reason in undefined.items():
            typer.echo(f"left out: {quantity}: {reason}", err=True)
        typer.echo(out / "probe.parquet")
        typer.echo(plots.page(tables.table(rows), out / "probe.png"))


@app.command()
def batches(
    model: Annotated[str, typer.Argument(help="builds the network: package.module:callable or file.py:callable")],
    data: Annotated[Path, typer.Option(help="a folder as for gramlab probe")],
    checkpoint: Annotated[Path | None, typer.Option(help="trained weights: .safetensors or a torch.save file")] = None,
    loss: Annotated[str | None, typer.Option(help="as for gramlab probe")] = None,
    layer: Annotated[list[str] | None, typer.Option(help="a layer's name, default all; repeat for several")] = None,
    split: Annotated[str, typer.Option(help="train or test, for a folder of images")] = "train",
    limit: Annotated[int, typer.Option(min=2, help="measure at most this many samples, the first ones")] = 512,
    size: Annotated[
        list[int] | None, typer.Option(help="a batch size, default 1, 7, 512; repeat; the last is the reference")
    ] = None,
    device: Annotated[str, typer.Option(help="where to compute: cpu, cuda, cuda:1, or another torch device")] = "cpu",
) -> None:
    """Check that the numbers do not depend on how samples are put into batches; exit with status 1 if they do."""
    with _one_line_errors("batches"):
        from gramlab.measures.independence import batch_independence

        network = _trained(model, checkpoint, device)
        x, y = _samples(data, split, _takes_indices(network))
        sizes = size or [1, 7, 512]
        frame = batch_independence(network, x[:limit], y[:limit], batch_sizes=sizes, loss=loss, layers=layer)
        worst, tolerance = float(frame.max().max()), float(frame.attrs["tolerance"])
        typer.echo(frame.to_string(float_format=lambda value: f"{value:.1e}"))
        verdict = "depend on the batch" if worst > tolerance else "do not depend on the batch"
        typer.echo(f"largest difference {worst:.1e}, rounding explains {tolerance:.1e}: the numbers {verdict}")
        if worst > tolerance:
            raise typer.Exit(1)


@app.command()
def figures(
    table: Annotated[Path, typer.Argument(help="a table that gramlab.Recorder or gramlab probe wrote")],
    out: Annotated[Path, typer.Argument(help="the PNG to write")],
) -> None:
    """Draw the papers' figures for your own training run from a recorded table."""
    with _one_line_errors("figures"):
        _check_drawing()
        from gramlab import plots, tables

        typer.echo(plots.page(tables.read(table), out))


@contextmanager
def _one_line_errors(command: str) -> Iterator[None]:
    """Print a ValueError or OSError as one line and exit with status 2."""
    try:
        yield
    except (ValueError, OSError) as error:
        typer.echo(f"gramlab {command}: {' '.join(str(error).split())}", err=True)
        raise typer.Exit(2) from error


def _check_drawing() -> None:
    """Raise ValueError before the work if the drawing libraries are missing."""
    try:
        import seaborn  # noqa: F401  # and matplotlib with it
    except ImportError as error:
        raise ValueError(f"drawing needs {error.name}: pip install 'gramlab[figures]'") from error


def _trained(model: str, checkpoint: Path | None, device: str) -> nn.Module:
    """The network with the checkpoint's weights, on the device."""
    network = _build(model)
    if checkpoint is not None:
        try:
            network.load_state_dict(_weights(checkpoint, network))
        except RuntimeError as error:
            raise ValueError(f"{checkpoint}: does not fit the network ({error})") from error
    try:
        network.to(device)
    except (RuntimeError, AssertionError) as error:  # an unknown name, or a device that is not there
        raise ValueError(f"--device {device}: {str(error).splitlines()[0]}") from error
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
        spec.loader.exec_module(module)
    else:
        sys.path.insert(0, "")  # modules in the current folder, as with python -m
        try:
            module = importlib.import_module(place)
        except ModuleNotFoundError as error:
            raise ValueError(f"no module {error.name!r} on the Python path") from error
        finally:
            sys.path.remove("")
    build = getattr(module, name, None)
    if not callable(build):
        callables = [key for key, value in vars(module).items() if callable(value)]
        raise ValueError(f"{place} has no callable {name!r}{did_you_mean(name, callables)}")
    try:
        inspect.signature(build).bind()
    except TypeError as error:
        raise ValueError(f"{model} must build the network without arguments: {error}") from error
    except ValueError:  # the callable has no signature to inspect
        pass
    network = build()
    if not isinstance(network, nn.Module):
        raise ValueError(f"{model} returns a {type(network).__name__}, not a torch.nn.Module")
    return network


def _weights(path: Path, network: nn.Module) -> dict[str, Tensor]:
    """The state dict in a file, also under a training loop's key or with a data-parallel prefix."""
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


def _takes_indices(network: nn.Module) -> bool:
    from torch import nn

    return any(isinstance(module, (nn.Embedding, nn.EmbeddingBag)) for module in network.modules())


def _samples(folder: Path, split: str, indices: bool) -> tuple[Tensor, Tensor]:
    """Inputs and targets. Integers of x.npy stay integers, a text's tokens, for a network that takes ``indices``."""
    import numpy as np
    import torch

    from gramlab.measures.arrays import as_tensor

    if split not in ("train", "test"):
        raise ValueError(f"--split must be train or test, not {split!r}{did_you_mean(split, ('train', 'test'))}")
    if not folder.is_dir():
        raise ValueError(f"{folder}: no such folder")
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
    return data.scaled(getattr(data, f"x_{split}"), torch.float32), getattr(data, f"y_{split}")


def _print(numbers: list[tuple[str, str, float]], n: int, loss: str) -> None:
    from rich.console import Console
    from rich.table import Table

    headings = {"nfa": "NFA", "centered_nfa": "C-NFA", "pearson_agop": "AGOP", "pearson_enfa": "eNFA",
                "pearson_fact": "FACT", "stationarity": "stationarity", "target_linearity": "TL",
                "nc1": "NC1"}  # fmt: skip
    values = {(layer, quantity): value for layer, quantity, value in numbers}
    shown = [q for q in headings if any(quantity == q for _, quantity in values)]
    table = Table("layer", *(headings[quantity] for quantity in shown),
                  title=f"{n} samples, {loss} {values.get(('', 'loss'), float('nan')):.4g}",
                  caption="with WᵀW: cosine of NFA and C-NFA, Pearson's of AGOP, eNFA and FACT;"
                  " stationarity: ‖∇L + λW‖ / ‖λW‖")  # fmt: skip
    for layer in dict.fromkeys(layer for layer, quantity, _ in numbers if quantity != "loss"):
        cells = (values.get((layer, quantity)) for quantity in shown)
        table.add_row(layer or "(model)", *("" if value is None else f"{value:.4f}" for value in cells))
    Console().print(table)
