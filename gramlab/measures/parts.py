"""Measurements as files, and the measurement of a data set from those of its parts."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from gramlab.files import BadInput, atomic
from gramlab.measures.identity import differences
from gramlab.measures.layers import UNREACHED
from gramlab.measures.measurement import Measurement
from gramlab.measures.results import LayerMeasures

_KEY = "gramlab.Measurement"
_PART_SETTINGS = ("shard", "rows", "made_from", "unreached")  # settings that a merged measurement lacks
_SHARED_SETTINGS = ("loss", "weight_decay", "quantities", "rows")  # settings that parts of one measurement share


def save(measurement: Measurement, path: Path | str) -> None:
    """Write a measurement with its settings to one safetensors file, without pickle, completely or not at all."""
    tensors: dict[str, Tensor] = {}
    layers = []
    for number, layer in enumerate(measurement.values()):
        parts = {"weight": layer.weight, "initial_weight": layer.initial_weight}
        parts |= {f"sums.{key}": total for key, total in layer.sums.items()}
        parts |= {f"draws.{key}": total for key, total in layer.group_means.items()}
        tensors |= {f"{number}.{key}": t.contiguous().clone() for key, t in parts.items() if t is not None}
        layers.append({"name": layer.name, "kind": layer.kind, "weight_decay": layer.weight_decay})
    content = {"n": measurement.n, "outputs": measurement.outputs, "loss": measurement.loss, "layers": layers,
               "left_out": dict(measurement.left_out), "settings": dict(measurement.settings)}  # fmt: skip
    with atomic(Path(path)) as temporary:
        save_file(tensors, temporary, {_KEY: json.dumps(content)})


def load(path: Path | str) -> Measurement:
    """Return the measurement that ``save`` wrote. Raises BadInput if the file is no saved measurement."""
    try:
        with safe_open(path, "pt") as file:
            content = json.loads((file.metadata() or {})[_KEY])
            tensors: dict[int, dict[str, Tensor]] = {}
            for key in file.keys():  # noqa: SIM118  # a file is no mapping
                number, _, name = key.partition(".")
                tensors.setdefault(int(number), {})[name] = file.get_tensor(key)
        layers = {
            layer["name"]: LayerMeasures(
                layer["name"], content["n"], tensors[number]["weight"], _named(tensors[number], "sums."),
                layer["weight_decay"], tensors[number].get("initial_weight"), layer["kind"],
                _named(tensors[number], "draws."),
            )
            for number, layer in enumerate(content["layers"])
        }  # fmt: skip
        settings = content["settings"]
        if "shard" in settings:
            settings["shard"] = tuple(settings["shard"])
        return Measurement(layers, content["n"], content["outputs"], content["loss"], content["left_out"], settings)
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadInput(f"{path}: not a saved measurement ({type(error).__name__}: {error})") from error


def _named(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {key.removeprefix(prefix): tensor for key, tensor in tensors.items() if key.startswith(prefix)}


def merge(parts: Iterable[Measurement | Path | str]) -> Measurement:
    """Return the measurement of a data set from those of all its parts, ``measure(..., shard=(i, n))``.

    Sums over samples are additive, so it equals the measurement in one piece up to rounding.

    Parameters
    ----------
    parts : iterable of Measurement or path
        Each part once, in any order, as it was returned or saved (``measurement.save(path)``).

    Returns
    -------
    Measurement

    Raises
    ------
    ValueError
        If a part is missing or doubled, or if the parts have different weights, data, functions, layers or settings.
        Functions (of the loss and ``forward=``, and the model's own) are compared by their code, defaults and closure,
        not by what they call.

    Examples
    --------
    >>> import torch, gramlab
    >>> model, x = torch.nn.Linear(4, 2).double(), torch.randn(10, 4, dtype=torch.float64)
    >>> merged = gramlab.merge(gramlab.measure(model, x, shard=(i, 3)) for i in range(3))
    >>> merged.n, bool(torch.allclose(merged[""].agop, gramlab.measure(model, x)[""].agop))
    (10, True)
    """
    measurements = [part if isinstance(part, Measurement) else load(part) for part in parts]
    if not measurements:
        raise ValueError("there are no parts to merge")
    _check_places(measurements)
    measurements.sort(key=lambda part: part.settings["shard"][0])
    first = measurements[0]
    for part in measurements[1:]:
        _check_belongs(first, part)
    n = sum(part.n for part in measurements)
    if first.settings.get("rows") not in (None, n):
        raise ValueError(f"the parts have {n} samples together, and the data set has {first.settings['rows']}")
    unreached = set.intersection(*(set(part.settings.get("unreached", ())) for part in measurements))
    layers = {}
    for name, layer in first.items():
        if name in unreached:
            continue
        layer_parts = [part[name] for part in measurements]
        sums = {key: _mean([(other.sums[key], other.n) for other in layer_parts], n) for key in layer.sums}
        group_means = {
            key: _mean([(other.group_means[key], other.n) for other in layer_parts], n) for key in layer.group_means
        }
        layers[name] = replace(layer, n=n, sums=sums, group_means=group_means)
    losses = [part.loss for part in measurements]
    loss = None if first.loss is None else sum(part.n * (part.loss or 0.0) for part in measurements) / n
    if any((value is None) != (first.loss is None) for value in losses):
        raise ValueError("some parts have targets and some have none")
    if not layers:
        raise ValueError(f"no sample of any part reaches layers {list(first)}")
    settings = {key: value for key, value in first.settings.items() if key not in _PART_SETTINGS}
    return Measurement(layers, n, first.outputs, loss, _left_out(measurements, unreached), settings)


def _left_out(parts: list[Measurement], unreached: set[str]) -> dict[str, str]:
    """What the parts leave out, except layers that samples of another part reach."""
    reached = {name for part in parts for name in part.settings.get("unreached", ())} - unreached
    reasons = {UNREACHED.format(name) for name in reached}
    left_out: dict[str, str] = {}
    for part in parts:
        for name, reason in part.left_out.items():
            if reason not in reasons:
                left_out.setdefault(name, reason)
    return left_out


def _mean(parts: list[tuple[Tensor, int]], n: int) -> Tensor:
    total = torch.zeros_like(parts[0][0])
    for t, count in parts:
        total += t * (count / n)
    return total


def _check_places(parts: list[Measurement]) -> None:
    """Raise ValueError unless each part of the data set is there once."""
    if any("shard" not in part.settings for part in parts):
        raise ValueError("a measurement of a whole data set is no part; parts come from measure(..., shard=(i, n))")
    places = [part.settings["shard"] for part in parts]
    counts = {count for _, count in places}
    if len(counts) > 1:
        raise ValueError(f"the parts come from different splits, into {sorted(counts)} parts")
    numbers = sorted(number for number, _ in places)
    count = counts.pop()
    missing = sorted(set(range(count)) - set(numbers))
    repeated = sorted({number for number in numbers if numbers.count(number) > 1})
    faults = [f"parts {missing} of {count} are missing"] if missing else []
    faults += [f"parts {repeated} are there more than once"] if repeated else []
    if faults:
        raise ValueError(" and ".join(faults))


def _check_belongs(first: Measurement, part: Measurement) -> None:
    """Raise ValueError if two parts are not of one measurement."""
    number = part.settings["shard"][0]

    def differ(field: str, a: Any, b: Any) -> ValueError:
        return ValueError(f"part {number} does not belong to part 0: its {field} is {b}, not {a}")

    for key in _SHARED_SETTINGS:
        if first.settings.get(key) != part.settings.get(key):
            raise differ(key, first.settings.get(key), part.settings.get(key))
    # "exact" and "readout" give the same numbers, and a batch decides between them
    estimates = [p.settings.get("outputs") if isinstance(p.settings.get("outputs"), int) else "exact"
                 for p in (first, part)]  # fmt: skip
    if estimates[0] != estimates[1]:
        raise differ("outputs", *estimates)
    if list(first) != list(part):
        raise differ("list of layers", list(first), list(part))
    for name, layer in first.items():
        other = part[name]
        if not _equal(layer.weight, other.weight):
            raise ValueError(f"part {number} does not belong to part 0: the weights of layer {name!r} differ")
        if not _equal(layer.initial_weight, other.initial_weight):
            raise ValueError(f"part {number} does not belong to part 0: the initial weights of layer {name!r} differ")
        if layer.sums.keys() != other.sums.keys() or layer.group_means.keys() != other.group_means.keys():
            raise differ(f"set of sums of layer {name!r}", sorted(layer.sums), sorted(other.sums))
    if differing := differences(first.settings.get("made_from", {}), part.settings.get("made_from", {})):
        shuffled = " (a loader that shuffles gives each part other data)" if "x" in differing else ""
        raise ValueError(f"part {number} does not belong to part 0: their {', '.join(differing)} differ{shuffled}")


def _equal(a: Tensor | None, b: Tensor | None) -> bool:
    return (a is None) == (b is None) and (a is None or b is None or torch.equal(a.cpu(), b.cpu()))
