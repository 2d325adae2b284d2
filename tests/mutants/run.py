"""Plant each mutant in a copy of the tree and run its tests: ``python -m tests.mutants.run`` (``make mutants``).

A result is kept in reports/mutants.json with a hash of the mutant, of the file that it changes and of the code that the
test that killed it needs. Only mutants without a result run, so a run that was killed goes on where it was.
docs/mutants.md has more.
"""

import argparse
import contextlib
import hashlib
import json
import multiprocessing
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gramlab.files import atomic
from tests.mutants.mutants import Mutant, read
from tests.mutants.needed import needed
from tests.mutants.order import Order, Ranks, Record, Records, ranks

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = Path("reports/mutants.json")
NOT_RUN = "not run"  # since the mutant, its file or its tests changed
SLOWER = 5  # a mutant's tests may take so many times as long as without it
# loaded before processes are copied from one another; torch alone takes seconds
LIBRARIES = [
    "torch",
    "torch._dynamo",
    "numpy",
    "pandas",
    "pyarrow.parquet",
    "scipy.stats",
    "scipy.optimize",
    "pydantic",
]
LIBRARIES += ["sympy", "yaml", "safetensors.torch", "sklearn.datasets", "pytest", "hypothesis"]
STATUS = "pytest ended with "
FAILURE = re.compile(r"(?:FAILED|ERROR) (.*?)(?: - .*)?$")  # a line of pytest's summary
PROCESSES = multiprocessing.get_context("forkserver")


@dataclass(frozen=True)
class Ending:
    """How tests ended: "survived" if all passed or else "killed", the test that failed first, and the seconds."""

    outcome: str
    by: str
    seconds: float
    records: Records = field(default_factory=dict)


def main() -> None:
    """Read the lists, run what has no result, write the results; exit with 1 if a mutant could not be judged."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.run", description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="GROUP", action="append", help="only the mutants of tests/mutants/GROUP.toml")
    parser.add_argument("--jobs", type=int, default=2, help="how many run at once (default 2)")
    parser.add_argument("--list", action="store_true", help="print the mutants and their last results, and run nothing")
    parser.add_argument("--tree", type=Path, default=ROOT, help="another project (default: this one)")
    parser.add_argument("--seconds", type=float, default=120, help="seconds allowed beyond 5 times a test's own time")
    options = parser.parse_args()
    mutants, old = read(options.tree), previous(options.tree)
    results = {mutant: current(options.tree, mutant, old) for mutant in mutants}
    if options.list:
        for mutant, result in results.items():
            print(f"{mutant.group}: {mutant.kind}: {mutant.name}: {result.get('result', NOT_RUN)}")
        return
    wanted = [mutant for mutant in mutants if not options.only or mutant.group in options.only]
    todo = [mutant for mutant in wanted if not results[mutant]]
    print(f"{len(mutants)} mutants, {len(todo)} to run")
    if todo:
        os.environ["OMP_NUM_THREADS"] = "1"  # read when torch loads; threads of several jobs only wait for each other
        PROCESSES.set_forkserver_preload(LIBRARIES if (options.tree / "gramlab").is_dir() else [])
        for mutant, result in judged(options.tree, todo, options.jobs, options.seconds):
            results[mutant] = result
            print(f"{mutant.group}: {mutant.name}: {result['result']} {result['by']}".rstrip(), flush=True)
            write(options.tree, results)
    write(options.tree, results)
    counts = [sum(result.get("result") == word for result in results.values()) for word in ("killed", "survived")]
    failed = [mutant for mutant in todo if results[mutant]["result"] not in ("killed", "survived")]
    print(f"{counts[0]} killed, {counts[1]} survived, {len(failed)} not judged")
    sys.exit(1 if failed else 0)


def previous(tree: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Results of earlier runs by group and name; those of mutants that were not judged are left out."""
    path = tree / RESULTS
    results = json.loads(path.read_text(encoding="utf-8"))["mutants"] if path.is_file() else []
    return {(row["group"], row["name"]): row for row in results if row["result"] in ("killed", "survived")}


