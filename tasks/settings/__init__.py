"""What params.yaml may hold, and the one function that reads it.

Each experiment has the paper's settings and, beside them, the quick scale's reductions. A mistake is one line
that names the key and what is allowed, exit status 2, and nothing written.
"""

import sys
from pathlib import Path
from typing import Any, NoReturn

import yaml
from pydantic import ValidationError

from tasks.settings.data import Data, Sets
from tasks.settings.experiments import Claim, Measure, Simulate
from tasks.settings.fields import Strict
from tasks.settings.machine import ROOT, Machine
from tasks.settings.train import Model, Train, merged

__all__ = [
    "ROOT", "SCALES", "Claim", "Data", "Machine", "Measure", "Model", "Sets", "Settings", "Simulate", "Train",
    "load", "merged", "pick", "read", "refuse",
]  # fmt: skip

SCALES = ("quick", "paper")
SECTIONS: dict[str, type[Strict]] = {"data": Data, "train": Train, "measure": Measure, "simulate": Simulate}


class Settings:
    """All of params.yaml at one scale, validated: ``data``, ``train``, ``measure``, ``simulate``, ``claims``."""

    def __init__(self, raw: dict[str, Any], scale: str):
        self.scale = scale
        if unknown := raw.keys() - {*SECTIONS, "machine", "claims"}:
            refuse(f"params.yaml: unknown section {', '.join(sorted(unknown))}; allowed: {_names()}")
        if missing := {name for name in (*SECTIONS, "machine", "claims") if not isinstance(raw.get(name), dict)}:
            refuse(f"params.yaml: section {', '.join(sorted(missing))} is missing")
        self.machine = _valid(Machine, raw["machine"], "machine")
        self.claims = {key: _valid(Claim, value, f"claims.{key}") for key, value in raw["claims"].items()}
        made: dict[str, dict[str, Any]] = {}
        for section, kind in SECTIONS.items():
            made[section] = {}
            for key, value in raw[section].items():
                at = f"{section}.{key}"
                if not isinstance(value, dict) or value.keys() != {"paper", "quick"}:
                    refuse(f"params.yaml: {at} must hold exactly the two keys paper and quick")
                if not isinstance(value["paper"], dict) or not isinstance(value["quick"] or {}, dict):
                    refuse(f"params.yaml: {at}: both of paper and quick must hold settings by name")
                if section == "train" and "data" in (value["quick"] or {}):  # the stage depends on the paper's alone
                    refuse(f"params.yaml: {at}.quick.data: both scales train on the set that paper names")
                one = Sets if section == "data" and "sets" in value["paper"] else kind
                paper = _valid(one, value["paper"], f"{at}.paper")
                # validated on top of the paper's settings, so that a mistake is named where it stands
                quick = _valid(one, merged(value["paper"], value["quick"]), f"{at}.quick")
                made[section][key] = paper if scale == "paper" else quick
        self.data: dict[str, Data | Sets] = made["data"]
        self.train: dict[str, Train] = made["train"]
        self.measure: dict[str, Measure] = made["measure"]
        self.simulate: dict[str, Simulate] = made["simulate"]
        # by entry what the paper's settings name, which the quick scale may leave out
        self._sets = {key: list(value["paper"].get("sets") or ()) for key, value in raw["data"].items()}
        self.unprepared: dict[str, list[str]] = {}  # by training run: what its variants name and this machine has not
        self._consistent()

    def _consistent(self) -> None:
        for key, run in self.train.items():
            _known(run.data, self.data, f"train.{key}.*.data", "data set")
            self.train[key] = self._trainable(key, run)
        for key in self.measure:
            _known(key, self.train, f"measure.{key}", "training run")
        if both := self.measure.keys() & self.simulate.keys():
            refuse(f"params.yaml: {', '.join(sorted(both))} stands both in measure and in simulate")
        for key, claim in self.claims.items():
            _known(claim.experiment, self.experiments(), f"claims.{key}.experiment", "experiment")
            trained = self.train.get(claim.experiment)
            for part in claim.parts or ():
                _known(part, self._sets[trained.data] if trained else (), f"claims.{key}.parts", "set")

    def _trainable(self, key: str, run: Train) -> Train:
        """The run without the variants whose data set is not prepared at this scale or on this machine."""
        data, each = self.data[run.data], run.each()
        for name, one in each.items():
            at = ".".join(filter(None, (f"train.{key}.*", name and f"variants.{name}", "part")))
            _known(one.part, data.sets if isinstance(data, Sets) else data.parts(), at, "set")
        named = {one.part for one in each.values()} - data.parts().keys()
        self.unprepared[key] = [part for part in data.declared() if part in named] if isinstance(data, Sets) else []
        kept = {name: run.variants[name] for name, one in each.items() if name and one.part in data.parts()}
        if run.variants and not kept:
            refuse(f"params.yaml: train.{key}: nothing to train; data.{run.data} has: {', '.join(data.parts())}")
        return run.model_copy(update={"variants": kept})

    def experiments(self) -> dict[str, Measure | Simulate]:
        """Every experiment by name."""
        return {**self.measure, **self.simulate}


def read(path: Path = ROOT / "params.yaml") -> dict[str, Any]:
    """params.yaml as it stands."""
    try:
        # libyaml's loader where it is there: ten times as fast
        found = yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except OSError as error:
        refuse(f"{path.name}: {error.strerror}")
    except yaml.YAMLError as error:
        refuse(f"{path.name}: not valid YAML: {' '.join(str(error).split())}")
    return found if isinstance(found, dict) else refuse(f"{path.name}: holds no settings")


def load(scale: str) -> Settings:
    """The settings at this scale; on a mistake one line to stderr and exit status 2."""
    if scale not in SCALES:
        refuse(f"unknown scale {scale!r}; allowed: {', '.join(SCALES)}")
    return Settings(read(), scale)


def pick(settings: dict[str, Any], key: str, what: str) -> Any:
    """The entry of this name; on an unknown one, one line to stderr and exit status 2."""
    if key not in settings:
        refuse(f"unknown {what} {key!r}; allowed: {', '.join(settings)}")
    return settings[key]


def refuse(line: str) -> NoReturn:
    """Say what is wrong in one line and exit with status 2."""
    print(line, file=sys.stderr)
    raise SystemExit(2)


def _known(name: str, allowed: Any, at: str, what: str) -> None:
    if name not in allowed:
        refuse(f"params.yaml: {at}: no {what} {name!r}; allowed: {', '.join(allowed)}")


def _names() -> str:
    return ", ".join([*SECTIONS, "machine", "claims"])


def _valid(kind: type[Strict], value: Any, at: str) -> Any:
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join([at, *map(str, first["loc"])])
        allowed = f"; allowed: {', '.join(kind.model_fields)}" if first["type"] == "extra_forbidden" else ""
        given = "" if first["type"] in ("missing", "extra_forbidden") else f", not {first['input']!r}"
        refuse(f"params.yaml: {where}: {first['msg'].removeprefix('Value error, ')}{given}{allowed}")
