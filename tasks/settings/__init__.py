"""The settings in params.yaml; ``load`` reads them.

An entry holds the paper's settings and the reductions of the quick scale. A stage validates the entries that it reads,
so that a mistake stops only the stages that need the entry. A mistake gives one line that names the key and the allowed
values, and exit status 2; nothing is written.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar

import yaml
from pydantic import ValidationError

from gramlab.arguments import did_you_mean
from tasks import papers
from tasks.settings.data import Data, Sets
from tasks.settings.fields import Strict, shown
from tasks.settings.machine import ROOT, Machine, Streams
from tasks.settings.simulation import Simulation
from tasks.settings.train import Model, Train, merged

__all__ = [
    "ROOT", "SCALES", "SHARED", "Data", "Machine", "Model", "Sets", "Settings", "Simulation", "Streams", "Train",
    "allowed", "load", "merged", "read", "refuse",
]  # fmt: skip

SCALES = ("quick", "paper")
SHARED = ("machine", "streams", "data")  # sections that belong to no paper
SECTIONS = ("train", "simulate", "claims")  # of a paper
Entry = TypeVar("Entry")


class Entries(Mapping[str, Entry], Generic[Entry]):
    """Entries of params.yaml by key; each is validated when it is first read."""

    def __init__(self, kind: str, keys: Iterable[str], validate: Callable[[str], Entry]):
        self.kind, self.keys_, self.validate = kind, list(keys), validate
        self.validated: dict[str, Entry] = {}

    def __getitem__(self, key: str) -> Entry:
        if key not in self.keys_:
            raise KeyError(key)
        if key not in self.validated:
            self.validated[key] = self.validate(key)
        return self.validated[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys_)

    def __len__(self) -> int:
        return len(self.keys_)

    def __contains__(self, key: object) -> bool:
        return key in self.keys_

    def pick(self, key: str) -> Entry:
        """The entry of this key; on an unknown key one line to stderr and exit status 2."""
        if key not in self.keys_:
            refuse(f"unknown {self.kind} {key!r}{allowed(key, self.keys_)}")
        return self[key]


class Settings:
    """params.yaml at one scale: ``machine``, ``streams``, and by key ``data``, ``train``, ``simulate`` and ``claims``.

    ``claims`` maps the key of a claim to the key of its experiment. ``paper`` maps every key but those of data sets to
    the folder of its paper.
    """

    def __init__(self, raw: dict[str, Any], scale: str):
        self.scale, self.raw = scale, raw
        known = [*SHARED, *papers.names()]
        for name in raw:
            if name not in known:
                refuse(f"params.yaml: unknown section {shown(name)}{allowed(str(name), known)}")
        for name in SHARED:
            if raw.get(name) is None:
                refuse(f"params.yaml: section {name} is missing")
            _named(raw[name], name)
        self.machine: Machine = _valid(Machine, raw["machine"], "machine")
        self.streams: Streams = _valid(Streams, raw["streams"], "streams")
        self.paper: dict[str, str] = {}
        keys: dict[str, list[str]] = {section: [] for section in SECTIONS}
        for paper in (name for name in raw if name not in SHARED):
            for section, entries in _named(raw[paper], paper).items():
                if section not in SECTIONS:
                    refuse(f"params.yaml: {paper}: unknown section {section!r}{allowed(section, SECTIONS)}")
                for key in _named(entries, f"{paper}.{section}"):
                    if key in keys[section] or (section != "claims" and key in [*keys["train"], *keys["simulate"]]):
                        refuse(f"params.yaml: {paper}.{section}.{key}: two entries have this key")
                    keys[section].append(key)
                    self.paper.setdefault(key, paper)
        self.data: Entries[Data | Sets] = Entries("data set", raw["data"], self._data)
        self.train: Entries[Train] = Entries("training run", keys["train"], self._train)
        self.simulate: Entries[Simulation] = Entries("experiment", keys["simulate"], self._simulation)
        self.claims: Entries[str] = Entries("claim", keys["claims"], self._claim)
        self.experiments: Entries[Train | Simulation] = Entries(
            "experiment", keys["train"] + keys["simulate"],
            lambda key: self.train[key] if key in self.train else self.simulate[key],
        )  # fmt: skip

    def place(self, section: str, key: str) -> str:
        """The place of an entry in params.yaml, for messages."""
        return f"data.{key}" if section == "data" else f"{self.paper[key]}.{section}.{key}"

    def entry(self, section: str, key: str) -> dict[str, Any]:
        """An entry of ``data``, ``train`` or ``simulate`` at this scale, before validation."""
        by_scale = self._by_scale(section, key)
        if self.scale == "paper":
            return by_scale["paper"]
        # ``affordable`` reduces the paper's settings; the quick scale has other reductions
        paper = {name: value for name, value in by_scale["paper"].items() if name != "affordable"}
        return merged(paper, by_scale["quick"])

    def reduced(self, experiment: str) -> bool:
        """Whether ``affordable`` changes how a network or a machine is trained; the quick scale has no such entry.

        It may also leave out data sets, and change the number of seeds and the epochs that are measured.
        """
        section = "train" if experiment in self.train else "simulate"
        affordable = self.entry(section, experiment).get("affordable") or {}
        return bool(affordable.keys() - {"sets", "seeds", "snapshots", "history_every"})

    def claims_of(self, paper: str) -> list[str]:
        """The keys of a paper's claims."""
        return [key for key in self.claims if self.paper[key] == paper]

    def _by_scale(self, section: str, key: str) -> dict[str, Any]:
        """The settings of an entry at the papers' scale and at the quick scale."""
        place = self.place(section, key)
        entry = (self.raw["data"] if section == "data" else self.raw[self.paper[key]][section])[key]
        if not isinstance(entry, dict) or not {"paper"} <= entry.keys() <= {"paper", "quick"}:
            refuse(f"params.yaml: {place} must hold paper, may hold quick, and nothing else")
        by_scale = {"quick": {}, **entry}
        if not all(isinstance(settings, dict) for settings in by_scale.values()):
            refuse(f"params.yaml: {place}: paper and quick must hold settings by name")
        return by_scale

    def _check_file(self, section: str, key: str) -> None:
        """Refuse an entry whose claim or experiment has no file."""
        if message := papers.no_file(self.paper[key], section, key):
            refuse(message)

    def _validated(self, kind: type[Strict], section: str, key: str) -> Any:
        # at the quick scale too the paper's settings are validated first, so that the message names the right part
        place = self.place(section, key)
        paper = _valid(kind, self._by_scale(section, key)["paper"], f"{place}.paper")
        return paper if self.scale == "paper" else _valid(kind, self.entry(section, key), f"{place}.quick")

    def _data(self, key: str) -> Data | Sets:
        return self._validated(Sets if "sets" in self._by_scale("data", key)["paper"] else Data, "data", key)

    def _simulation(self, key: str) -> Simulation:
        self._check_file("simulate", key)
        return self._validated(papers.experiment(self.paper[key], key).Settings, "simulate", key)

    def _claim(self, key: str) -> str:
        self._check_file("claims", key)
        experiment = self.raw[self.paper[key]]["claims"][key]
        if experiment not in self.experiments:
            refuse(f"params.yaml: {self.place('claims', key)}: no experiment {shown(experiment)}"
                   f"{allowed(str(experiment), self.experiments)}")  # fmt: skip
        return experiment

    def _complete(self, key: str) -> Train:
        """A training run with all of its variants."""
        self._check_file("train", key)
        if "data" in self._by_scale("train", key)["quick"]:  # the stage depends on the data set that ``paper`` names
            refuse(f"params.yaml: {self.place('train', key)}.quick.data: both scales train on the set that paper names")
        if "data" in (self._by_scale("train", key)["paper"].get("affordable") or {}):
            place = f"{self.place('train', key)}.paper.affordable.data"
            refuse(f"params.yaml: {place}: a run trains on the set that paper names")
        run: Train = self._validated(Train, "train", key).feasible()
        if run.data not in self.data:
            refuse(f"params.yaml: {self.place('train', key)}.*.data: no data set {run.data!r}"
                   f"{allowed(run.data, self.data)}")  # fmt: skip
        return run

    def _train(self, key: str) -> Train:
        """A training run without the variants whose data set is not prepared at this scale or on this machine."""
        run = self._complete(key)
        data, variants = self.data[run.data], run.by_variant()
        declared = data.sets if isinstance(data, Sets) else data.parts()
        for name, variant in variants.items():
            if variant.part not in declared:
                place = ".".join(filter(None, (f"{self.place('train', key)}.*", name and f"variants.{name}", "part")))
                refuse(f"params.yaml: {place}: no set {variant.part!r}{allowed(variant.part, declared)}")
        prepared = {name for name, variant in variants.items() if variant.part in data.parts()}
        if (run.variants or run.sets) and not prepared:
            refuse(f"params.yaml: {self.place('train', key)}: nothing to train; data.{run.data} has: "
                   f"{', '.join(data.parts())}")  # fmt: skip
        prepared_variants = {name: change for name, change in run.changes().items() if name in prepared}
        return run.model_copy(update={"variants": prepared_variants, "sets": [], "arms": {}})


