"""The tutorial docs/tutorials/fifth-paper.md: a fifth paper with one claim, from nothing to its verdict."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEST = "tests/papers/example/test_e_swap.py"


def test_the_tutorial_ends_in_a_verdict(copy_project, environment, printed, programs):
    clone = copy_project("contributing")
    path = os.pathsep.join((str(programs), str(Path(sys.executable).parent), os.environ["PATH"]))
    text = (ROOT / "docs/tutorials/fifth-paper.md").read_text(encoding="utf-8")
    blocks = printed("docs/tutorials/fifth-paper.md")
    assert [block.language for block in blocks] == ["sh", "sh", "python", "python", "python", "sh"]
    output = []
    for block in blocks:
        if block.language == "sh":
            output.append(block.run(clone, {**environment, "PATH": path}))
        elif (code := block.text()).startswith("# "):  # a whole file, after its name
            file, content = code.removeprefix("# ").split("\n", 1)
            assert (clone / file).is_file(), "the command has not made it"
            (clone / file).write_text(content, encoding="utf-8")
        else:  # the last function of the test
            before, function, _ = (clone / TEST).read_text(encoding="utf-8").rpartition(code.split("\n")[0])
            assert function
            (clone / TEST).write_text(before + code, encoding="utf-8")
    (shown,) = re.findall(r"^```text\n(.*?)^```", text, flags=re.S | re.M)
    assert "tr(WᵀW)" in output[1]
    assert all(line in output[1].splitlines() and line in output[2].splitlines() for line in shown.splitlines())
    assert "2 passed" in output[2]
    entry = json.loads(subprocess.run([programs / "gramlab", "claims", "run", "e_swap", "--json"], cwd=clone,
                                      env=environment, capture_output=True, check=True).stdout)  # fmt: skip
    assert (entry["printed"], entry["verdict"]) == ("‖WᵀW‖_F = ‖WWᵀ‖_F", "holds")
    assert entry["controls"] == {"squared norm": {"rejected": True, "by": ["both norms"]}}
    # the whole paper is judged too, and git sees new files and one more section of params.yaml
    done = subprocess.run([sys.executable, "-m", "flows", "verdicts@example"], cwd=clone, env=environment,
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads((clone / "data/quick/verdicts/example.json").read_text())["e_swap"]["verdict"] == "holds"
    changed = subprocess.run(["git", "status", "--porcelain"], cwd=clone, capture_output=True, text=True).stdout
    assert {line[:2] for line in changed.splitlines() if "params.yaml" not in line} == {"??"}
    lint = subprocess.run(["ruff", "check", "tasks/papers/example", "tests/papers/example"], cwd=clone,
                          env={**environment, "PATH": path}, capture_output=True, text=True)  # fmt: skip
    assert lint.returncode == 0, lint.stdout
