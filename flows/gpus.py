"""Which GPUs stages may use, and their concurrency limits."""

import os
import shutil
import subprocess
from socket import gethostname


def limit(gpu: str) -> str:
    """The name of Prefect's concurrency limit for a GPU of this machine."""
    return f"gpu:{gethostname()}:{gpu}"


def visible_gpus(device: str) -> list[str]:
    """The GPUs that stages may use: those of CUDA_VISIBLE_DEVICES, or all."""
    if device == "cpu":
        return []
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        named = [gpu.strip() for gpu in visible.split(",") if gpu.strip()]
        return named[: named.index("-1")] if "-1" in named else named  # CUDA stops at it too
    if not shutil.which("nvidia-smi"):
        return []
    query = ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"]
    done = subprocess.run(query, capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else []  # where it fails it says so on stdout
