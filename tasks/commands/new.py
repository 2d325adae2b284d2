"""``gramlab new paper`` and ``gramlab new claim``: the files of a paper or a claim, complete and ready to be edited.

A new claim runs as it is: it states something true of random matrices, with a control that its rule rejects and tests
that pass. So each edit starts from a verdict that can be seen, and a claim that has not been edited is easy to see.
"""

import json
import keyword
import re
from pathlib import Path
from string import Template
from typing import Annotated, Literal

import typer
import yaml

from gramlab.arguments import did_you_mean
from gramlab.cli.errors import errors_in_one_line
from gramlab.files import BadInput, atomic
from tasks import papers
from tasks.reporting.keys import claim_key
from tasks.settings import ROOT, SCALES, SHARED, read

TEMPLATES = Path(__file__).parent / "templates"
FOLDERS = ("claims", "claims/shared", "experiments", "experiments/shared")
INSTANCES = "{paper: {instances: 100}, quick: {instances: 20}}"
AsJson = Annotated[bool, typer.Option("--json", help="print JSON in place of text")]

app = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode=None, help="Make the files of a claim or a paper."
)


@app.command()
def paper(
    name: Annotated[str, typer.Argument(help="the folder's name, of small letters, digits and _: two_layers")],
    letter: Annotated[str, typer.Option(help="the first letter of its claims' ids")],
    title: Annotated[str, typer.Option(help="the paper's title")],
    arxiv: Annotated[str, typer.Option(help="its number on arXiv")],
    as_json: AsJson = False,
) -> None:
    """Make the files of a paper. They are its folder, its stages and its section of params.yaml, without claims."""
    with errors_in_one_line("new paper"):
        known = papers.names()
        letters = {papers.paper(folder).LETTER: folder for folder in known}
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            raise BadInput(f"the name {name!r} must begin with a small letter and hold small letters, digits and _")
        # `from tasks.papers.class` is no Python, and the section `on:` of params.yaml would be called True
        if keyword.iskeyword(name) or yaml.safe_load(name) != name:
            raise BadInput(f"the name {name!r} is a word of Python's or YAML's own; choose another")
        if name in known or name in SHARED:
            raise BadInput(f"params.yaml has a section {name!r} already")
        if '"' in title + arxiv or "\\" in title + arxiv or not (title + arxiv).isprintable():
            raise BadInput("the title and the number must be one printable line without quotation mark and backslash")
        if empty := " and ".join(
            option for option, text in (("--title", title), ("--arxiv", arxiv)) if not text.strip()
        ):
            raise BadInput(f"{empty} must not be empty")
        if not re.fullmatch(r"[A-Z]", letter):
            raise BadInput(f"the letter must be one capital letter, not {letter!r}")
        if letter in letters:
            raise BadInput(f"the letter {letter} is that of {letters[letter]}; taken: {', '.join(sorted(letters))}")
        model = known[0]  # the stages of all papers are the same but for the paper's name
        code = f"tasks/papers/{name}"
        content = {f"{code}/__init__.py": _filled("paper.py", letter=letter, title=title, arxiv=arxiv)}
        for folder in FOLDERS:
            of_model = ROOT / "tasks/papers" / model / folder / "__init__.py"
            content[f"{code}/{folder}/__init__.py"] = of_model.read_text(encoding="utf-8")
        for scale in SCALES:
            stages = (ROOT / "pipeline" / scale / model / "dvc.yaml").read_text(encoding="utf-8")
            stages = stages.replace(model, name).replace(f"paper {papers.paper(model).LETTER}", f"paper {letter}")
            content[f"pipeline/{scale}/{name}/dvc.yaml"] = stages
        settings = (ROOT / "params.yaml").read_text(encoding="utf-8")
        rule = "# " + "-" * 111
        section = f"\n{rule}\n# Paper {letter}: {title}\n{name}:\n  train: {{}}\n  simulate: {{}}\n  claims: {{}}\n"
        _write(content, settings + section, as_json, f"make a claim: gramlab new claim {letter}.NAME")


