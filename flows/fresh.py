"""Repeat every verdict of the quick scale, or of the atlas, on fresh seeds: ``python -m flows.fresh 11 12 13``.

Each root of the random streams has a copy of the project, ``.scratch/fresh/ROOT``, whose params.yaml names this root.
The flow runs in the copy, where DVC finds the stale stages. So an interrupted call goes on, and a change of code or
settings repeats only the stages that depend on it. reports/fresh.json counts how often each verdict came back. With
``--scale atlas`` the copy runs the whole atlas, and reports/atlas_fresh.json shows whether each cell's verdict came
back.
"""

import filecmp
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

from gramlab.cli.errors import run_program
from tasks.reporting.atlas.findings import findings
from tasks.reporting.comparison import table_hashes
from tasks.reporting.fresh import ATLAS_FILE, FILE, came_back, verdicts_of_cells
from tasks.reporting.keys import claim_key
from tasks.settings import load
from tasks.stage import commit, write_json

ROOT = Path(__file__).resolve().parent.parent
CODE = ("flows", "gramlab", "pipeline", "tasks")
ATLAS_KINDS = ("cells", "chart")  # kinds of the atlas's stages
OTHER_CLAIMS = "reports/quick/claims.json has other claims than params.yaml; `make repro` makes it anew"
WITHOUT_KEEP = "without --keep it is made anew"
NO_GIT = "[core]\n    no_scm = true\n[cache]\n    type = reflink,hardlink,copy\n"
# by scale: the record, the report that it is compared with, the command that makes this report, and the copy's target
RUNS = {"quick": (FILE, "reports/quick/claims.json", "make repro", "verdicts"),
        "atlas": (ATLAS_FILE, "reports/atlas.json", "make atlas", "chart@whole")}  # fmt: skip


def main(
    roots: Annotated[list[int], Argument(help="roots of the random streams; 0 is that of the report", min=1)],
    jobs: Annotated[int, Option(min=1, help="stages at once")] = 2,
    scale: Annotated[Literal["quick", "atlas"], Option(help="quick, or atlas for the map of all cells")] = "quick",
    keep: Annotated[bool, Option("--keep", help="keep the record of roots that ran before, here or elsewhere")] = False,
) -> None:
    """Run a scale once for each root, and count how often each verdict of the report came back."""
    if len(set(roots)) < len(roots):
        raise typer.BadParameter("each root counts once")
    record_file, report, command, target = RUNS[scale]
    if keep and scale == "atlas":
        raise typer.BadParameter("the atlas's record is made of all its roots at once")
    # first, because the roots take hours
    committed = _read(report, remedy := f"`{command}` makes it anew")
    if scale == "quick" and {claim_key(name) for name in committed} != set(load("quick").claims):
        raise typer.BadParameter(OTHER_CLAIMS)
    if keep:
        _read(record_file, WITHOUT_KEEP)
    copies = {root: copy(root) for root in roots}
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    failed = [str(root) for root in roots if run(copies[root], jobs, scale, target)]
    if failed:  # without it the roots would be chosen by their outcome
        print(f"{record_file} is not written: root {', '.join(failed)} failed", file=sys.stderr)
        raise SystemExit(1)
    # meanwhile the report may have been made anew, and another call may have added roots
    committed, recorded = _read(report, remedy), _read(record_file, WITHOUT_KEEP) if keep else {}
    if scale == "atlas":
        record = summary_of_cells(committed, copies)
        shares = f"{sum(cell['came back'] for cell in record['cells'].values())} of {len(record['cells']) * len(roots)}"
        last_line = f"{len(record['cells'])} cells on {len(roots)} roots; {shares} verdicts came back"
    else:
        record = with_recorded_roots(summary(committed, copies), recorded, committed)
        fragile = [name for name, claim in record["claims"].items() if claim["fragile"]]
        last_line = (
            f"{len(record['claims'])} claims on {len(record['roots'])} roots; fragile: {', '.join(fragile) or 'none'}"
        )
    write_json(ROOT / record_file, record)
    print(last_line)


