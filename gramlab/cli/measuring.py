"""The commands of the library: measure a checkpoint, compare batch sizes, draw a recorded table."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from gramlab.cli import inputs
from gramlab.cli.errors import errors_in_one_line
from gramlab.cli.printing import print_json

# option -> what needs it, in words and in the table
_NEEDED_FOR = {
    "--weight-decay": ("FACT", ("pearson_fact", "pearson_back_fact", "stationarity")),
    "--initial": ("the centred NFA", ("centered_nfa", "double_centered_nfa", "ptk_centered_nfa")),
}

AsJson = Annotated[bool, typer.Option("--json", help="print JSON in place of text")]


def probe(
    model: Annotated[str, typer.Argument(help="builds the network: package.module:callable or file.py:callable")],
    data: Annotated[
        Path,
        typer.Option(
            help="a folder with x.npy and y.npy (and mask.npy of tokens that count), with train/CLASS/image files, or "
            "with `*train*.parquet` of images"
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
    as_json: AsJson = False,
) -> None:
    """Measure the layers of a checkpoint. Write a table of numbers and a page of figures."""
    with errors_in_one_line("probe"):
        _check_drawing()
        from gramlab import plots, tables
        from gramlab.measures.features import features
        from gramlab.measures.measure import measure
        from gramlab.measures.summary import summarize

        network = inputs.load_network(model, checkpoint, device)
        x, y, mask = inputs.load_samples(data, split, inputs.takes_indices(network), limit)
        initial_weights = None if initial is None else inputs.load_weights(initial, network)
        measurement = measure(network, x, y, loss=loss, layers=layer, weight_decay=weight_decay, mask=mask,
                              batch_size=batch_size, initial=initial_weights)  # fmt: skip
        layer_inputs = features(network, x, list(measurement), batch_size=batch_size)
        numbers, undefined = summarize(measurement, layer_inputs, y, None if mask is None else mask.bool())
        undefined = _reasons_by_option(undefined, {"--weight-decay": weight_decay, "--initial": initial})
        dtype = str(next(network.parameters()).dtype).removeprefix("torch.")
        labels = {"experiment": name, "scale": "user", "case": model, "dtype": dtype}
        rows = [labels | {"layer": layer, "quantity": quantity, "value": value} for layer, quantity, value in numbers]
        files, page = [out / "probe.parquet"], out / "probe.png"
        tables.write(files[0], rows)
        try:
            files.append(plots.page(tables.table(rows), page))
        except ValueError as error:  # too few numbers, for instance because all weights are zero
            page.unlink(missing_ok=True)  # of an earlier probe
            typer.echo(f"no {page}: {error}", err=True)
        if as_json:
            named = [dict(zip(("layer", "quantity", "value"), number, strict=True)) for number in numbers]
            print_json({"samples": measurement.n, "loss": str(measurement.settings["loss"]), "numbers": named,
                        "left_out": undefined, "files": [str(file) for file in files]})  # fmt: skip
            return
        _print_table(numbers, measurement.n, str(measurement.settings["loss"]))
        for quantity, reason in undefined.items():
            typer.echo(f"left out: {quantity}: {reason}", err=True)
        for file in files:
            typer.echo(file)


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
    as_json: AsJson = False,
) -> None:
    """Check whether numbers depend on the batch. Exit with status 1 if they do."""
    with errors_in_one_line("batches"):
        from gramlab.measures.independence import batch_independence

        network = inputs.load_network(model, checkpoint, device)
        x, y, mask = inputs.load_samples(data, split, inputs.takes_indices(network), limit)
        sizes = size or [1, 7, 512]
        frame = batch_independence(network, x, y, batch_sizes=sizes, loss=loss, layers=layer, mask=mask)
        worst, tolerance = float(frame.max().max()), float(frame.attrs["tolerance"])
        if as_json:
            differences = [
                {"layer": layer, "sum": quantity, **{str(size): _json_number(value) for size, value in row.items()}}
                for (layer, quantity), row in frame.to_dict("index").items()
            ]
            print_json({"largest": _json_number(worst), "tolerance": tolerance,
                        "depend": worst > tolerance, "differences": differences})  # fmt: skip
        else:
            typer.echo(frame.to_string(float_format=lambda value: f"{value:.1e}"))
            verdict = "depend on the batch" if worst > tolerance else "do not depend on the batch"
            typer.echo(f"largest difference {worst:.1e}, rounding explains {tolerance:.1e}: the numbers {verdict}")
        if worst > tolerance:
            raise typer.Exit(1)


def _reasons_by_option(undefined: dict[str, str], options: dict[str, object]) -> dict[str, str]:
    """Why quantities are left out. Those that need an option which is not given have one common reason."""
    missing = [option for option, value in options.items() if value is None]
    hidden = {quantity for option in missing for quantity in _NEEDED_FOR[option][1]}
    reasons = {key: reason for key, reason in undefined.items() if key.rpartition(" ")[2] not in hidden}
    if missing:
        reasons[" and ".join(_NEEDED_FOR[option][0] for option in missing)] = f"give {' and '.join(missing)}"
    return reasons


def _json_number(value: float) -> float | None:
    """A number as JSON can hold it, which has no infinity."""
    return value if math.isfinite(value) else None


def figures(
    table: Annotated[Path, typer.Argument(help="a table that gramlab.Recorder or gramlab probe wrote")],
    out: Annotated[Path, typer.Argument(help="the PNG to write")],
    as_json: AsJson = False,
) -> None:
    """Draw a recorded table. The page has the papers' figures for your own training run."""
    with errors_in_one_line("figures"):
        _check_drawing()
        if out.is_dir() or out.suffix.lower() not in ("", ".png"):
            raise ValueError(f"{out}: name a PNG to write, such as run.png")
        from gramlab import plots, tables

        figure = plots.page(tables.read(table), out)
        if as_json:
            print_json({"files": [str(figure)]})
        else:
            typer.echo(figure)


