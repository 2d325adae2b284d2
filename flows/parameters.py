"""params.yaml, parsed once for all stages.

DVC parses it anew for each stage and for each dvc.yaml, and searches all of it for each key: with some 170 stages that
takes ten seconds. Importing this module has DVC parse a YAML file of parameters again only after it has changed.
"""

import os
from copy import deepcopy
from functools import lru_cache
from typing import Any

from dvc.dependency import param
from dvc.utils import serialize

search = param.read_param_file


@lru_cache(maxsize=8)
def _parsed(path: str, *version: int) -> Any:
    return serialize.load_yaml(path)


def load(path: Any, fs: Any = None, **_: Any) -> Any:
    """The parsed file. It is shared, so nobody may change it."""
    status = os.stat(path)
    return _parsed(os.fspath(path), status.st_mtime_ns, status.st_size, status.st_ino)


def look_up(fs: Any, path: str, key_paths: list[str] | None = None, flatten: bool = False, **options: Any) -> Any:
    """The values of plain keys such as ``data.photos.quick``, in place of DVC's search for patterns."""
    if not key_paths or not flatten or not path.endswith((".yaml", ".yml")):
        return search(fs, path, key_paths, flatten, **options)
    values = {}
    for key in key_paths:
        value = load(path)
        try:
            for name in key.split("."):
                value = value[name]
        except (KeyError, TypeError):
            continue
        values[key] = deepcopy(value)  # ends in dvc.lock, where an object that stands twice becomes an alias
    return values


for suffix in (".yaml", ".yml"):
    serialize.LOADERS[suffix] = load
param.read_param_file = look_up
