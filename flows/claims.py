"""``gramlab claims run``: bring the stages of a claim up to date, and judge the claim."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from gramlab import tables
from gramlab.arguments import did_you_mean
from gramlab.cli.errors import errors_in_one_line
from gramlab.cli.printing import print_json
from gramlab.files import BadInput
from tasks import papers
from tasks.commands.claims import AsJson, AtScale, Claim, app, describe, key_of, report
from tasks.judging.finding import number_asserted
from tasks.judging.verdict import judge
from tasks.settings import ROOT, load


@app.command()
def run(
    claim: Claim,
    scale: AtScale = "quick",
    force: Annotated[bool, typer.Option("--force", "-f", help="run also what is up to date")] = False,
    as_json: AsJson = False,
) -> None:
    """Run the stale stages of a claim and judge it. The paper's other claims count as in the report."""
    with errors_in_one_line("claims run"):
        settings = load(scale)
        key = key_of(claim, settings.claims)
        with _stdout_to_stderr():
            succeeded = _bring_up_to_date(key, scale, force)
        if succeeded:
            finding = ROOT / "data" / scale / "findings" / settings.paper[key] / f"{key}.json"
            entry = judged(json.loads(finding.read_text(encoding="utf-8")), key, scale)
            print_json(entry) if as_json else describe(entry)
        missing = missing_quantities(key, scale)
        for line in missing:
            typer.echo(f"gramlab claims run: {line}", err=True)
        if missing or not succeeded:
            raise typer.Exit(1)


def _bring_up_to_date(key: str, scale: str, force: bool) -> bool:
    from flows.__main__ import bring_up_to_date
    from flows.graph import Graph
    from flows.turn import OtherMachine, turn

    os.chdir(ROOT)  # DVC takes some paths from the working directory
    try:
        with turn(ROOT, print):
            return bring_up_to_date(Graph(ROOT, scale), [f"check@{key}"], force)
    except OtherMachine as error:
        raise BadInput(str(error)) from error


def missing_quantities(key: str, scale: str) -> list[str]:
    """Lines on the quantities that the claim's statements read and its experiment's table lacks."""
    settings = load(scale)
    claim = papers.claim(settings.paper[key], key)
    table = ROOT / "data" / scale / "tables" / f"{settings.claims[key]}.parquet"
    if not table.is_file():
        return []
    columns = tables.read(table).select(["arm", "quantity"]).to_pandas()
    known = set(columns.loc[columns["arm"] == "claim", "quantity"])
    return [
        f"{claim.ID}, {statement.name}: the table has no quantity {quantity!r}{did_you_mean(quantity, known)}"
        for statement in claim.STATEMENTS
        if scale in statement.scales and not statement.data_sets
        for quantity in statement.reads
        if quantity not in known
    ]


@contextmanager
def _stdout_to_stderr() -> Iterator[None]:
    """Send the output of this block and of the stages' programs to stderr, so that stdout shows the claim alone."""
    sys.stdout.flush()
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(stdout, 1)
        os.close(stdout)


def judged(finding: dict[str, Any], key: str, scale: str) -> dict[str, Any]:
    """The verdict on the finding of a claim, with Holm's correction over the claims of its paper."""
    settings = load(scale)
    paper = settings.paper[key]
    try:
        committed = report(scale)
    except BadInput:  # no report yet
        committed = {}
    letter = papers.paper(paper).LETTER
    others = {name: _tests(entry) for name, entry in committed.items() if entry["paper"] == letter and name != key}
    missing = set(settings.claims_of(paper)) - {key, *others}
    waiting = sum(number_asserted(papers.claim(paper, name)) for name in missing)
    return {**judge({key: finding, **others}, waiting)[key], "key": key}


def _tests(entry: dict[str, Any]) -> dict[str, Any]:
    """The part of another claim's report that Holm's correction needs; the report may be older than the rules."""
    asserted = [statement for statement in entry.get("statements", ()) if statement["kind"] == "asserted"]
    ran = any(statement["forms"] for statement in asserted)
    return {"statements": asserted if ran else [], "hypotheses": [], "ran": ran, "tests": entry["asserted"]}
