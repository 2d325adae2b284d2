"""The tutorial docs/tutorials/fifth-paper.md: a fifth paper with one claim, from nothing to its verdict."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^<!-- run by tests/test_fifth_paper\.py -->\n```(\w+)\n(.*?)^```", flags=re.S | re.M)
TEST = "tests/papers/example/test_e_swap.py"


def test_the_tutorial_ends_in_a_verdict(copy_project, environment, tmp_path):
    clone = copy_project("contributing")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "gramlab").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gramlab.cli "$@"\n')
    (programs / "gramlab").chmod(0o755)
    path = os.pathsep.join((str(programs), str(Path(sys.executable).parent), os.environ["PATH"]))
    text = (ROOT / "docs/tutorials/fifth-paper.md").read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    assert [language for language, _ in blocks] == ["sh", "sh", "python", "python", "python", "sh"]
    printed = []
    for language, block in blocks:
        if language == "sh":
            done = subprocess.run(["sh", "-ec", block], cwd=clone, env={**environment, "PATH": path},
                                  capture_output=True, text=True)  # fmt: skip
            assert done.returncode == 0, done.stdout + done.stderr
            printed.append(done.stdout)
        elif block.startswith("# "):  # a whole file, after its name
            file, content = block.removeprefix("# ").split("\n", 1)
            assert (clone / file).is_file(), "the command has not made it"
            (clone / file).write_text(content, encoding="utf-8")
        else:  # the last function of the test
            before, function, _ = (clone / TEST).read_text(encoding="utf-8").rpartition(block.split("\n")[0])
            assert function
            (clone / TEST).write_text(before + block, encoding="utf-8")
    (shown,) = re.findall(r"^```text\n(.*?)^```", text, flags=re.S | re.M)
    assert "tr(WᵀW)" in printed[1]
    assert all(line in printed[1].splitlines() and line in printed[2].splitlines() for line in shown.splitlines())
    assert "2 passed" in printed[2]
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