@app.command()
def claim(
    id: Annotated[str, typer.Argument(help="the claim's id: the paper's letter, a dot and a name, such as A.thm7")],
    kind: Annotated[
        Literal["exact", "bound", "statistical"],
        typer.Option(help="exact: an identity; bound: an inequality on every instance; statistical: over seeds"),
    ] = "exact",
    experiment: Annotated[
        str | None, typer.Option(help="judge it on the table of this experiment, and make no new experiment")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make the files of a claim. The claim, its experiment, its test and its settings run as they are."""
    with errors_in_one_line("new claim"):
        letters = {papers.paper(name).LETTER: name for name in papers.names()}
        if not re.fullmatch(r"[A-Z]\.[A-Za-z][A-Za-z0-9.]*", id):
            raise BadInput(f"{id!r} is no id; an id is a paper's letter, a dot and a name, such as A.thm7")
        if id[0] not in letters:
            raise BadInput(f"no paper has the letter {id[0]}; the letters are {', '.join(sorted(letters))}")
        folder, key = letters[id[0]], claim_key(id)
        raw = read()
        sections = [raw.get(name) or {} for name in letters.values()]
        if any(key in (section.get("claims") or {}) for section in sections):
            raise BadInput(f"params.yaml has a claim {key!r} already")
        known = [name for section in sections for kind in ("train", "simulate") for name in section.get(kind) or {}]
        if experiment is not None and experiment not in known:
            raise BadInput(f"no experiment {experiment!r}{did_you_mean(experiment, known)}")
        if experiment is None and key in known:
            raise BadInput(f"params.yaml has an experiment {key!r} already; to judge on it: --experiment {key}")
        words = {"id": id, "key": key, "letter": id[0], "paper": folder, "experiment": experiment or key}
        content = {f"tasks/papers/{folder}/claims/{key}.py": _filled(f"claim_{kind}.py", **words)}
        settings = (ROOT / "params.yaml").read_text(encoding="utf-8")
        if experiment is None:
            content[f"tasks/papers/{folder}/experiments/{key}.py"] = _filled(f"experiment_{kind}.py", **words)
            content[f"tests/papers/{folder}/test_{key}.py"] = _filled(f"test_{kind}.py", **words)
            settings = add_entry(settings, folder, "simulate", f"{key}: {INSTANCES}")
        settings = add_entry(settings, folder, "claims", f"{key}: {experiment or key}")
        _write(content, settings, as_json, f"edit the files, then: gramlab claims run {key}")


def add_entry(text: str, paper: str, section: str, entry: str) -> str:
    """params.yaml with an entry at the end of a section of a paper; comments and layout stay.

    Raises
    ------
    BadInput
        If the text is laid out in another way than params.yaml is, so that the entry has no clear place.
    """
    lines = text.splitlines(keepends=True)
    begin = _line(lines, rf"{paper}:\s*(#.*)?$", 0, len(lines))
    end = next((number for number in range(begin + 1, len(lines)) if re.match(r"[a-z]", lines[number])), len(lines))
    start = _line(lines, rf"  {section}:", begin, end)
    lines[start] = re.sub(r"\{\}", "", lines[start], count=1).rstrip() + "\n"
    last = start
    while last + 1 < end and re.match(r"    |\s*$", lines[last + 1]):
        last += 1
    while not lines[last].strip():
        last -= 1
    lines[last] = lines[last].rstrip("\n") + "\n"
    lines.insert(last + 1, f"    {entry}\n")
    changed = "".join(lines)
    expected = yaml.safe_load(text)
    expected[paper][section] = {**(expected[paper][section] or {}), **yaml.safe_load(entry)}
    try:
        if yaml.safe_load(changed) == expected:
            return changed
    except yaml.YAMLError:
        pass
    raise BadInput(f"params.yaml: {paper}.{section} is laid out otherwise than expected; add there: {entry}")


def _line(lines: list[str], pattern: str, begin: int, end: int) -> int:
    for number in range(begin, end):
        if re.match(pattern, lines[number]):
            return number
    raise BadInput(f"params.yaml has no line {pattern.split(':')[0].strip()!r}")


def _filled(template: str, **words: str) -> str:
    return Template((TEMPLATES / f"{template}.txt").read_text(encoding="utf-8")).substitute(words)


def _write(content: dict[str, str], settings: str, as_json: bool, hint: str = "") -> None:
    """Write new files and params.yaml, or nothing where one of the files is there; print their names."""
    for path in content:
        if (ROOT / path).exists():
            raise BadInput(f"{path} is there already")
    line_end = "\r\n" if b"\r\n" in (ROOT / "params.yaml").read_bytes() else "\n"  # params.yaml keeps its own
    for path, text in {**content, "params.yaml": settings}.items():
        with atomic(ROOT / path) as temporary:
            temporary.write_text(text, encoding="utf-8", newline=line_end if path == "params.yaml" else "\n")
    if as_json:
        typer.echo(json.dumps({"files": list(content), "changed": ["params.yaml"]}, indent=2))
        return
    for path in content:
        typer.echo(f"new: {path}")
    typer.echo("changed: params.yaml")
    if hint:
        typer.echo(hint)
