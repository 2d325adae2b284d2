"""The project's folder, the machine, and the root of the random streams."""

import os
from pathlib import Path
from typing import Literal

from tasks.settings.fields import Count, Natural, Share, Strict

ROOT = Path(__file__).resolve().parents[2]


class Machine(Strict):
    """Where and how to compute. Results depend on it by round-off alone."""

    data_root: str  # raw files; the environment variable GRAMLAB_DATA overrides it
    device: Literal["auto", "cpu", "cuda"]
    threads: Count
    checkpoint_seconds: Share

    def root(self) -> Path:
        """The folder with the raw data."""
        return Path(os.environ.get("GRAMLAB_DATA") or ROOT / Path(self.data_root).expanduser())


class Streams(Strict):
    """The random streams of `gramlab.streams`."""

    root: Natural  # GRAMLAB_STREAM_ROOT overrides it, but not in DVC's stages: DVC records the root in params.yaml
