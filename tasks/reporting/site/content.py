"""What the site shows: the papers, and each claim with its verdicts at both scales.

Everything is read from files that git holds: the results in ``reports/SCALE``, the papers' folders, params.yaml. So the
site can be made in a fresh clone, and a quick run shows the committed verdicts of the paper scale beside its own.
"""

import json
import tomllib
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from tasks import papers
from tasks.judging.statement import OLD_TABLE, reason_not_run
from tasks.reporting.counts import NOT_RUN
from tasks.reporting.fresh import fresh_runs
from tasks.reporting.in_short import PAPER_WORDS, in_short
from tasks.reporting.settings import left_out, settings_of, stages_of
from tasks.reporting.statements import control_lines, form_rows, outcomes
from tasks.reporting.words import deciding_part, unit
from tasks.settings import ROOT, SCALES, Settings, load

NEEDS = Path(__file__).resolve().parent.parent / "needs.toml"
Result = dict[str, Any]


@dataclass(frozen=True)
class Paper:
    """A paper: its folder's name, letter, title and number at arXiv."""

    name: str
    letter: str
    title: str
    arxiv: str


@dataclass(frozen=True)
class Claim:
    """A claim and what was found at each scale; ``results`` has no entry for a scale without a report."""

    key: str
    paper: Paper
    settings: Settings
    results: dict[str, Result]
    fresh: dict[str, Any] | None = None
    waiting: dict[str, str] = field(default_factory=dict)  # by scale, why it did not run

    @cached_property
    def about(self) -> Result:
        """The texts of the claim: title, statement, printed form, correction."""
        return self.results.get("quick") or self.results["paper"]

    @property
    def paragraphs(self) -> list[str]:
        """What it says, in our words. The results hold it as one line; the claim's file knows its paragraphs."""
        recorded = self.about["statement"]
        text = papers.claim(self.paper.name, self.key).__doc__ or ""
        paragraphs = [" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n")]
        # a check that is older than the file has recorded other words
        return paragraphs if " ".join(paragraphs) == recorded else [recorded]

    @property
    def id(self) -> str:
        """Its name in the report."""
        return self.about["id"]

    @property
    def scales_run(self) -> list[str]:
        """The scales at which it ran."""
        return [scale for scale, result in self.results.items() if result["verdict"] != NOT_RUN]

    @property
    def run_results(self) -> dict[str, Result]:
        """Its results at the scales at which it ran."""
        return {scale: self.results[scale] for scale in self.scales_run}

    def verdict(self, scale: str) -> str:
        """Its verdict at a scale."""
        return self.results[scale]["verdict"] if scale in self.results else NOT_RUN

    def reason(self, scale: str) -> str:
        """Why the claim is not found to hold at a scale; empty if it holds."""
        if scale in self.results:
            return self.results[scale]["reason"]
        return reason_not_run(getattr(papers.claim(self.paper.name, self.key), "NEEDS", ""))

    @property
    def statements(self) -> list[tuple[str, dict[str, dict[str, Any]]]]:
        """Its statements by name, each with what was found at each scale at which the claim ran."""
        merged: dict[str, dict[str, dict[str, Any]]] = {}
        for scale in self.scales_run:
            for statement in self.results[scale]["statements"]:
                merged.setdefault(statement["name"], {})[scale] = statement
        return list(merged.items())

    @cached_property
    def statement_rows(self) -> list[tuple[str, dict[str, Any], list[tuple[str, dict[str, Any]]]]]:
        """Its statements by name, with the statement's words, and a row a scale; one row where both scales agree."""
        rows = []
        for name, by_scale in self.statements:
            shown = {repr((row["printed"], row["verdict"], row["reason"], form_rows(row), control_lines(row)))
                     for row in by_scale.values()}  # fmt: skip
            judged = next((result for result in by_scale.values() if result["forms"]), next(iter(by_scale.values())))
            same = len(by_scale) > 1 and len(shown) == 1
            rows.append((name, judged, [("both", judged)] if same else list(by_scale.items())))
        return rows

    @property
    def in_short(self) -> list[tuple[list[str], list[tuple[str, str]]]]:
        """The first lines of its page, by scale: scales with the same lines together, and no statement quoted twice."""
        lines = {scale: in_short(self.results[scale]) if scale in self.scales_run else [] for scale in SCALES}
        if len(self.scales_run) == len(SCALES) and len({repr(scale_lines) for scale_lines in lines.values()}) == 1:
            return [(list(SCALES), lines[SCALES[0]])]
        quoted: set[str] = set()
        for scale_lines in lines.values():
            for index, (word, sentence) in enumerate(scale_lines):
                name, paper, _ = sentence.partition(PAPER_WORDS)
                if paper and sentence in quoted:
                    scale_lines[index] = (word, f"{name}, as above")
                quoted.add(sentence)
        return [([scale], lines[scale]) for scale in SCALES]

    @property
    def with_fresh_seeds(self) -> str:
        """How many runs with fresh seeds gave the same verdict, in words."""
        assert self.fresh is not None
        same, runs, scale = (self.fresh[name] for name in ("came back", "runs", "scale"))
        if runs == 1:
            return (
                f"the one run with fresh seeds gave {self.id} {'the same' if same else 'another'} {scale}-scale verdict"
            )
        return f"{same} of {runs} runs with fresh seeds gave {self.id} the same {scale}-scale verdict"

    @property
    def where_corrected(self) -> str:
        """The verdict at each scale that the claim ran at; once where both are the same."""
        verdicts = {scale: self.verdict(scale) for scale in self.scales_run}
        if len(verdicts) > 1 and len(set(verdicts.values())) == 1:
            return "at both scales"
        return "; ".join(f"{scale} scale: {verdict}" for scale, verdict in verdicts.items())

    @property
    def control_texts(self) -> list[tuple[str, str]]:
        """What each control does otherwise than the claim, by its name; once for all of its data sets."""
        judged = {name for result in self.run_results.values() for statement in result["statements"]
                  for form in statement["forms"].values() for name in form["controls"]}  # fmt: skip
        names: dict[str, list[str]] = {}
        for result in self.run_results.values():
            for name, text in result.get("control texts", {}).items():
                if name in judged and text and name not in names.setdefault(text, []):
                    names[text].append(name)
        return [(_common(of_text), text) for text, of_text in names.items()]

    @property
    def corrected_print(self) -> str:
        """What the paper prints for its statements that hold in the corrected form; else for the claim."""
        printed = [
            statement["printed"]
            for result in self.run_results.values()
            for statement in result["statements"]
            if statement["kind"] == "asserted" and statement["verdict"] == "holds corrected" and statement["printed"]
        ]
        return "; ".join(dict.fromkeys(printed)) or self.about["printed"]

    @property
    def has_print(self) -> bool:
        """Whether the paper prints a number or a formula for some statement, or we derive one."""
        return any(words["printed"] or words["derived"] for _, words, _ in self.statement_rows)

    @property
    def in_round_off(self) -> bool:
        """Whether some statement's number is in units of round-off."""
        return any(unit(deciding_part(form)) for _, by_scale in self.statements for statement in by_scale.values()
                   for form in statement["forms"].values())  # fmt: skip

    @property
    def waiting_for(self) -> str:
        """What it needs before it can run at the scales at which it did not, in sentences."""
        texts = ["Its table is older than its statements."] if OLD_TABLE in map(self.reason, self.waiting) else []
        listed = {"paper"} & {*self.waiting} if self.experiment in needs() else set()
        others = dict.fromkeys(text for scale, text in self.waiting.items() if text and scale not in listed)
        texts += [f"{text}." for text in others] + [needs()[self.experiment] for _ in listed]
        return " ".join(texts) or "Its run takes too long on the machine of this report."

    @property
    def needs_no_correction(self) -> bool:
        """Whether it holds as printed wherever it was run."""
        return all(result["verdict"] == "holds" for result in self.run_results.values())

    @property
    def fragile_scale(self) -> str:
        """The scale at which its verdict came back in too few runs with fresh seeds; empty where it is steady."""
        return self.fresh["scale"] if self.fresh and self.fresh["fragile"] else ""

    def judged(self, scale: str) -> str:
        """How many of its asserted statements a verdict rests on, where not all of them are judged."""
        if scale not in self.scales_run:
            return ""
        asserted = [statement for statement in self.results[scale]["statements"] if statement["kind"] == "asserted"]
        judged = sum(bool(statement["forms"]) for statement in asserted)
        return f"{judged} of {len(asserted)} judged" if judged < len(asserted) else ""

    @property
    def differs_by_scale(self) -> bool:
        """Whether its verdict at one scale is another than at the other."""
        return len({self.verdict(scale) for scale in self.scales_run}) > 1

    @property
    def corrected(self) -> bool:
        """Whether it holds in the corrected form alone, at some scale."""
        return "holds corrected" in {self.verdict(scale) for scale in self.scales_run}

    @property
    def refuted(self) -> list[tuple[str, str, str]]:
        """The asserted statements that are refuted: the scale, the name, and what is found in each of several forms."""
        return [(scale, statement["name"], outcomes(self.results[scale], statement))
                for scale in self.scales_run for statement in self.results[scale]["statements"]
                if statement["kind"] == "asserted" and statement["verdict"] == "fails"]  # fmt: skip

    def formulas(self, name: str) -> tuple[str, ...]:
        """The lines of LaTeX of its constant MATH or MATH_CORRECTED; none where it has no such constant."""
        latex = getattr(papers.claim(self.paper.name, self.key), name, ())
        return (latex,) if isinstance(latex, str) else tuple(latex)

    @property
    def experiment(self) -> str:
        """The key of its experiment."""
        return self.settings.claims[self.key]

    @property
    def place(self) -> str:
        """Where the settings of its experiment stand in params.yaml."""
        section = "train" if self.experiment in self.settings.train else "simulate"
        return self.settings.place(section, self.experiment)

    @property
    def code(self) -> list[str]:
        """The claim's file and its experiment's."""
        home = f"tasks/papers/{self.settings.paper[self.experiment]}/experiments/{self.experiment}.py"
        return [f"tasks/papers/{self.paper.name}/claims/{self.key}.py", home]

    @property
    def stages(self) -> list[str]:
        """The stages that it rests on."""
        return stages_of(self.settings, self.key)

    @property
    def setting_rows(self) -> list[dict[str, Any]]:
        """Its experiment's settings, those that matter for it."""
        printed = getattr(papers.claim(self.paper.name, self.key), "PRINTED_SETTINGS", {})
        return settings_of(self.settings, self.experiment, self.about.get("settings"), printed)


