"""Snippets that a page marks ``<!-- run by tests/FILE.py -->``, for that test; the fixture ``printed`` gives them."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MARKED = re.compile(r"^<!-- run by (\S+) -->\n```(\w+)\n(.*?)^```", flags=re.S | re.M)


class Block:
    """A snippet as it is printed. ``is_used`` says whether the test has run it, or has taken its text to the end."""

    def __init__(self, language: str, code: str):
        self.language, self.is_used = language, False
        self._code = code

    def run(self, cwd: Path, env: dict[str, str], timeout: float | None = None) -> str:
        """Run a snippet of sh and return what it prints; an error where it fails."""
        assert self.language == "sh"
        self.is_used = True
        done = subprocess.run(["sh", "-ec", self._code], cwd=cwd, env=env, capture_output=True, text=True,
                              timeout=timeout)  # fmt: skip
        assert done.returncode == 0, f"{self._code}{done.stdout}{done.stderr}"
        return done.stdout

    def commands(self) -> Iterator[list[str]]:
        """The words of each command, for a test that cannot run them in one shell: servers, a reader's folder."""
        assert self.language == "sh"
        yield from filter(None, (shlex.split(line, comments=True) for line in self._code.splitlines()))
        self.is_used = True

    def text(self) -> str:
        """The text, for a test that writes it into a file."""
        self.is_used = True
        return self._code


def blocks(page: str, test: Path) -> list[Block]:
    """The snippets of a page that name this test, in the page's order."""
    marked = MARKED.findall((ROOT / page).read_text(encoding="utf-8"))
    name = test.relative_to(ROOT).as_posix()
    return [Block(language, code) for file, language, code in marked if file == name]
