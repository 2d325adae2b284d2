"""CONTRIBUTING.md's worked example: a fifth paper with one claim, from nothing to its verdict."""

import json
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", flags=re.S | re.M)


def test_the_worked_example_ends_in_a_verdict(copy_project, environment):
    there = copy_project("contributing")
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Debug one stage")[0]
    blocks = BLOCK.findall(text)
    assert [language for language, _ in blocks] == ["sh", "python", "python", "python", "yaml", "sh"]
    printed = ""
    for language, block in blocks:
        if language == "sh":
            done = subprocess.run(["sh", "-ec", block], cwd=there, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
            printed = done.stdout
        elif language == "python":
            (there / block.split("\n")[0].removeprefix("# ")).write_text(block.split("\n", 1)[1], encoding="utf-8")
        else:
            with (there / "params.yaml").open("a", encoding="utf-8") as file:
                file.write("\n" + block)
    assert '"verdict": "holds"' in printed
    verdict = json.loads((there / "data/quick/verdicts/example.json").read_text())["e_trace"]
    assert verdict["controls"] == {"all entries": {"rejected": True, "by": ["trace and norm"]}}
    # a fifth paper is a fifth folder: git sees new files, and the one section of params.yaml
    changed = subprocess.run(["git", "status", "--porcelain"], cwd=there, capture_output=True, text=True).stdout
    assert {line[:2] for line in changed.splitlines() if "params.yaml" not in line} == {"??"}
