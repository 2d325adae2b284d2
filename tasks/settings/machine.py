"""Where the project lies, and the machine that it runs on."""

import os
from pathlib import Path
from typing import Literal

from tasks.settings.fields import Count, Share, Strict

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