@cache
def needs() -> dict[str, str]:
    """What each experiment needs at the paper scale, by its key."""
    return tomllib.loads(NEEDS.read_text(encoding="utf-8"))


def read(path: Path) -> Any:
    """A JSON file; None where it is not there."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def all_papers() -> list[Paper]:
    """The papers by letter."""
    packages: dict[str, ModuleType] = {name: papers.paper(name) for name in papers.names()}
    titled = [Paper(name, package.LETTER, package.TITLE, package.ARXIV) for name, package in packages.items()]
    return sorted(titled, key=lambda paper: paper.letter)


def all_claims() -> list[Claim]:
    """Every claim that has a result at some scale, in the order of the papers and of params.yaml."""
    settings = {scale: load(scale) for scale in SCALES}
    results = {scale: read(ROOT / "reports" / scale / "claims.json") or {} for scale in SCALES}
    by_key = {scale: {result["key"]: result for result in results[scale].values()} for scale in SCALES}
    fresh: dict[str, dict[str, Any]] = {}
    for scale in SCALES:
        runs = fresh_runs(scale, {name: result["verdict"] for name, result in results[scale].items()})
        fresh |= {name: {**came_back, "scale": scale} for name, came_back in runs.items()}
    claims = []
    for paper in all_papers():
        for key in settings["quick"].claims_of(paper.name):
            claim_results = {scale: by_key[scale][key] for scale in SCALES if key in by_key[scale]}
            if not claim_results:
                continue
            needs = getattr(papers.claim(paper.name, key), "NEEDS", "")
            waiting = {scale: needs or "; ".join(left_out(settings[scale], key)) for scale in SCALES
                       if scale not in claim_results or claim_results[scale]["verdict"] == NOT_RUN}  # fmt: skip
            name = next(iter(claim_results.values()))["id"]
            claims.append(Claim(key, paper, settings["quick"], claim_results, fresh.get(name), waiting))
    return claims


def _common(names: list[str]) -> str:
    """The names of controls that do the same: what stands before the data set, or all names."""
    beginnings = {name.rpartition(", ")[0] for name in names}
    (beginning,) = beginnings if len(beginnings) == 1 else ("",)
    return beginning if len(names) > 1 and beginning else "; ".join(names)