def read(path: Path = ROOT / "params.yaml") -> dict[str, Any]:
    """The content of params.yaml, before validation."""
    try:
        # libyaml's loader, where it is installed, is ten times as fast
        raw = yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except OSError as error:
        refuse(f"{path.name}: {error.strerror}")
    except (yaml.YAMLError, ValueError) as error:  # a ValueError from no UTF-8, and from a date that no calendar has
        refuse(f"{path.name}: not valid YAML: {' '.join(str(error).split())}")
    return raw if isinstance(raw, dict) else refuse(f"{path.name}: holds no settings")


def load(scale: str) -> Settings:
    """The settings at this scale; on a mistake one line to stderr and exit status 2."""
    if scale not in SCALES:
        refuse(f"unknown scale {scale!r}{allowed(scale, SCALES)}")
    raw, root = read(), os.environ.get("GRAMLAB_STREAM_ROOT")
    if root and "DVC_STAGE" not in os.environ:
        raw["streams"] = {"root": int(root) if root.isascii() and root.isdigit() else root}
    return Settings(raw, scale)


def refuse(line: str) -> NoReturn:
    """Print one line to stderr and exit with status 2."""
    print(line, file=sys.stderr)
    raise SystemExit(2)


def allowed(name: str, names: Iterable[str]) -> str:
    """The end of a message on an unknown name: the nearest of the allowed names, and all of them."""
    names = list(names)
    return f"{did_you_mean(name, names)}; allowed: {', '.join(names)}"


