"""The settings that the report shows with a claim, and what of them this machine leaves out."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from tasks import settings as reader
from tasks.settings import Settings
from tasks.stage import Stage


def settings_of(stage: Stage, experiment: str, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Rows of the experiment's settings as params.yaml sets them, at both scales; those that differ come first.

    ``names`` are the settings that matter for a claim, where an experiment serves several; all by default.
    """
    rows = []
    scales = {scale: _load(scale) for scale in reader.SCALES}
    if experiment in stage.settings.train:
        entries = [("data", stage.settings.entry("train", experiment)["data"]), ("train", experiment)]
    else:
        entries = [("simulate", experiment)]
    for section, key in entries:
        paper, quick = (flat(scales[scale].entry(section, key)) for scale in ("paper", "quick"))
        for name in paper | quick:
            values = (paper.get(name), quick.get(name))
            if values != (None, None) and (names is None or section == "data" or name.split(".")[0] in names):
                same = values[0] == values[1]
                rows.append({"name": f"{section}.{name}", "paper": values[0], "quick": values[1], "same": same})
    return sorted(rows, key=lambda row: row["same"])


_load = cache(reader.load)


def flat(settings: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted names."""
    values: dict[str, Any] = {}
    for key, value in settings.items():
        values |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return values


def left_out(settings: Settings, key: str, data_sets: Sequence[str] = ()) -> list[str]:
    """What a claim's experiment goes without, or has less of, where this machine is too small for the settings."""
    experiment = settings.claims[key]
    if experiment in settings.train:
        sets = settings.missing_sets(experiment)
        return [f"{name} left out" for name in sets if not data_sets or name in data_sets]
    notes = []
    entry = settings.entry("simulate", experiment)  # not validated: the class of its settings imports torch
    for name, value in (entry.get("affordable") or {}).items():
        paper_value = entry.get(name)
        if isinstance(paper_value, list):
            notes += [f"{_line(part)} left out" for part in paper_value if part not in value]
        else:
            notes.append(f"{name} {value} instead of {paper_value}")
    return notes


def _line(setting: Any) -> str:
    """A setting, or the names and values of several, in one line."""
    several = setting.items() if isinstance(setting, dict) else ()
    return ", ".join(f"{name} {value}" for name, value in several) or str(setting)