def current(tree: Path, mutant: Mutant, old: dict[tuple[str, str], dict[str, Any]]) -> dict[str, Any]:
    """The result of an earlier run, if nothing that it depends on has changed."""
    row = old.get((mutant.group, mutant.name), {})
    return row if row and row["key"] == key(tree, mutant, row["by"]) else {}


def key(tree: Path, mutant: Mutant, by: str) -> str:
    """A hash of the mutant, of the file that it changes, and of the code of the test that killed it.

    Without a test that killed it, it depends on all its tests: a test that sees more kills more.
    """
    path = tree / mutant.file
    parts = [mutant.file, mutant.old, mutant.new, path.read_text(encoding="utf-8") if path.is_file() else ""]
    tests = [by] if (tree / file_of(by)).is_file() else sorted(mutant.tests)
    parts += [part for test in tests for part in (test, needed(tree, test))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def file_of(test: str) -> str:
    """The file, or folder, of a node id."""
    return test.split("::")[0]


def earlier(record: dict[str, Any]) -> dict[tuple[str, str], dict[str, str]]:
    """By group and name the last result of each mutant of a record, with the commit of the record that it stood in."""
    results = {}
    for row in record["mutants"]:
        if row["result"] in ("killed", "survived"):
            results[row["group"], row["name"]] = {"result": row["result"], "commit": record["commit"]}
        elif "earlier" in row:
            results[row["group"], row["name"]] = row["earlier"]
    return results


def write(tree: Path, results: dict[Mutant, dict[str, Any]]) -> None:
    """Write the results that are there, in the order of the lists, with the commit of the last run."""
    path = tree / RESULTS
    record = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"commit": "", "mutants": []}
    before, rows = earlier(record), []
    for mutant, result in results.items():  # one without a result is listed too, so that a score does not hide it
        row = {"group": mutant.group, "kind": mutant.kind, "name": mutant.name, "file": mutant.file}
        row |= result or {"result": NOT_RUN}
        if not result and (mutant.group, mutant.name) in before:
            row["earlier"] = before[mutant.group, mutant.name]
        rows.append({**row, "explained": mutant.explained})
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tree, capture_output=True, text=True).stdout.strip()
    if record["mutants"] == rows:
        return
    path.parent.mkdir(exist_ok=True)
    with atomic(path) as temporary:
        content = json.dumps({"commit": commit, "mutants": rows}, indent=1, ensure_ascii=False)
        temporary.write_text(content + "\n", encoding="utf-8")


