"""The runner's forks: they run a program as a shell does, see the code as it is, and end in time."""

from collections.abc import Iterator
from pathlib import Path

import pytest

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
