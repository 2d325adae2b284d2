"""The machine of a measurement in words, the date, and the versions of what computes."""

import datetime
import json
import os
import platform
from pathlib import Path
from typing import Any

import torch


def machine() -> dict[str, object]:
    """Cores, processor, memory and GPU; without a name that would identify the machine."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "machine": f"{os.cpu_count()} cores, {processor()}, {memory:.0f} GiB, {gpu}; one thread",
        "date": datetime.date.today().isoformat(),
        "versions": {"python": platform.python_version(), "torch": torch.__version__.partition("+")[0]},
    }


def processor() -> str:
    """The processor's name, or its architecture where the system does not tell it."""
    cpuinfo = Path("/proc/cpuinfo")
    for line in cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.is_file() else []:
        if line.startswith("model name"):
            return line.partition(":")[2].strip().replace("(R)", "")
    return platform.machine()


def recorded(path: Path, name: str) -> list[dict[str, Any]]:
    """The rows of an earlier run, if it was on this machine with these versions: the file names one machine for all."""
    content = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    this_machine = machine()
    is_here = all(content.get(key) == this_machine[key] for key in ("machine", "versions"))
    return content[name] if is_here else []
