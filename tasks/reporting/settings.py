"""The settings that the report shows with a claim, those that this machine leaves out, and the claim's stages."""

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

from tasks import settings as reader
from tasks.settings import Settings
from tasks.settings.train import Train

Printed = Mapping[str, tuple[Any, str]]  # by a setting's name the paper's value, and words for it


def settings_of(
    settings: Settings,
    experiment: str,
    names: Sequence[str] | None = None,
    printed: Printed = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """Rows of the experiment's settings as params.yaml sets them: the paper's, those of both runs.

    Parameters
    ----------
    settings
        At either scale.
    experiment
        The key of a training run or a simulation.
    names
        The settings that matter for a claim, where an experiment serves several; all by default.
    printed
        A claim's PRINTED_SETTINGS: the paper's values of settings that both scales replace.

    Returns
    -------
    list of dict
        ``name``, the ``paper``'s value, what was run at the paper scale (``run``), what at the ``quick`` scale, and
        whether all are the ``same``. Rows that differ come first. A setting that is never set has no row.
    """
    rows = []
    scales = {scale: _load(scale) for scale in reader.SCALES}
    if experiment in settings.train:
        entries = [("data", settings.entry("train", experiment)["data"]), ("train", experiment)]
    else:
        entries = [("simulate", experiment)]
    for section, key in entries:
        entry = dict(scales["paper"].entry(section, key))  # the settings keep theirs
        quick = flat(scales["quick"].entry(section, key))
        affordable = entry.pop("affordable", None)
        paper, run = flat(entry), flat(_affordable(section, entry, affordable))
        paper |= {name: value for name, (value, _) in printed.items() if name in paper}
        for name in paper | run | quick:
            values = (paper.get(name), run.get(name), quick.get(name))
            shown = names is None or section == "data" or name.split(".")[0] in names
            if any(value is not None for value in values) and shown and name.split(".")[0] != "affordable":
                same = values[0] == values[1] == values[2]
                place = f"{section}.{name}"
                rows.append({"name": place, "paper": values[0], "run": values[1], "quick": values[2], "same": same})
    return sorted(rows, key=lambda row: row["same"])


def _affordable(section: str, entry: dict[str, Any], affordable: Any) -> dict[str, Any]:
    """The settings of a run on a machine that is too small for the paper's; the paper's where it is not."""
    if not affordable:
        return entry
    if section == "data":
        return {**entry, "sets": {name: data for name, data in entry["sets"].items() if name in affordable}}
    return {**entry, **affordable}


_load = cache(reader.load)


def flat(settings: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted names."""
    values: dict[str, Any] = {}
    for key, value in settings.items():
        values |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return values


def stages_of(settings: Settings, key: str) -> list[str]:
    """The names of the stages that a claim rests on, the last first."""
    experiment = settings.claims[key]
    names = [f"check@{key}", f"measure@{experiment}"]  # simulations leave their records as measure@, too
    if experiment in settings.train:
        names += [f"train@{experiment}", f"prepare@{settings.entry('train', experiment)['data']}"]
    return names


def left_out(
    settings: Settings,
    key: str,
    data_sets: Sequence[str] = (),
    concerns: Mapping[str, Any] = MappingProxyType({}),
    printed: Printed = MappingProxyType({}),
) -> list[str]:
    """The settings that a claim's experiment leaves out or reduces because this machine is too small.

    With ``data_sets`` those of a training run on other sets are not listed. With ``concerns``, a claim's CONCERNS,
    parts of a simulation are listed only if they have these values. ``printed``, a claim's PRINTED_SETTINGS, has the
    paper's values of settings of a simulation that both scales replace. They are listed at the paper scale; the quick
    scale replaces most settings.
    """
    experiment = settings.claims[key]
    if experiment in settings.train:
        paper, run = _paper_variants(settings, experiment), settings.train[experiment].by_variant()
        trained = {variant.part for variant in run.values()}
        missing = [name for name in dict.fromkeys(variant.part for variant in paper.values()) if name not in trained]
        notes = [f"{name} left out" for name in missing if not data_sets or name in data_sets]
        return notes + _reductions(paper, run, data_sets)
    notes = []
    entry = settings.entry("simulate", experiment)  # not validated: the class of its settings imports torch
    for name, value in (entry.get("affordable") or {}).items():
        paper_value = entry.get(name)
        if isinstance(paper_value, list) and not any(part in paper_value for part in value):
            ran, wanted = (", ".join(map(_line, parts)) for parts in (value, paper_value))
            notes.append(f"{name} {ran} instead of {wanted}")
        elif isinstance(paper_value, list | dict):
            notes += [f"{_line(part)} left out" for part in paper_value
                      if part not in value and (isinstance(part, str) or concerns.items() <= part.items())]  # fmt: skip
        else:
            notes.append(f"{name} {value} instead of {'all' if paper_value is None else paper_value}")
        if isinstance(paper_value, dict) and (others := [part for part in value if part not in paper_value]):
            notes.append(f"{name} in their place: {', '.join(others)}")
    if settings.scale == "paper":
        notes += [f"{words} {entry[name]} instead of {value}" for name, (value, words) in printed.items()
                  if entry[name] != value]  # fmt: skip
    return notes


LOOKS = ("snapshots", "history_every")  # how often a training is looked at; they leave the networks as they are


def _paper_variants(settings: Settings, experiment: str) -> dict[str, Train]:
    """A training run's variants at a scale, before ``affordable`` replaces any of their settings."""
    entry = settings.entry("train", experiment)
    return Train.model_validate({name: value for name, value in entry.items() if name != "affordable"}).by_variant()


def _reductions(paper: dict[str, Train], run: dict[str, Train], data_sets: Sequence[str]) -> list[str]:
    """What ``affordable`` replaces in a training run; a setting that some variants alone replace has their names."""
    variants: dict[str, list[str]] = {}  # that a note is about
    run = {name: variant for name, variant in run.items() if not data_sets or variant.part in data_sets}
    for name, variant in run.items():
        before, after = (flat(values.model_dump(exclude={"affordable"})) for values in (paper[name], variant))
        for setting, value in after.items():
            if value != before.get(setting) and setting not in LOOKS:
                printed = "all" if before.get(setting) is None else before[setting]
                variants.setdefault(f"{setting.split('.')[-1]} {value} instead of {printed}", []).append(name)
    return [note if len(names) == len(run) else f"{', '.join(names)}: {note}" for note, names in variants.items()]


def _line(setting: Any) -> str:
    """A setting, or the names and values of several, in one line."""
    several = setting.items() if isinstance(setting, dict) else ()
    return ", ".join(f"{name} {value}" for name, value in several) or str(setting)
