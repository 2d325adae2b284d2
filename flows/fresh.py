"""Repeat every verdict of the quick scale on fresh seeds: ``python -m flows.fresh 11 12 13``.

Each root of the random streams has a copy of the project, ``.scratch/fresh/ROOT``, whose params.yaml names this root.
The flow runs in the copy, and DVC says there what is stale: a call that was interrupted goes on, and a change of code
or settings repeats only the stages that it concerns. reports/fresh.json says how often each verdict came back.
"""

import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from tasks.reporting.comparison import table_hashes
from tasks.reporting.fresh import FILE, came_back
from tasks.settings import load
from tasks.stage import commit, write_json

ROOT = Path(__file__).resolve().parent.parent
CODE = ("flows", "gramlab", "pipeline", "tasks")
NO_GIT = "[core]\n    no_scm = true\n[cache]\n    type = reflink,hardlink,copy\n"


def main(
    roots: Annotated[list[int], Argument(help="roots of the random streams; 0 is that of the report", min=1)],
    jobs: Annotated[int, Option(min=1, help="stages at once")] = 2,
) -> None:
    """Run the quick scale once for each root, and count how often each verdict of the report came back."""
    if len(set(roots)) < len(roots):
        raise typer.BadParameter("each root counts once")
    report = ROOT / "reports" / "quick" / "claims.json"
    if not report.is_file():
        raise typer.BadParameter("reports/quick/claims.json is missing; `make repro` makes it")
    copies = {root: copy(root) for root in roots}
    failed = [str(root) for root in roots if run(copies[root], jobs)]
    if failed:  # a root that is left out would be chosen by its outcome
        print(f"reports/fresh.json is not written: root {', '.join(failed)} failed", file=sys.stderr)
        raise SystemExit(1)
    record = summary(json.loads(report.read_text(encoding="utf-8")), copies)
    write_json(ROOT / FILE, record)
    fragile = [name for name, claim in record["claims"].items() if claim["fragile"]]
    print(f"{len(record['claims'])} claims on {len(roots)} roots; fragile: {', '.join(fragile) or 'none'}")


def copy(root: int) -> Path:
    """Bring the root's copy of the project up to date, and leave alone what DVC has made in it."""
    folder = ROOT / ".scratch" / "fresh" / str(root)
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    names = {name for name in names if not name.startswith("reports/") and Path(name).name != "dvc.lock"}
    for name in names - {"params.yaml"}:
        if not ((folder / name).is_file() and filecmp.cmp(ROOT / name, folder / name, shallow=False)):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    for path in (path for code in CODE for path in (folder / code).rglob("*")):
        generated = path.name == "dvc.lock" or path.suffix == ".pyc"
        if path.is_file() and not generated and path.relative_to(folder).as_posix() not in names:
            path.unlink()
    (folder / ".dvc" / "config.local").write_text(NO_GIT)
    settings = (ROOT / "params.yaml").read_text(encoding="utf-8")
    settings, count = re.subn(r"(?m)^(streams:\s+root: )\d+", rf"\g<1>{root}", settings)
    if count != 1:
        raise SystemExit("params.yaml: `streams:` must be followed by a line with `root:` and a whole number")
    (folder / "params.yaml").write_text(settings, encoding="utf-8")
    return folder


def run(folder: Path, jobs: int) -> int:
    """Bring all verdicts in this copy up to date; the exit status of the flow."""
    print(f"root {folder.name}", flush=True)
    command = [sys.executable, "-m", "flows.reproduce", "verdicts", "--root", str(folder), "--workers", str(jobs)]
    raw = str(load("quick").machine.root())  # the project's own, so that nothing is downloaded for each root
    return subprocess.run(command, cwd=folder, env={**os.environ, "GRAMLAB_DATA": raw}).returncode


def summary(committed: dict[str, Any], copies: dict[int, Path]) -> dict[str, Any]:
    """By claim the verdict of the report and that of each root; claims whose table never changes are left out."""
    settings = load("quick")
    verdicts = {root: _verdicts(folder) for root, folder in copies.items()}
    if any(each.keys() != committed.keys() for each in verdicts.values()):
        raise SystemExit("reports/quick/claims.json has other claims than params.yaml; `make repro` makes it anew")
    hashes = [table_hashes("quick", root=folder) for folder in (ROOT, *copies.values())]
    claims = {}
    for name, claim in committed.items():
        table = f"{settings.claims[name.lower().replace('.', '_')]}.parquet"
        if len({each.get(table) for each in hashes}) > 1:
            by_root = {str(root): each[name] for root, each in verdicts.items()}
            claims[name] = {"verdict": claim["verdict"], "verdicts": by_root, **came_back(claim["verdict"], by_root)}
    seconds = {str(root): {"seconds": _seconds(folder)} for root, folder in copies.items()}
    return {"scale": "quick", "commit": commit(), "roots": seconds, "claims": claims}


def _verdicts(folder: Path) -> dict[str, str]:
    """The verdicts of a copy, by the claims' ids."""
    papers = [json.loads(path.read_text(encoding="utf-8")) for path in (folder / "data/quick/verdicts").glob("*.json")]
    return {verdict["id"]: verdict["verdict"] for paper in papers for verdict in paper.values()}


def _seconds(folder: Path) -> float:
    """The seconds that the stages of a copy took; no repeated or interrupted call changes them."""
    records = (folder / "data" / "quick" / "provenance").glob("*.json")
    return round(sum(json.loads(path.read_text(encoding="utf-8"))["seconds"] for path in records), 1)


if __name__ == "__main__":
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    app.command()(main)
    app()