def judged(tree: Path, mutants: list[Mutant], jobs: int, seconds: float) -> Iterator[tuple[Mutant, dict[str, Any]]]:
    """Yield the result of each mutant, as it comes; its tests run without any mutant first."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(jobs) as pool:
        copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for number in range(jobs):
            copies.put(copy(tree, Path(folder) / str(number)))

        files = test_files(mutants)
        clean: dict[str, Ending] = {}  # how the tests of a file end without a mutant

        def judge(mutant: Mutant) -> dict[str, Any]:
            with taken(copies) as copied:
                needed = list(dict.fromkeys(map(file_of, mutant.tests)))
                for name in needed:
                    if name not in clean:
                        clean[name] = run_tests(copied, files[name], 900, records=copied.parent / f"{copied.name}.json")
                return result_of(copied, mutant, [clean[name] for name in needed], seconds)

        futures = {pool.submit(judge, mutant): mutant for mutant in mutants}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def test_files(mutants: list[Mutant]) -> dict[str, tuple[str, ...]]:
    """What is run of each test file: the whole file, or the node ids that the mutants name."""
    named = {test for mutant in mutants for test in mutant.tests}
    files = sorted({file_of(test) for test in named})
    return {file: (file,) if file in named else tuple(sorted(t for t in named if file_of(t) == file)) for file in files}


@contextlib.contextmanager
def taken(copies: "queue.SimpleQueue[Path]") -> Iterator[Path]:
    """A copy that no other mutant is planted in meanwhile."""
    folder = copies.get()
    try:
        yield folder
    finally:
        copies.put(folder)


def copy(tree: Path, target: Path) -> Path:
    """Copy the tree as it stands, committed or not, to a git repository that some tests need."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=tree, capture_output=True, check=True).stdout.decode().split("\0")
    for name in filter(None, names):
        if (tree / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(tree / name, target / name)
    for command in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", *command], cwd=target, check=True, capture_output=True)
    return target


def result_of(copied: Path, mutant: Mutant, clean: list[Ending], seconds: float) -> dict[str, Any]:
    """Plant a mutant in a copy, run its tests, and mend the copy. ``clean`` is how its test files end without it."""
    result = {"result": "does not apply", "by": "", "change": [], "key": ""}
    if red := [ending.by for ending in clean if ending.outcome != "survived"]:
        return {**result, "result": "tests fail without it", "by": red[0]}
    path = copied / mutant.file
    source = path.read_text(encoding="utf-8") if path.is_file() else ""
    try:
        mutated = mutant.planted_in(source)
    except (ValueError, SyntaxError) as error:
        return {**result, "by": str(error)}
    limit = SLOWER * sum(ending.seconds for ending in clean) + seconds
    records = {test: record for ending in clean for test, record in ending.records.items()}
    path.write_text(mutated, encoding="utf-8")
    try:
        ending = run_tests(copied, mutant.tests, limit, ranks(records, mutant.file, source, mutant.lines(source)))
    finally:
        path.write_text(source, encoding="utf-8")
    by = {"by": ending.by, "key": key(copied, mutant, ending.by)}
    return {**result, **by, "result": ending.outcome, "change": mutant.change(source)}


def run_tests(
    copied: Path, tests: tuple[str, ...], limit: float, order: Ranks | None = None, records: Path | None = None
) -> Ending:
    """Run tests in a copy, in an order; ``records`` is a file for the records of the tests, if they are wanted."""
    log, start = copied.parent / f"{copied.name}.log", time.monotonic()
    log.unlink(missing_ok=True)
    plugin = Record(copied, records) if records else Order(order or {})
    process = PROCESSES.Process(target=pytest_in, args=(copied, tests, log, plugin))
    process.start()
    process.join(limit)
    seconds = time.monotonic() - start
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # the tests' own processes too
    process.join()
    if seconds >= limit:
        return Ending("killed", "the time limit", seconds)
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.is_file() else []
    if lines[-1:] == [STATUS + "0"]:
        return Ending("survived", "", seconds, Record.read(records) if records else {})
    failures = [failure.group(1) for line in lines if (failure := FAILURE.match(line))]
    return Ending("killed", failures[0] if failures else (lines or ["a crash"])[-1], seconds)


def pytest_in(copied: Path, tests: tuple[str, ...], log: Path, plugin: Order | Record) -> None:
    """Run pytest in a copy, in a process that has not yet imported anything of the project."""
    os.setsid()
    with log.open("wb") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    for name in [name for name in sys.modules if name.split(".")[0] in ("gramlab", "tasks", "flows", "tests")]:
        del sys.modules[name]
    # a mutant of the same length in the same second must not meet the bytecode of the one before
    sys.dont_write_bytecode = True
    # pytest loads the plugins that tests use, and none of the others that happen to be installed
    variables = {"PYTHONPATH": str(copied), "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    os.environ |= variables
    os.chdir(copied)
    sys.path[:] = [str(copied), *(path for path in sys.path if path and Path(path).resolve() not in (ROOT, copied))]
    import pytest
    from hypothesis import Phase, settings

    # the first example that fails is enough; the search for the smallest one takes minutes
    settings.register_profile("mutants", derandomize=True, deadline=None, phases=[Phase.explicit, Phase.generate])
    options = ["-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin"]
    status = int(pytest.main([*options, "--hypothesis-profile=mutants", *tests], plugins=[plugin]))
    sys.stdout.flush()  # what pytest printed last comes before the status, which is the last line
    # in the log, since two threads that ask for a process's exit status may both get a wrong one
    os.write(1, f"\n{STATUS}{status}\n".encode())


if __name__ == "__main__":
    main()
