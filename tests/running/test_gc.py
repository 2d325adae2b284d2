"""`dvc gc`, as docs/how-to/recovery.md says: what it keeps, and what it removes."""

import subprocess
import sys
from pathlib import Path

import dummy_project
from dummy_project import ROOT, begun, call


def simulate(project: Path, version: str, *scales: str) -> dict[str, Path]:
    """Run a simulation with other code, which leaves another result; the objects of its table, by scale."""
    program = dummy_project.PROGRAM.replace("else name)", f"else f'{{name}} {{out}} {version}')")
    assert program != dummy_project.PROGRAM
    (project / "stage.py").write_text(program)
    env = {**dummy_project.environment(project / "home"), "PYTHONPATH": str(ROOT)}
    for scale in scales:
        command = [sys.executable, "-m", "flows", "simulate@s0", "--scale", scale]
        subprocess.run(command, cwd=project, env=env, check=True, capture_output=True)
    return {scale: stored(project, f'"simulate@s0 data/{scale}/tables/s0.parquet {version}"') for scale in scales}


def stored(project: Path, content: str) -> Path:
    """The object of DVC's cache with this content."""
    (path,) = [
        path
        for path in (project / ".dvc/cache/files/md5").glob("*/*")
        if path.is_file() and path.read_text() == content
    ]
    return path


def commit(project: Path) -> None:
    call("git", "add", "--all", cwd=project)
    call("git", "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "-m", "run", cwd=project)


def test_it_keeps_what_the_page_says_and_no_more(project: Path, printed) -> None:
    (block,) = printed("docs/how-to/recovery.md")
    of_the_workspace, of_all_branches = block.commands()
    first = simulate(project, "one", "quick", "paper")
    commit(project)
    call("git", "branch", "other", cwd=project)
    committed = simulate(project, "two", "quick")["quick"]
    commit(project)
    forgotten = simulate(project, "three", "quick")["quick"]
    current = simulate(project, "four", "quick")["quick"]
    everything = {*first.values(), committed, forgotten, current}
    assert len(everything) == 5

    def left(command: list[str]) -> set[Path]:
        call(*command, "--quiet", "--force", cwd=project)  # without its question
        return {path for path in everything if path.exists()}

    assert left(of_all_branches) == everything - {forgotten}
    assert left(of_the_workspace) == {first["paper"], current}, "both scales' locks count"
    ran = len(begun(project))
    simulate(project, "two", "quick")
    assert len(begun(project)) == ran + 1, "what was removed is computed again"
