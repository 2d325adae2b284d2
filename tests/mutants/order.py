"""In which order a mutant's tests run: first those that enter the function with the mistake, the fastest of them first.

The order changes which test kills a mutant, and how soon; it never changes whether the mutant is killed, since all of
its tests run until one fails.
"""

import ast
import json
import sys
import time
from pathlib import Path
from types import FrameType

import pytest

# of each test: its seconds, and the functions that it enters as "FILE:LINE", with the line that the function begins on
Records = dict[str, tuple[float, frozenset[str]]]
Ranks = dict[str, tuple[bool, float]]  # of each test: whether it stays outside the mistake, and its seconds


class Record:
    """Plugin of pytest that notes how long each test takes and which functions of the tree it enters."""

    def __init__(self, tree: Path, path: Path):
        self.prefix, self.path = f"{tree}/", path
        self.seconds: dict[str, float] = {}
        self.entered: dict[str, set[tuple[str, int]]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        """Time a test with its fixtures, and watch its calls; threads and processes that it starts are not watched."""
        entered = self.entered[item.nodeid] = set()

        def enter(frame: FrameType, event: str, argument: object) -> None:
            entered.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

        start, before = time.perf_counter(), sys.gettrace()
        sys.settrace(enter)
        try:
            return (yield)
        finally:
            sys.settrace(before)
            self.seconds[item.nodeid] = time.perf_counter() - start

    def pytest_sessionfinish(self):
        """Write the records."""
        rows = {}
        for test, entered in self.entered.items():
            inside = [(name, line) for name, line in entered if name.startswith(self.prefix)]
            rows[test] = (self.seconds[test], sorted(f"{name[len(self.prefix) :]}:{line}" for name, line in inside))
        self.path.write_text(json.dumps(rows), encoding="utf-8")

    @staticmethod
    def read(path: Path) -> Records:
        """Return the records that a run has written."""
        rows = json.loads(path.read_text(encoding="utf-8"))
        return {test: (seconds, frozenset(entered)) for test, (seconds, entered) in rows.items()}


class Order:
    """Plugin of pytest that sorts tests by their ranks; a test without a rank comes last."""

    def __init__(self, ranks: Ranks):
        self.ranks = ranks

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        """Sort the tests."""
        items.sort(key=lambda item: self.ranks.get(item.nodeid, (True, float("inf"))))


def ranks(records: Records, file: str, source: str, lines: list[int]) -> Ranks:
    """Return the rank of each test for a change of these lines of a file.

    Parameters
    ----------
    records
        What each test enters and how long it takes.
    file
        The file that changes, relative to the tree.
    source
        Its text before the change.
    lines
        The numbers of the lines that change.

    Returns
    -------
    dict
        Of each test whether it stays outside the functions of these lines, and its seconds. Lines outside all functions
        run when the module is imported, so no test is outside.
    """
    functions = functions_of(source, lines)
    places = {f"{file}:{line}" for line in functions}
    return {test: (bool(places) and not places & entered, seconds) for test, (seconds, entered) in records.items()}


def functions_of(source: str, lines: list[int]) -> set[int]:
    """Return the lines on which the innermost functions around these lines begin, with their decorators."""
    begins = set()
    functions = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    for line in lines:
        around = [function for function in functions if function.lineno <= line <= (function.end_lineno or line)]
        if around:
            innermost = max(around, key=lambda function: function.lineno)
            begins.add(min([innermost.lineno, *(decorator.lineno for decorator in innermost.decorator_list)]))
    return begins
