"""The runner's forks: they run a program as a shell does, see the code as it is, and end in time."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from dummy_project import ROOT, environment

from flows.runner import OutOfTime, Runner


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    runner = Runner(tmp_path, threads=1, libraries=())
    yield runner
    runner.close()


@pytest.mark.parametrize("form", ["python -m program", "python program.py"])
@pytest.mark.parametrize(
    ("code", "status", "output"),
    [("print(sys.argv[1:], os.environ['NAME'], os.getcwd() == sys.path[0])", 0, ["['a', '--b'] value True"]),
     ("sys.exit('words')", 1, ["words"]), ("sys.exit(3)", 3, []), ("sys.exit()", 0, []),
     ("import helper; print(helper.VALUE, __name__)", 0, ["1 __main__"]),
     ("os.kill(os.getpid(), 9)", 137, []), ("print(1 / 0)", 1, ["ZeroDivisionError: division by zero"])],
)  # fmt: skip
def test_a_fork_runs_a_program_as_a_shell_does(tmp_path, runner, form, code, status, output) -> None:
    (tmp_path / "helper.py").write_text("VALUE = 1")
    (tmp_path / "program.py").write_text(f"import os, sys\n{code}\n")
    lines: list[str] = []
    assert runner.run(f"{form} a --b", {"NAME": "value"}, lines.append) == status
    assert [line for line in lines if line != "Killed"][-1:] == output  # the shell says so


def test_a_fork_sees_the_code_as_it_is_and_ends_in_time(tmp_path: Path, runner: Runner) -> None:
    lines: list[str] = []
    for value in (1, 22):
        (tmp_path / "helper.py").write_text(f"VALUE = {value}")
        (tmp_path / "program.py").write_text("import helper, time\nprint(helper.VALUE)\ntime.sleep(helper.VALUE - 1)\n")
        if value == 1:
            assert runner.run("python -m program", {}, lines.append, seconds=5) == 0
        else:
            with pytest.raises(OutOfTime, match=r"stopped after 0\.0013\d* hours"):
                runner.run("python -m program", {}, lines.append, seconds=5)
    assert lines[:2] == ["1", "22"]


def test_a_program_that_ends_well_after_its_time_has_failed(tmp_path: Path, runner: Runner) -> None:
    """It catches the signal, and its result may be half made."""
    (tmp_path / "program.py").write_text(
        "import time\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    print('stopped')\n"
    )
    lines: list[str] = []
    with pytest.raises(OutOfTime):
        runner.run("python -m program", {}, lines.append, seconds=2)
    assert lines == ["stopped"]


@pytest.mark.parametrize("seconds", [None, 60])
def test_a_daemon_that_a_program_leaves_behind_keeps_nobody_waiting(tmp_path: Path, runner: Runner, seconds) -> None:
    """It has a session of its own, and the program's output is still open in it."""
    (tmp_path / "program.py").write_text(
        "import subprocess\nprint(subprocess.Popen(['sleep', '60'], start_new_session=True).pid)\n"
    )
    lines: list[str] = []
    began = time.monotonic()
    status = runner.run("python -m program", {}, lines.append, seconds)
    seconds_taken = time.monotonic() - began
    os.kill(int(lines[0]), signal.SIGKILL)
    assert status == 0
    assert seconds_taken < 30


def test_output_of_any_kind_becomes_lines(tmp_path: Path, runner: Runner) -> None:
    """Bars that a carriage return draws anew, bytes that are no text, and a line that is longer than a server takes."""
    letters = 3_000_000
    (tmp_path / "program.py").write_text(
        "import sys\nwrite = sys.stdout.buffer.write\n"
        f"write(b'1 %\\r2 %\\r\\n\\n\\xff \\xc3\\xa9\\n'); write(b'x' * {letters}); write(b'\\nend')\n"
    )
    lines: list[str] = []
    assert runner.run("python -m program", {}, lines.append) == 0
    assert lines[:3] == ["1 %", "2 %", "\N{REPLACEMENT CHARACTER} é"]
    assert "".join(lines[3:-1]) == "x" * letters
    assert max(map(len, lines)) < 1_000_000
    assert lines[-1] == "end"


IN_A_SCRIPT = """
import sys
from pathlib import Path
from flows.runner import Runner
runner = Runner(Path.cwd(), threads=1, libraries=())
statuses = [runner.run(command, {}, print) for command in ("cat", "python -m program")]
runner.close()
print(statuses, sys.stdin.readline().strip())
"""


def test_programs_leave_the_input_to_whoever_started_the_flow(tmp_path: Path) -> None:
    """For example to a loop of a shell over the lines of a file; `srun` reads all of its input."""
    (tmp_path / "program.py").write_text("import os\nprint(os.read(0, 100))\n")
    env = environment(tmp_path / "home", PYTHONPATH=str(ROOT))
    done = subprocess.run([sys.executable, "-c", IN_A_SCRIPT], cwd=tmp_path, env=env, input="the next key\n",
                          capture_output=True, text=True, timeout=60)  # fmt: skip
    assert done.stdout.splitlines() == ["b''", "[0, 0] the next key"], done.stderr
