"""``gramlab claims list`` and ``show``: the committed verdicts, and what each rests on."""

import json
from collections.abc import Iterable
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table

from gramlab.arguments import did_you_mean
from gramlab.cli.errors import errors_in_one_line
from gramlab.cli.printing import print_json
from gramlab.files import BadInput
from tasks import papers
from tasks.judging.statement import reason_not_run
from tasks.reporting.controls import controls
from tasks.reporting.counts import VERDICTS, counts
from tasks.reporting.keys import claim_key
from tasks.reporting.words import estimate
from tasks.settings import ROOT, SCALES, load

Scale = Literal["quick", "paper"]
AtScale = Annotated[Scale, typer.Option(help="quick, or the papers' own scale")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON in place of text")]

app = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode=None, help="List, show and judge the papers' claims."
)


def keys(incomplete: str) -> list[str]:
    """The keys of the claims that begin so, for the shell's completion."""
    return [key for key in load("quick").claims if key.startswith(incomplete.lower())]


Claim = Annotated[str, typer.Argument(help="the claim's id or key: A.fig7 or a_fig7", autocompletion=keys)]


def report(scale: str) -> dict[str, Any]:
    """The claims of a scale's report by key; BadInput where there is no report."""
    path = ROOT / "reports" / scale / "claims.json"
    try:
        claims = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # no JSON, or a file that ends within a letter
        maker = "make paper" if scale == "paper" else "make repro"
        raise BadInput(f"{path.relative_to(ROOT)} cannot be read ({error}); `{maker}` makes it anew") from error
    return {claim["key"]: claim for claim in claims.values()}


def all_claims(scale: str) -> dict[str, Any]:
    """All claims by key: those of the scale's report, and as "not run" the others that params.yaml names."""
    reported, settings = report(scale), load(scale)
    return {key: reported.get(key) or _not_in_the_report(settings.paper[key], key, scale) for key in settings.claims}


def _not_in_the_report(paper: str, key: str, scale: str) -> dict[str, Any]:
    claim = papers.claim(paper, key)
    return {
        "id": claim.ID,
        "key": key,
        "paper": papers.paper(paper).LETTER,
        "title": claim.TITLE,
        "statement": " ".join((claim.__doc__ or "").split()),
        "printed": claim.PRINTED,
        "correction": getattr(claim, "CORRECTION", ""),
        "experiment": load(scale).claims[key],
        "scale": scale,
        "verdict": "not run",
        "reason": reason_not_run(getattr(claim, "NEEDS", "")),
        "supported": 0,
        "asserted": sum(statement.kind == "asserted" for statement in claim.STATEMENTS),
    }


def key_of(name: str, known: Iterable[str]) -> str:
    """The key of the claim with this id or key. An unknown name is a BadInput that names the nearest claim."""
    key, known = claim_key(name), list(known)
    if key not in known:
        raise BadInput(f"no claim {name!r}{did_you_mean(name, _names(known) if '.' in name else known)}")
    return key


def _names(keys: Iterable[str]) -> list[str]:
    paper = load("quick").paper
    return [str(papers.claim(paper[key], key).ID) for key in keys]


