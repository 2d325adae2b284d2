"""Parts of a long measurement, so that an interrupted stage goes on after the last part that it finished."""

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from gramlab.files import atomic, sha256
from gramlab.streams import stream_root
from tasks.settings import ROOT

scale = ""  # the stage's, set by its program: a stage that ends must not forget another scale's parts
seconds_before = 0.0  # what interrupted stages took for the parts that this process has read from files
FOLDER = ROOT / ".scratch" / "rows"
CODE = ("gramlab", "tasks/measuring", "tasks/papers/*/experiments")


def rows_of_part(experiment: str, part: list[Any], measure: Callable[[], Iterable[dict[str, Any]]]) -> list[dict]:
    """Return the rows that ``measure`` yields, from a file if an interrupted stage has measured the part.

    Parameters
    ----------
    experiment
        The experiment's key.
    part
        Settings, names of data, seeds: all that the rows depend on, beside the code, the root of the random streams,
        torch, its threads and its GPU. JSON can hold it.
    measure
        Measures the part.
    """
    global seconds_before
    import torch  # here: experiments that do not need it forget their parts too

    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    depends_on = [part, stream_root(), torch.__version__, torch.get_num_threads(), device]
    digest = hashlib.sha256(json.dumps([*depends_on, _code(ROOT)]).encode())
    path = FOLDER / scale / experiment / f"{digest.hexdigest()[:16]}.json"
    if path.is_file():
        saved = json.loads(path.read_text(encoding="utf-8"))
        seconds_before += saved["seconds"]
        return saved["rows"]
    started = time.perf_counter()
    rows = list(measure())
    text = json.dumps({"seconds": round(time.perf_counter() - started, 3), "rows": rows})
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return json.loads(text)["rows"]  # as another call reads them


@cache
def _code(root: Path) -> list[str]:
    """The hashes of the code that rows depend on. A stage refuses its results if code changes while it runs."""
    return [sha256(path) for path in sorted(path for folder in CODE for path in root.glob(f"{folder}/**/*.py"))]


def forget_parts(experiment: str) -> None:
    """Remove the files of the experiment's parts at this scale, when its table is written."""
    shutil.rmtree(FOLDER / scale / experiment, ignore_errors=True)
