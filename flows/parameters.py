"""params.yaml, parsed once for all stages.

DVC parses the file for each stage and each dvc.yaml, and walks through all of it for each key, which takes ten seconds
for some 180 stages. After the import of this module, DVC parses a file of parameters again only if it has changed.
"""

import os
import re
from contextlib import suppress
from copy import deepcopy
from functools import lru_cache, reduce
from operator import getitem
from pathlib import Path
from typing import Any

from dvc.dependency import param
from dvc.utils import serialize

from gramlab.arguments import did_you_mean
from tasks import papers
from tasks.settings import SECTIONS, SHARED
from tasks.settings.fields import shown

read_param_file = param.read_param_file


@lru_cache(maxsize=8)
def _parsed(path: str, *version: int) -> Any:
    return serialize.load_yaml(path)


def load(path: str, *_: Any, **__: Any) -> Any:
    """The parsed file. All callers share it and must not change it."""
    status = os.stat(path)
    return _parsed(path, status.st_mtime_ns, status.st_size, status.st_ino)


def check_shapes(content: Any) -> None:
    """Refuse a file whose sections do not hold entries by name. DVC's message would name a line of dvc.yaml."""
    entries = _entries_by_name(content, "the file")
    for name in SHARED:
        _entries_by_name(entries.get(name), name)
    for paper in entries.keys() - set(SHARED):
        for section, section_entries in _entries_by_name(entries[paper], paper).items():
            _entries_by_name(section_entries, f"{paper}.{section}")


def _entries_by_name(entries: Any, place: str) -> dict[str, Any]:
    if not isinstance(entries, dict):
        raise ValueError(f"params.yaml: {place} must hold entries by name, or {{}} for none, not {shown(entries)}")
    for key in entries:
        if not isinstance(key, str):
            raise ValueError(f"params.yaml: {place}: a name must be text, not {key!r}; write it in quotes")
    return entries


def check_keys(content: dict[str, Any]) -> None:
    """Refuse a key with other characters than small letters, digits and ``_``; keys are parts of commands and paths."""
    for section, entries in content.items():
        names = [section]
        if section == "data":
            names += entries
        elif section not in ("machine", "streams"):
            names += [key for part in entries.values() for key in part]
        for name in names:
            if not re.fullmatch(r"[a-z0-9_]+", name):
                raise ValueError(f"params.yaml: key {name!r} of {section!r} may have small letters, digits and _ only")


def check_data(settings: dict[str, Any]) -> None:
    """Refuse a training run without a data set. With it DVC could make no stage of the scale.

    DVC's message would name a line of dvc.yaml, which is right, and not the entry of params.yaml, which is wrong.
    """
    for paper, sections in settings.items():
        for key, entry in sections.get("train", {}).items() if paper not in SHARED else ():
            paper_settings = entry.get("paper") if isinstance(entry, dict) else None
            if not isinstance(paper_settings, dict) or not isinstance(paper_settings.get("data"), str):
                raise ValueError(
                    f"params.yaml: {paper}.train.{key}.paper.data must name a data set; DVC makes no stage without it"
                )


def check_names(settings: dict[str, Any], folder: Path) -> None:
    """Refuse a claim or an experiment that has no file in the papers' folder, and a claim on an unknown experiment.

    Otherwise its stages would run, perhaps for hours, before one of them fails.
    """
    known = [*SHARED, *sorted(path.name for path in folder.iterdir() if path.is_dir() and path.name[0] != "_")]
    experiments: list[str] = []
    claims: list[tuple[str, str, str]] = []
    for paper, sections in settings.items():
        if paper not in known:
            raise ValueError(f"params.yaml: unknown section {paper!r}{did_you_mean(paper, known)}")
        for section, entries in sections.items() if paper not in SHARED else ():
            if section not in SECTIONS:
                raise ValueError(f"params.yaml: {paper}: unknown section {section!r}{did_you_mean(section, SECTIONS)}")
            for key in entries:
                if message := papers.no_file(paper, section, key, folder):
                    raise ValueError(message)
            if section == "claims":
                claims += [(paper, key, experiment) for key, experiment in entries.items()]
            else:
                experiments += entries
    for paper, key, experiment in claims:
        if experiment not in experiments:
            nearest = did_you_mean(experiment, experiments)
            raise ValueError(f"params.yaml: {paper}.claims.{key}: no experiment {experiment!r}{nearest}")


def look_up(fs: Any, path: str, keys: list[str] | None = None, flatten: bool = False, **options: Any) -> Any:
    """The values of keys such as ``data.photos.quick``, in place of DVC's search for patterns."""
    if not keys or not flatten or not path.endswith(".yaml"):
        return read_param_file(fs, path, keys, flatten, **options)
    values = {}
    for key in keys:
        with suppress(KeyError, TypeError):
            # a copy: dvc.lock would write an object that occurs twice as an alias
            values[key] = deepcopy(reduce(getitem, key.split("."), load(path)))
    return values


serialize.LOADERS[".yaml"] = load
param.read_param_file = look_up
