"""Where the project lies, the machine that it runs on, and the root of its random numbers."""

import os
from pathlib import Path
from typing import Literal

from tasks.settings.fields import Count, Natural, Share, Strict

ROOT = Path(__file__).resolve().parents[2]


class Machine(Strict):
    """Where and how to compute; no result should depend on it beyond round-off."""

    data_root: str  # raw files; the environment variable GRAMLAB_DATA has the last word
    device: Literal["auto", "cpu", "cuda"]
    threads: Count
    checkpoint_seconds: Share

    def root(self) -> Path:
        """The folder with the raw data."""
        return Path(os.environ.get("GRAMLAB_DATA") or ROOT / Path(self.data_root).expanduser())


class Streams(Strict):
    """The random streams of `gramlab.streams`."""

    root: Natural  # GRAMLAB_STREAM_ROOT has the last word, but not in a stage that DVC runs: DVC records params.yaml's
