"""The project's folder, the machine, and the root of the random streams."""

import os
from pathlib import Path
from typing import Literal

from gramlab.files import BadInput
from tasks.settings.fields import Count, Natural, Share, Strict

ROOT = Path(__file__).resolve().parents[2]


class Machine(Strict):
    """Where and how to compute. Results depend on it by round-off alone."""

    data_root: str  # raw files; the environment variable GRAMLAB_DATA overrides it
    device: Literal["auto", "cpu", "cuda"]
    threads: Count
    checkpoint_seconds: Share

    def root(self) -> Path:
        """The folder with the raw data: ``~`` is one's home, and a relative path begins at the project's folder."""
        named = os.environ.get("GRAMLAB_DATA")
        try:
            return ROOT / Path(named or self.data_root).expanduser()
        except RuntimeError as error:
            place = "GRAMLAB_DATA" if named else "params.yaml: machine.data_root"
            raise BadInput(f"{place}: {named or self.data_root} begins with no user of this machine") from error


class Streams(Strict):
    """The random streams of `gramlab.streams`."""

    root: Natural  # GRAMLAB_STREAM_ROOT overrides it, but not in DVC's stages: DVC records the root in params.yaml