def _check_drawing() -> None:
    """Raise ValueError before the work if the drawing libraries are missing."""
    try:
        import seaborn  # noqa: F401  # and matplotlib with it
    except ImportError as error:
        raise ValueError(f"drawing needs {error.name}: pip install 'gramlab[figures]'") from error


def _print_table(numbers: list[tuple[str, str, float]], n: int, loss: str) -> None:
    from rich.console import Console
    from rich.table import Column, Table

    headings = {"nfa": "NFA", "centered_nfa": "C-NFA", "pearson_agop": "AGOP", "pearson_enfa": "eNFA",
                "pearson_fact": "FACT", "stationarity": "stationarity", "target_linearity": "TL",
                "nc1": "NC1"}  # fmt: skip
    values = {(layer, quantity): value for layer, quantity, value in numbers}
    shown = [q for q in headings if any(quantity == q for _, quantity in values)]
    columns = (Column(name, overflow="fold") for name in ("layer", *(headings[quantity] for quantity in shown)))
    table = Table(*columns,
                  title=f"{n} samples, {loss} {values.get(('', 'loss'), float('nan')):.4g}",
                  caption="with WᵀW: cosine of NFA and C-NFA, Pearson's of AGOP, eNFA and FACT;"
                  " stationarity: ‖∇L + λW‖ / ‖λW‖")  # fmt: skip
    for layer in dict.fromkeys(layer for layer, quantity, _ in numbers if quantity != "loss"):
        cells = (values.get((layer, quantity)) for quantity in shown)
        table.add_row(layer or "(model)", *("" if value is None else f"{value:.4f}" for value in cells))
    console = Console()
    if not console.is_terminal:  # a file has no width, and would lose the digits that do not fit
        console = Console(width=max(80, Console(width=10_000).measure(table).maximum))
    console.print(table)
