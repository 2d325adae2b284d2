"""Which GPUs stages may use, and their concurrency limits."""

import os
import shutil
import subprocess
from socket import gethostname

from flows.graph import Refused

PATIENCE = 30.0  # seconds until nvidia-smi must have answered; it takes one or two


def limit(gpu: str) -> str:
    """The name of Prefect's concurrency limit for a GPU of this machine."""
    return f"gpu:{gethostname()}:{gpu}"


def visible_gpus(device: str) -> list[str]:
    """The GPUs that stages may use: those of CUDA_VISIBLE_DEVICES, or all. Raise Refused if the driver hangs."""
    if device == "cpu":
        return []
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        gpus = [gpu.strip() for gpu in visible.split(",") if gpu.strip()]
        return gpus[: gpus.index("-1")] if "-1" in gpus else gpus  # CUDA also ignores the GPUs after -1
    if not shutil.which("nvidia-smi"):
        return []
    query = ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"]
    process = subprocess.Popen(query, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        output, _ = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()  # no wait: a process that hangs in the driver may not end
        raise Refused(
            f"nvidia-smi does not answer within {PATIENCE:g} s, so the GPU's driver may hang; to run without a GPU "
            "set CUDA_VISIBLE_DEVICES=-1"
        ) from None
    return output.split() if process.returncode == 0 else []  # a failure prints its message to stdout