def _read(path: str, remedy: str) -> dict[str, Any]:
    """A file of the project; where it is missing or damaged, one line that says what helps."""
    try:
        return json.loads((ROOT / path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise typer.BadParameter(f"{path} is missing; {remedy}") from error
    except ValueError as error:
        raise typer.BadParameter(f"{path} is damaged ({error}); {remedy}") from error


def copy(root: int) -> Path:
    """Bring the files of the root's copy of the project up to date, except the outputs of DVC's stages."""
    folder = ROOT / ".scratch" / "fresh" / str(root)
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = os.fsdecode(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)
    except (OSError, subprocess.CalledProcessError) as error:  # no git, or no repository
        reason = " ".join((getattr(error, "stderr", b"").decode(errors="replace") or str(error)).split())
        raise SystemExit(f"git cannot list the project's files: {reason}") from error
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


def run(folder: Path, jobs: int, scale: str, target: str) -> int:
    """Bring all verdicts in this copy up to date. Return the exit status of the flow."""
    print(f"root {folder.name}", flush=True)
    options = ["--scale", scale, "--root", str(folder), "--workers", str(jobs)]
    command = [sys.executable, "-m", "flows.reproduce", target, *options]
    # the project's folders: no root downloads data, and Prefect's server makes one database for all
    shared = {"PREFECT_HOME": str(ROOT / ".prefect"), **os.environ, "GRAMLAB_DATA": str(load("quick").machine.root())}
    process = subprocess.Popen(command, cwd=folder, env=shared)  # `subprocess.run` kills it soon after Ctrl-C
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.wait()  # the terminal sent it the signal too, and it ends its stages and itself
        raise
    except SystemExit:  # of SIGTERM, which this process alone received
        process.terminate()
        process.wait()
        raise


def summary(committed: dict[str, Any], copies: dict[int, Path]) -> dict[str, Any]:
    """The verdicts of the report and of each root on each claim, without claims whose table never changes."""
    settings = load("quick")
    verdicts = {root: _verdicts(folder) for root, folder in copies.items()}
    if any(root_verdicts.keys() != committed.keys() for root_verdicts in verdicts.values()):
        raise SystemExit(OTHER_CLAIMS)
    hashes = [table_hashes("quick", root=folder) for folder in (ROOT, *copies.values())]
    claims = {}
    for name, claim in committed.items():
        table = f"{settings.claims[claim_key(name)]}.parquet"
        if len({root_hashes.get(table) for root_hashes in hashes}) > 1:
            by_root = {str(root): root_verdicts[name] for root, root_verdicts in verdicts.items()}
            claims[name] = _counted(claim["verdict"], by_root, settings_hash(name))
    return {"scale": "quick", "commit": commit(), "roots": _roots(copies, of_atlas=False), "claims": claims}


def with_recorded_roots(record: dict[str, Any], recorded: dict[str, Any], committed: dict[str, Any]) -> dict[str, Any]:
    """The record joined with an older record that has other roots; each root names its commit.

    Older verdicts of a claim whose settings have changed since are left out.
    """
    older = {root: {"commit": recorded["commit"], **entry} for root, entry in recorded.get("roots", {}).items()
             if root not in record["roots"]}  # fmt: skip
    claims = {}
    for name, claim in committed.items():
        before, now = (source.get("claims", {}).get(name, {}) for source in (recorded, record))
        settings = settings_hash(name)
        # roots that ran before there were hashes count as having today's settings
        older_verdicts = {root: verdict for root, verdict in before.get("verdicts", {}).items()
                          if before.get("settings", {}).get(root, settings) == settings}  # fmt: skip
        if by_root := {**older_verdicts, **now.get("verdicts", {})}:
            claims[name] = _counted(claim["verdict"], by_root, settings)
    return {**record, "roots": {**older, **record["roots"]}, "claims": claims}


def settings_hash(claim: str) -> str:
    """A hash of what params.yaml says at the quick scale about the claim's experiment and its data."""
    settings = load("quick")
    experiment = settings.claims[claim_key(claim)]
    section = "train" if experiment in settings.train else "simulate"
    entries = [settings.entry(section, experiment)]
    if section == "train":
        entries.append(settings.entry("data", settings.train[experiment].data))
    return hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()[:12]


def _counted(verdict: str, by_root: dict[str, str], settings: str) -> dict[str, Any]:
    """A claim's entry in the record."""
    return {"verdict": verdict, "verdicts": by_root, "settings": dict.fromkeys(by_root, settings),
            **came_back(verdict, by_root)}  # fmt: skip


def summary_of_cells(committed: dict[str, Any], copies: dict[int, Path]) -> dict[str, Any]:
    """Each cell's verdicts on the map and on each root; by root the known answers and sentences that hold."""
    results = {str(root): _atlas(folder) for root, folder in copies.items()}
    map_verdicts = verdicts_of_cells(committed)
    verdicts = {root: verdicts_of_cells(result) for root, result in results.items()}
    if any(root_verdicts.keys() != map_verdicts.keys() for root_verdicts in verdicts.values()):
        raise SystemExit("reports/atlas.json has other cells than pipeline/atlas/cells.yaml; run `make atlas`")
    cells = {}
    for name, verdict in map_verdicts.items():
        by_root = {root: root_verdicts[name] for root, root_verdicts in verdicts.items()}
        cells[name] = {"verdict": verdict, "verdicts": by_root, **came_back(verdict, by_root)}
    return {
        "scale": "atlas", "commit": commit(), "roots": _roots(copies, of_atlas=True), "cells": cells,
        "known": {root: {row["cell"]: row["right"] for row in result["known"]} for root, result in results.items()},
        "sentences": {
            root: {sentence.key: sentence.agrees for sentence in findings(result)} for root, result in results.items()
        },
    }  # fmt: skip


def _atlas(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "reports" / "atlas.json").read_text(encoding="utf-8"))


def _verdicts(folder: Path) -> dict[str, str]:
    """The verdicts of a copy, by the claims' ids."""
    papers = [json.loads(path.read_text(encoding="utf-8")) for path in (folder / "data/quick/verdicts").glob("*.json")]
    return {verdict["id"]: verdict["verdict"] for paper in papers for verdict in paper.values()}


def _roots(copies: dict[int, Path], of_atlas: bool) -> dict[str, dict[str, float]]:
    """The seconds that the stages of each root took: the atlas's stages, or all others."""
    return {str(root): {"seconds": _seconds(folder, of_atlas)} for root, folder in copies.items()}


def _seconds(folder: Path, of_atlas: bool) -> float:
    """The seconds of the last run of each stage of a copy, so that repeated and interrupted calls do not count."""
    records = [path for path in (folder / "data" / "quick" / "provenance").glob("*.json")
               if (path.name.split("@")[0] in ATLAS_KINDS) == of_atlas]  # fmt: skip
    return round(sum(json.loads(path.read_text(encoding="utf-8"))["seconds"] for path in records), 1)


if __name__ == "__main__":
    run_program(main)