@app.command("list")
def list_claims(
    scale: AtScale = "quick",
    paper: Annotated[str | None, typer.Option(help="only of this paper: its letter or its folder")] = None,
    verdict: Annotated[str | None, typer.Option(help=f"only with this verdict: {', '.join(VERDICTS)}")] = None,
    as_json: AsJson = False,
) -> None:
    """List the claims with their verdicts."""
    with errors_in_one_line("claims list"):
        claims = all_claims(scale)
        if paper is not None:
            letters = {name: papers.paper(name).LETTER for name in papers.names()}
            letter = letters.get(paper, paper.upper())
            if letter not in letters.values():
                raise BadInput(f"no paper {paper!r}; the papers are {_named(letters)}{did_you_mean(paper, letters)}")
            claims = {key: claim for key, claim in claims.items() if claim["paper"] == letter}
        if verdict is not None:
            if verdict not in VERDICTS:
                known = f"the verdicts are {', '.join(VERDICTS)}{did_you_mean(verdict, VERDICTS)}"
                raise BadInput(f"no verdict {verdict!r}; {known}")
            claims = {key: claim for key, claim in claims.items() if claim["verdict"] == verdict}
        if as_json:
            names = ("id", "key", "paper", "title", "verdict", "reason", "supported", "asserted")
            print_json([{name: claim[name] for name in names} for claim in claims.values()])
            return
        table = Table("claim", "title", "verdict", "why", "statements supported")
        for claim in claims.values():
            supported = f"{claim['supported']} of {claim['asserted']}"
            table.add_row(claim["id"], claim["title"], claim["verdict"], claim["reason"], supported)
        console().print(table)
        counted = counts({claim["id"]: claim for claim in claims.values()})
        number_of = {name: number for name, number in counted.items() if isinstance(number, int)}
        total = number_of.pop("claims")
        shown = ", ".join(f"{number} {name}" for name, number in number_of.items() if number)
        typer.echo(f"{total} claim{'' if total == 1 else 's'}: {shown}")


def _named(letters: dict[str, str]) -> str:
    return ", ".join(f"{letter} ({name})" for name, letter in sorted(letters.items(), key=lambda item: item[1]))


@app.command()
def show(claim: Claim, scale: AtScale = "quick", as_json: AsJson = False) -> None:
    """Show a claim. Print its statements with what was measured, its controls, and the files it rests on."""
    with errors_in_one_line("claims show"):
        claims = all_claims(scale)
        entry = claims[key_of(claim, claims)]
        other = next(name for name in SCALES if name != scale)
        elsewhere = _report_if_there(other).get(entry["key"])
        if as_json:
            print_json(entry)
            return
        describe(entry)
        if elsewhere:
            typer.echo(f"verdict at the {other} scale: {_verdict(elsewhere)}")
        typer.echo(f"judge it anew: gramlab claims run {entry['key']}")


def describe(entry: dict[str, Any]) -> None:
    """Print a claim, its verdict, its statements and controls, and the files that it rests on."""
    typer.echo(f"{entry['id']}: {entry['title']}")
    typer.echo(f"{entry['statement']}\n")
    typer.echo(f"printed: {entry['printed']}")
    if entry["correction"]:
        typer.echo(f"corrected: {entry['correction']}")
    typer.echo(f"verdict at the {entry['scale']} scale: {_verdict(entry)}")
    table = Table("statement", "kind", "verdict", "printed", "measured")
    statements = entry.get("statements", ())
    for statement in statements:
        measured = statement.get("measured") or (estimate(statement) if statement["forms"] else "")
        table.add_row(statement["name"], statement["kind"], _verdict(statement), statement["printed"], measured)
    if statements:  # else it was not run
        console().print(table)
        typer.echo(f"controls: {controls(entry)}")
    for path in files(entry):
        typer.echo(f"  {path}")


def _verdict(judged: dict[str, Any]) -> str:
    return judged["verdict"] + (f" ({judged['reason']})" if judged["reason"] else "")


def files(entry: dict[str, Any]) -> list[str]:
    """The files of a claim: its code, its figure and its table, as far as they are here."""
    settings = load("quick")
    key, paper = entry["key"], settings.paper[entry["key"]]
    code, data, experiment = f"tasks/papers/{paper}", f"data/{entry['scale']}", entry["experiment"]
    named = [f"{code}/claims/{key}.py", f"{code}/experiments/{experiment}.py", f"{code}/counterexamples/{key}.py",
             f"{data}/tables/{experiment}.parquet", f"{data}/figures/{key}.svg",
             f"reports/{entry['scale']}/figures/{key}.svg"]  # fmt: skip
    return [path for path in named if (ROOT / path).is_file()]


def _report_if_there(scale: str) -> dict[str, Any]:
    try:
        return report(scale)
    except BadInput:
        return {}


def console() -> Console:
    """A console with the terminal's width, or of 150 columns where the output is no terminal."""
    terminal = Console()
    return terminal if terminal.is_terminal else Console(width=150)
