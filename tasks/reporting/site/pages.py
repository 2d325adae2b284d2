"""The pages of the site: which there are, and what each is rendered from."""

import html
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from tasks.judging.calibration import AGAIN, DRAWS, error, limit
from tasks.judging.finding import CORRECTED_KINDS
from tasks.judging.monte_carlo import MOST
from tasks.judging.statement import REASONS as REASON_NAMES
from tasks.judging.verdict import VERDICTS as VERDICT_NAMES
from tasks.reporting import (
    authors,
    controls,
    fresh,
    in_short,
    kept,
    mutants,
    rows,
    speed,
    statements,
    typesetting,
    words,
)
from tasks.reporting.counterexamples import counterexample, derivation, derivations
from tasks.reporting.counts import NOT_RUN, printed_levels
from tasks.reporting.findings import about, findings
from tasks.reporting.guide import how_to_read
from tasks.reporting.mathematics import mathml
from tasks.reporting.prose import file_links, prose
from tasks.reporting.replies import replies
from tasks.reporting.site import atlas, choices, explore, glossary
from tasks.reporting.site.content import Claim, all_claims, all_papers, read
from tasks.settings import ROOT, SCALES

TEMPLATES = ROOT / "tasks" / "reporting" / "templates"
VERDICTS = dict(zip((*VERDICT_NAMES, NOT_RUN), (
    "every asserted statement that is judged is found to hold, and a control breaks each of them, or the page says why "
    "it needs no rejected control",
    "some asserted statement is not found to hold as printed. Each of these holds in a corrected form: with a formula "
    "that we derive, another setting, or a quantity that is computed in another way. The others that are judged hold "
    "as printed",
    "an asserted statement is refuted, at this scale's settings",
    "no asserted statement is refuted. Some are undecided, do not meet a condition, rest on a table that is out of "
    "date, or have no rejected control",
    "no asserted statement can be judged: the data are not here, the run takes too long, or the table has no "
    "numbers for them",
), strict=True))  # fmt: skip
REASONS = dict(zip(REASON_NAMES, (
    "the rule finds the opposite, after Holm's correction",
    "the paper states it under a condition that the measured networks do not meet",
    "the interval over the observations (seeds, or data sets) does not decide, alone or after Holm's correction "
    "over the paper's statements. More observations could decide",
    "the rule asks for the same in every run; some runs show it and some do not, so that more seeds would not decide",
    "the settings that were run are smaller than the paper's and miss a condition that the paper's meet, or cannot be "
    "compared with the print",
    "every control of a statement passes, or a control breaks none of the claim's statements",
    "the measured number differs from the printed number",
    "the table was measured before the statement or its condition was written; it has to be measured again",
    "it needs data that have to be downloaded, or a machine, that were not at hand",
    "its data can be had, and its run takes too long on the machine of this report",
), strict=True))  # fmt: skip
STAMPS = {
    "quick": "quick scale: reduced settings, and data that ship with a dependency",
    "paper": "paper scale: the papers' settings and data; each claim's page lists the exceptions",
}
FILTERS = {
    name: getattr(module, name)
    for module, names in (
        (words, ("condition", "condition_rows", "deciding_form", "hypotheses_by_text", "interval", "measured", "result",
                 "rule", "rule_without_counts", "statements_found", "statements_with", "verdict", "why")),
        (controls, ("breaking", "controls", "rejection", "waived")),
        (typesetting, ("number", "typeset")),
        (in_short, ("how_many", "in_short")),
        (statements, ("compared_with_print", "control_lines", "form_rows", "outcomes_in_forms", "why_not")),
    )
    for name in names
}  # fmt: skip
REPORTS = ROOT / "reports"


