"""Ctrl-C before a program can go on after it: in the seconds in which it imports its libraries.

Python would print the traceback of an import. A program sets `end_at_once` first of all, and its own handling later.
This module imports nothing slow.
"""

import os
import signal
from types import FrameType

INTERRUPTED = "interrupted; run the same command again: it goes on where this run ended"


def end_at_once(number: int = signal.SIGINT, _: FrameType | None = None) -> None:
    """End this process, which has begun nothing yet, with one line and the exit status of a signal."""
    os.write(1, f"{INTERRUPTED}\n".encode())  # `print` fails if the signal came within another `print`
    os._exit(128 + number)