def _named(entries: Any, place: str) -> dict[str, Any]:
    """The entries of a section, which may be empty; they must have names."""
    if not isinstance(entries, dict | None):
        refuse(f"params.yaml: {place} must hold entries by name, not {shown(entries)}")
    for key in entries or {}:
        if not isinstance(key, str):
            refuse(f"params.yaml: {place}: a name must be text, not {shown(key)}; write it in quotes")
    return entries or {}


def _valid(kind: type[Strict], value: Any, place: str) -> Any:
    """The validated settings. An unknown key is reported first: it may be a misspelling of a missing key."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = min(error.errors(), key=lambda line: line["type"] != "extra_forbidden")
        where = ".".join([place, *map(str, first["loc"])])
        if first["type"] == "extra_forbidden":
            fields = _fields(kind, first["loc"][:-1])
            refuse(f"params.yaml: {where}: unknown key{allowed(str(first['loc'][-1]), fields)}")
        # the input of a rule about several keys is the whole entry
        received = "" if first["type"] in ("missing", "value_error") else f", not {shown(first['input'])}"
        words = re.findall(r"'([^']*)'", first["ctx"]["expected"]) if first["type"] == "literal_error" else ()
        nearest = did_you_mean(first["input"], words)
        refuse(f"params.yaml: {where}: {first['msg'].removeprefix('Value error, ')}{received}{nearest}")


def _fields(kind: Any, path: tuple[Any, ...]) -> list[str]:
    """The keys of the settings class at this path below ``kind``."""
    for name in path:
        kind = kind.model_fields[name].annotation if name in getattr(kind, "model_fields", {}) else kind
    return list(getattr(kind, "model_fields", ()))
