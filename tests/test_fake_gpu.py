"""The tests on a fake GPU, each file in a process of its own.

Once the fake GPU exists, torch takes it for the machine's accelerator, which would disturb other tests.
"""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("file", ["library.py", "experiments.py"])
def test_on_a_fake_gpu(file: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", f"--basetemp={tmp_path / 'inner'}", f"tests/gpu/{file}"]
    process = subprocess.run(command, cwd=Path(__file__).parent.parent, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout[-5000:] + process.stderr[-2000:]
    assert " passed" in process.stdout
    assert " skipped" not in process.stdout
