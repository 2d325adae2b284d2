"""The tests on a pretended device, each file in a process of its own.

Once it is there, torch takes it for the machine's accelerator, which other tests need not see.
"""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("file", ["library.py", "experiments.py"])
def test_on_a_device_that_is_not_the_cpu(file: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", f"--basetemp={tmp_path / 'there'}", f"tests/elsewhere/{file}"]
    done = subprocess.run(command, cwd=Path(__file__).parent.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
    assert " skipped" not in done.stdout