def all_pages() -> Iterator[tuple[str, str]]:
    """Every file of the site, as its path below ``reports`` and its text."""
    papers, claims = all_papers(), all_claims()
    shared: dict[str, Any] = {
        "papers": papers,
        "claims": claims,
        "verdicts": VERDICTS,
        "reasons": REASONS,
        "scales": SCALES,
        "stamps": STAMPS,
        "corrected_kinds": CORRECTED_KINDS,
        "terms": glossary.terms(),
        "explored": (explored := explore.views()),
        "differences": {scale: read(REPORTS / scale / "differences.json") or {} for scale in SCALES},
    }
    checks = {
        "authors": authors.compared(),
        "fresh": fresh.summary(),
        "mutants": mutants.summary(),
        "calibration": json.loads((REPORTS / "calibration.json").read_text(encoding="utf-8"))["rules"],
    }
    results = {scale: {claim.id: claim.results[scale] for claim in claims if scale in claim.results}
               for scale in SCALES}  # fmt: skip
    shared["counts"] = {scale: Counter(claim.verdict(scale) for claim in claims) for scale in SCALES}
    shared["printed_levels"] = printed_levels(results["paper"])
    shared["claims_by_id"] = lambda names: [claim for claim in claims if claim.id in names]
    shared["about"] = about()
    shared["sentences"] = cache(lambda address: findings(results, address))  # of the address of a claim's page
    page = Renderer(shared)
    yield "index.html", page("index.html", current="index")
    yield "README.md", page("README.md", **checks)
    yield "checks.html", page("checks.html", current="checks", **checks)
    content: dict[str, Any]
    kept_parts = {scale: kept.parts_kept_by_every_control(results[scale]) for scale in SCALES}
    stand_ins = {scale: kept.statements_with_stand_in(results[scale]) for scale in SCALES}
    content = {"calibration": checks["calibration"], "held": kept_parts, "stand_ins": stand_ins,
               "part_counts": {scale: kept.number_of_parts(results[scale]) for scale in SCALES},
               "draws": DRAWS, "error": error(DRAWS), "again": AGAIN * DRAWS, "error_again": error(AGAIN * DRAWS),
               "limit_again": limit(AGAIN * DRAWS), "most": f"{MOST:g}"}  # fmt: skip
    yield "controls.html", page("controls.html", current="controls", **content)
    for scale in SCALES:
        yield (f"controls/{scale}.html",
               page("controls_table.html", root="../", current="controls", scale=scale))  # fmt: skip
    measured: dict[str, Any] = {"speed": speed.compared(), "growth": speed.grown()}
    yield "speed.html", page("speed.html", current="speed", **measured)
    yield "glossary.html", page("glossary.html", current="glossary")
    yield "derivations.html", page("derivations.html", current="", derivations=derivations())
    guide, missing = how_to_read(results)
    content = {"guide": guide, "missing": missing}
    yield "how-to-read.html", page("how_to_read.html", current="how", **content)
    for paper in papers:
        of_paper = [claim for claim in claims if claim.paper == paper]
        yield (
            f"papers/{paper.letter}.html",
            page("paper.html", root="../", current=paper.letter, paper=paper, claims=of_paper),
        )
        if paper.letter in explored:
            views = {scale: explore.with_pictures(view) for scale, view in explored[paper.letter].items()}
            address = f"explore/{paper.letter}.html"
            yield address, page("explore.html", root="../", current=paper.letter, paper=paper, views=views)
    for index, claim in enumerate(claims):
        neighbours = {"before": claims[index - 1] if index else None,
                      "after": claims[index + 1] if index + 1 < len(claims) else None}  # fmt: skip
        content = {**claim_content(claim), **neighbours, "same_runs": same_runs(claim, claims), "claim": claim}
        content |= {"root": "../", "current": claim.paper.letter}
        yield f"claims/{claim.key}.html", page("claim.html", **content)
        yield f"claims/{claim.key}.md", page("claim.md", **content)
    yield from atlas.pages(page)
    for name in ("atlas.css", "site.css", "site.js", "explore.css", "explore.js"):
        yield f"assets/{name}", (TEMPLATES / name).read_text(encoding="utf-8")


class Renderer:
    """Renders templates with what all pages share."""

    def __init__(self, shared: dict[str, Any]):
        self.shared = shared
        self.environment = Environment(
            loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
            keep_trailing_newline=True, autoescape=lambda name: "html" in (name or ""),
        )  # fmt: skip
        self.environment.filters |= FILTERS
        self.environment.filters["terms"] = glossary.mark
        self.environment.filters["report_terms"] = glossary.mark_all
        self.environment.filters["prose"] = prose
        self.environment.filters["file_links"] = file_links
        self.environment.filters["words"] = lambda text: str(prose(text)).replace("&#39;", "'")  # in Markdown
        self.environment.filters["cell"] = lambda text: str(text).replace("|", "\\|").replace("\n", " ")
        self.environment.filters["per_scale"] = per_scale
        self.environment.filters["markdown"] = markdown
        self.environment.globals["met"] = words.MET
        self.environment.tests["has_reason"] = lambda claim, reason: reason in map(claim.reason, SCALES)

    def __call__(self, template: str, **content: Any) -> str:
        """The page; ``root`` leads from its folder to the site's."""
        defaults: dict[str, Any] = {"root": "", "seen": set()}
        return self.environment.get_template(template).render({**self.shared, **defaults, **content})


