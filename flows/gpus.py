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
        gpus = [gpu.strip() for gpu in visible.split(",") if gpu.strip()]
        return gpus[: gpus.index("-1")] if "-1" in gpus else gpus  # CUDA also ignores the GPUs after -1
    if not shutil.which("nvidia-smi"):
        return []
    query = ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"]
    result = subprocess.run(query, capture_output=True, text=True)
    return result.stdout.split() if result.returncode == 0 else []  # a failure prints its message to stdout