def per_scale(claim: Claim, name: str) -> list[tuple[str, str]]:
    """What a filter says of a claim's result, by scale; once where both scales have the same."""
    texts = {scale: FILTERS[name](claim.results[scale]) for scale in claim.scales_run}
    if len(texts) > 1 and len(set(texts.values())) == 1:
        return [("both", next(iter(texts.values())))]
    return list(texts.items())


def markdown(text: Markup) -> str:
    """A sentence, in which only links are HTML, as Markdown."""
    return html.unescape(re.sub(r'<a href="([^"]+)">(.*?)</a>', r"[\2](\1)", str(text)))


def claim_content(claim: Claim) -> dict[str, Any]:
    """What the page of a claim shows besides the claim."""
    program = counterexample(claim.paper.name, claim.key)
    full_tables = {scale: files for scale in claim.scales_run if (files := whole_table(claim.experiment, scale))}
    return {
        "math": {name: mathml(claim.formulas(name)) for name in ("MATH", "MATH_CORRECTED")},
        "counterexample": program.read_text(encoding="utf-8") if program else "",
        "counterexample_path": program.relative_to(ROOT).as_posix() if program else "",
        "derivation": derivation(claim.key),
        "replies": replies(ROOT / "replies", claim.key),
        "universes": choices.universes(claim.key),
        "violations": violations(claim),
        "tables": {scale: measured_rows(claim, scale) for scale in claim.scales_run},
        "full_tables": full_tables,
    }  # fmt: skip


def whole_table(experiment: str, scale: str) -> list[tuple[str, str, int]]:
    """The files with the whole table of an experiment: the name of the format, the path in the project, and kB."""
    formats = {"Parquet": "parquet", "CSV": "csv"}
    paths = {name: REPORTS / scale / "tables" / f"{experiment}.{kind}" for name, kind in formats.items()}
    return [(name, path.relative_to(ROOT).as_posix(), max(1, round(path.stat().st_size / 1000)))
            for name, path in paths.items() if path.is_file()]  # fmt: skip


def same_runs(claim: Claim, claims: list[Claim]) -> list[tuple[Claim, int]]:
    """The other claims that are judged on the claim's runs, and how many of its statements have the same numbers there.

    Claims on a simulation, which trains no network, are left out: its table has instances of their own for them.
    """
    if claim.experiment not in claim.settings.train:
        return []
    others = [other for other in claims if other.experiment == claim.experiment and other is not claim]
    return [(other, len(numbers_of(claim) & numbers_of(other))) for other in others]


def numbers_of(claim: Claim) -> set[tuple[str, float, str]]:
    """The statistics of a claim's asserted statements, with the scale and the rule."""
    return {(scale, statement["statistic"], statement["rule"]) for scale in claim.scales_run
            for statement in claim.results[scale]["statements"]
            if statement["forms"] and statement["kind"] == "asserted"}  # fmt: skip


def violations(claim: Claim) -> list[tuple[str, str]]:
    """The smallest violations of the printed and of the corrected form, each once, with the scales of the search.

    A search covers some of a claim's statements. That it found none says nothing where the print does not hold.
    """
    forms = {"claim": "as printed", "corrected": "as corrected"}
    wrong = claim.corrected or bool(claim.refuted)
    scales: dict[tuple[str, str], list[str]] = {}
    for scale in claim.scales_run:
        for arm, text in claim.results[scale]["smallest violations"].items():
            if arm in forms and not (wrong and arm == "claim" and text.startswith("none")):
                scales.setdefault((forms[arm], typesetting.typeset(text)), []).append(scale)
    where = {text: f"{' and '.join(names)} scale{'s' * (len(names) > 1)}" for text, names in scales.items()}
    return [(f"{form}, {where[form, text]}", text) for form, text in scales]


def measured_rows(claim: Claim, scale: str) -> dict[str, Any] | None:
    """The rows behind a claim as its page shows them; None where the results hold none."""
    path = REPORTS / scale / "rows" / f"{claim.key}.csv"
    if not path.is_file():
        return None
    downloaded = rows.read(path)
    table = rows.condensed(downloaded, rows.SHOWN)
    averaged = bool((table["rows"] > 1).any())
    names = {"value": "mean" if averaged else "value", "rows": "measurements"}
    columns = [name for name in table if name in ("quantity", "value") or table[name].nunique() > 1]
    ends = ("smallest", "largest", "rows")
    columns = [name for name in columns if name not in ends] + (list(ends) if averaged else [])
    return {
        "columns": [names.get(name, name) for name in columns],
        "rows": table[columns].to_numpy(object).tolist(),
        "averaged": averaged,
        "downloaded": len(downloaded),
        "measurements": int(downloaded["rows"].sum()),
        "files": {kind: f"{scale}/rows/{claim.key}.{kind}" for kind in ("csv", "parquet")},
    }
