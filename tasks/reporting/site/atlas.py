"""The pages in ``reports/atlas/``: the map, the curves along training, the papers' claims, and a page for each cell.

They are made of ``reports/atlas.json``, which git holds, and of the list of cells; cells that were not run are empty.
What other seeds gave is in ``reports/atlas_fresh.json``.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from tasks.atlas.cells import Cell, all_cells, stage_cells
from tasks.atlas.judging.choices import CHOICES
from tasks.atlas.judging.contest import NOBODY, TIE, family
from tasks.reporting.atlas.findings import findings, laws
from tasks.reporting.atlas.standing import CRITICAL, ELSEWHERE, WRONG, at_critical_point, end_of, fits, memorises
from tasks.reporting.fresh import fresh_cells, verdicts_of_cells
from tasks.reporting.site.choices import universes
from tasks.reporting.site.content import read
from tasks.settings import ROOT

OPTIMIZERS = {"sgd": "gradient descent", "momentum": "gradient descent with momentum", "adam": "Adam",
              "adamw": "AdamW", "muon": "Muon", "whitened": "whitened gradient descent",
              "least squares": "exact minimiser", "none": "not trained"}  # fmt: skip
ARCHITECTURES = {"mlp": "MLP", "deep linear": "Deep linear network", "cnn": "Convolutional network",
                 "resnet": "Residual network", "transformer": "Transformer"}  # fmt: skip
FAMILIES = ("AGOP", "centered NFA", "FACT", "eNFA", "virtual shifts", "accumulated FACT")  # each has a colour
TARGETS = {
    ("forward", "change"): "the change of WᵀW since the start of training",
    ("forward", "gram"): "WᵀW",
    ("backward", "change"): "the change of WWᵀ since the start of training, on the side of the layer's output",
    ("backward", "gram"): "WWᵀ, on the side of the layer's output",
}
HELPED = {True: "yes", False: "no", None: "not decided"}
LOWEST = -0.5  # the drawings' axis reaches from here to 1


@dataclass(frozen=True)
class Place:
    """A cell on the map.

    Attributes
    ----------
    name : str
    cell : Cell
    judged : dict or None
        Its entry in reports/atlas.json; None where it was not run.
    diverged : bool
    fresh : dict or None
        "verdicts" by root of the random streams, and how many "came back" of how many "runs"; None where it was not
        repeated.
    """

    name: str
    cell: Cell
    judged: dict[str, Any] | None = None
    diverged: bool = False
    fresh: dict[str, Any] | None = None

    @property
    def title(self) -> str:
        """Architecture, task, optimizer and decay; without decay where nothing is trained."""
        if self.cell.optimizer == "none":
            return f"{self.where}, {self.optimizer}"
        decay = "with weight decay" if self.cell.weight_decay else "without weight decay"
        return f"{self.where}, {self.optimizer}, {decay}"

    @property
    def optimizer(self) -> str:
        """The optimizer's name."""
        return OPTIMIZERS[self.cell.optimizer]

    @property
    def where(self) -> str:
        """Architecture and task."""
        architecture = self.cell.shared.architecture
        return f"{ARCHITECTURES.get(architecture, architecture)} on {self.cell.shared.task}"

    def contest(self, side: str = "forward", target: str = "change") -> dict[str, Any]:
        """The contest of a side and target."""
        return self.judged["sides"][side][target] if self.judged else {}

    def outcome(self, side: str = "forward", target: str = "change") -> str:
        """Who wins, or why it is not known."""
        if self.judged:
            return self.contest(side, target)["winner"]
        return "diverged" if self.diverged else "not run"

    def kind(self, side: str = "forward", target: str = "change") -> str:
        """The class of the style sheet: a colour for a winner, none for a tie."""
        winner = self.outcome(side, target)
        if winner in (TIE, NOBODY) or not self.judged:
            return "blank"
        return f"law-{FAMILIES.index(winner)}" if winner in FAMILIES else "law-other"

    @property
    def share(self) -> float | None:
        """The share of the ways to judge the cell that agree with the map."""
        return self.judged["multiverse"]["agree"] / self.judged["multiverse"]["choices"] if self.judged else None

    @property
    def with_other_seeds(self) -> str:
        """The outcome of the map with other seeds: "the same", or what came instead, root by root."""
        if not self.fresh:
            return "–"
        others = [verdict for verdict in self.fresh["verdicts"].values() if verdict != self.outcome()]
        same = ["the same"] * (self.fresh["came back"] > 0)
        return ", ".join(dict.fromkeys(same + others))

    @property
    def helped(self) -> str:
        """Whether the features that the network learned helped."""
        facts = self.judged["facts"] if self.judged else {}
        return HELPED[facts["helped"]] if "helped" in facts else "not measured"

    @property
    def critical(self) -> bool | None:
        """Whether it ends at a critical point; None without decay, or where it was not run."""
        return at_critical_point(self.judged) if self.judged else None

    @property
    def end(self) -> str | None:
        """Where its networks end, as `end_of` has it; None without decay, or where it was not run."""
        return end_of(self.judged) if self.judged else None

    @property
    def fits(self) -> bool:
        """Whether its networks fit their training set."""
        return fits(self.judged) if self.judged else False

    @property
    def memorises(self) -> bool:
        """Whether its networks have only memorised the training set."""
        return memorises(self.judged) if self.judged else False

    @property
    def stage(self) -> str:
        """The stage of the pipeline that trains it."""
        if self.name in {cell.name for cell in stage_cells("slice")}:
            return "slice"
        return "known" if self.cell.answer else self.cell.group


def places(result: Mapping[str, Any]) -> list[Place]:
    """All cells in the order of the map, those with a known answer last."""
    diverged, fresh = set(result["diverged"]), fresh_cells(result).get("cells", {})
    groups = list(dict.fromkeys(cell.group for cell in all_cells().values()))

    def order(cell: Cell) -> tuple[bool, int, int, int, bool]:
        architecture = list(ARCHITECTURES).index(cell.shared.architecture)
        optimizer = list(OPTIMIZERS).index(cell.optimizer)
        return bool(cell.answer), architecture, groups.index(cell.group), optimizer, cell.weight_decay > 0

    return [Place(name, cell, result["cells"].get(name), name in diverged, fresh.get(name))
            for name, cell in sorted(all_cells().items(), key=lambda item: order(item[1]))]  # fmt: skip


def chart(shown: list[Place], side: str, target: str) -> list[dict[str, Any]]:
    """The map's rows: a group of cells with and without decay, and its cells by optimizer."""
    by_key: dict[tuple[str, bool, str], Place] = {
        (place.cell.group, bool(place.cell.weight_decay), place.cell.optimizer): place for place in shown
    }
    groups = {place.cell.group: place for place in shown}  # in the list's order
    order = sorted(groups, key=lambda group: list(ARCHITECTURES).index(groups[group].cell.shared.architecture))
    optimizers = [name for name in OPTIMIZERS if any(place.cell.optimizer == name for place in shown)]
    return [
        {"where": groups[group].where, "group": group, "decay": decay, "side": side, "target": target,
         "places": [(OPTIMIZERS[name], by_key.get((group, decay, name))) for name in optimizers]}
        for group, decay in itertools.product(order, (False, True))
    ]  # fmt: skip


def entrants(contest: Mapping[str, Any], exponent: str) -> list[dict[str, Any]]:
    """The entrants of a contest, those in the contest first, by their skill.

    Of the powers of the AGOP the fitted one alone is judged, as "AGOP^s".
    """
    judged = {f"AGOP^{exponent}": "AGOP^s"}
    competing = {name: row["same_as"] or name for name, row in contest.get("entrants", {}).items()}
    rows = [{"name": name, **row, "above": contest["above_chance"].get(judged.get(competing[name], competing[name]))}
            for name, row in contest.get("entrants", {}).items()]  # fmt: skip
    order = {"": 0, "identity": 1, "control": 2}
    return sorted(rows, key=lambda row: (order[row["badge"]], -row["skill"][0]))


def curves(contest: Mapping[str, Any], exponent: str) -> dict[str, list[list[float]]]:
    """The curve of each family's law that ends highest, by family, and that of the input covariance.

    Of the powers of the AGOP it is the one that half of the cells fit.
    """
    best: dict[str, tuple[float, list[list[float]]]] = {}
    for name, row in contest.get("entrants", {}).items():
        points = contest["curves"].get(name)
        wrong_power = name.startswith("AGOP^") and name != f"AGOP^{exponent}"
        if not points or wrong_power or row["same_as"] or (row["badge"] and name != "input covariance"):
            continue
        label = "AGOP" if name.startswith("AGOP^") else family(name)
        if label not in best or row["score"][0] > best[label][0]:
            best[label] = (row["score"][0], points)
    return {label: points for label, (_, points) in best.items()}


def drawing(place: Place, target: str, width: int = 220, height: int = 130, axis: bool = False) -> Markup:
    """The scores along training, one snapshot beside the other.

    Parameters
    ----------
    place : Place
    target : {"gram", "change"}
    width, height : int
        In pixels.
    axis : bool
        Whether steps and scores are written beside it, and the laws' names at the curves' ends.

    Returns
    -------
    Markup
        An SVG with a title for readers who do not see it; empty without curves.
    """
    lines = curves(place.contest("forward", target), place.judged["exponent"]) if place.judged else {}
    steps = sorted({0, *(int(step) for points in lines.values() for step, _ in points)})
    if not lines or len(steps) < 3:
        return Markup("")
    left, right, top, bottom = (40, 150, 8, 24) if axis else (2, 2, 4, 4)

    def x(step: float) -> float:
        return round(left + (width - left - right) * steps.index(int(step)) / (len(steps) - 1), 1)

    def y(score: float) -> float:
        return round(top + (height - top - bottom) * (1 - max(score, LOWEST)) / (1 - LOWEST), 1)

    parts = []
    for tick in (1, 0.5, 0, LOWEST):
        parts.append(f'<line class="grid" x1="{left}" x2="{width - right}" y1="{y(tick)}" y2="{y(tick)}"/>')
        parts += (
            [f'<text x="{left - 6}" y="{y(tick) + 4}" text-anchor="end">{f"{tick:g}".replace("-", "−")}</text>']
            if axis
            else []
        )
    if axis:
        for step, anchor in ((steps[0], "start"), (steps[len(steps) // 2], "middle"), (steps[-1], "end")):
            parts.append(f'<text x="{x(step)}" y="{height - 6}" text-anchor="{anchor}">step {step}</text>')
    ends: dict[str, tuple[float, int | str]] = {}
    for label, points in lines.items():
        number = FAMILIES.index(label) if label in FAMILIES else "other"
        coordinates = " ".join(f"{x(step)},{y(score)}" for step, score in points)
        parts.append(f'<polyline class="law line-{number}" points="{coordinates}"/>')
        ends[label] = (y(points[-1][1]) + 4, number)
    if axis:
        lowest = -math.inf
        for label, (end, number) in sorted(ends.items(), key=lambda item: (item[1][0], item[0])):
            lowest = max(end, lowest + 14)  # names one below the other
            at = f'x="{width - right + 6}" y="{lowest}"'
            parts.append(f'<text class="name line-{number}" {at}>{escape(label)}</text>')
    last = ", ".join(f"{label} {points[-1][1]:.2f}" for label, points in lines.items())
    words = escape(f"Scores along training, {place.title}. At the end: {last}")
    start = f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{words}"><title>{words}</title>'
    return Markup(f"{start}{''.join(parts)}</svg>")


def content() -> dict[str, Any]:
    """What the pages of the atlas share; empty where there are no results."""
    result = read(ROOT / "reports" / "atlas.json")
    if result is None:
        return {}
    shown = places(result)
    grid = [place for place in shown if not place.cell.answer]
    return {
        "result": result,
        "known": [(place, next((row for row in result["known"] if row["cell"] == place.name), None))
                  for place in shown if place.cell.answer],
        "grid": grid,
        "run": [place for place in shown if place.judged],
        "charts": {key: chart(grid, *key) for key in TARGETS},
        "targets": TARGETS,
        "optimizers": [OPTIMIZERS[name] for name in OPTIMIZERS if any(place.cell.optimizer == name for place in grid)],
        "families": FAMILIES,
        "choices": len(CHOICES),
        "own_laws": own_laws(result),
        "helped": helped(grid),
        "wins": wins(grid),
        "ends": ends(grid),
        "laws": [*laws(), *({"name": name, "formula": "–", "text": "–", "source": "–"} for name in own_laws(result))],
        "again": measured_again(result),
        "fresh": fresh(result),
        "universes": universes(),
    }  # fmt: skip


def helped(grid: list[Place]) -> dict[str, Any]:
    """In how many cells the learned features helped, in how many the networks only memorise, or do not even fit."""
    answers = [place.judged["facts"].get("helped", "") for place in grid if place.judged]
    wrong = [place.cell.shared.task for place in grid if place.memorises]
    unfitted = sum(not place.fits for place in grid if place.judged)
    return {"yes": answers.count(True), "no": answers.count(False), "open": answers.count(None), "wrong": len(wrong),
            "tasks": list(dict.fromkeys(wrong)), "limit": WRONG, "unfitted": unfitted}  # fmt: skip


def wins(grid: list[Place]) -> list[tuple[str, list[int]]]:
    """How many cells have each outcome, and how many cells there are.

    There are six counts: for the change of WᵀW and for WᵀW, of all cells, of those that fit and have not only
    memorised, and of those at a critical point.
    """
    run = [place for place in grid if place.judged]
    parts = [run, [place for place in run if place.fits and not place.memorises],
             [place for place in run if place.critical]]  # fmt: skip
    columns = [[place.outcome("forward", target) for place in part] for target in ("change", "gram") for part in parts]
    outcomes = sorted({outcome for column in columns for outcome in column} - {TIE, NOBODY},
                      key=lambda name: (-columns[0].count(name), name))  # fmt: skip
    counts = [(outcome, [column.count(outcome) for column in columns]) for outcome in (*outcomes, TIE, NOBODY)]
    return [*counts, ("cells", [len(column) for column in columns])]


def ends(grid: list[Place]) -> dict[str, Any]:
    """Where the cells with decay end.

    "yes" and "no": how many do and do not end at a critical point; "gradient" and "critical", "kink": how many have
    the decay in the gradient, and how many of them end at a critical point and on kinks; "others" and "elsewhere": how
    many have an optimizer that rests elsewhere, and how many of them are at rest; "limit": of all distances.
    """
    run = [place for place in grid if place.end is not None]
    gradient, others = ([place.end for place in run if (place.cell.optimizer in ELSEWHERE) == is_other]
                        for is_other in (False, True))  # fmt: skip
    yes = sum(place.end == "critical" for place in run)
    return {"yes": yes, "no": len(run) - yes, "gradient": len(gradient), "critical": gradient.count("critical"),
            "kink": gradient.count("kink"), "others": len(others), "elsewhere": others.count("elsewhere"),
            "limit": CRITICAL}  # fmt: skip


def own_laws(result: Mapping[str, Any]) -> list[str]:
    """The entrants without an entry in laws.toml: laws that a reader has entered."""
    known = {law["name"] for law in laws()}
    sides = [side for cell in result["cells"].values() for side in cell["sides"].values()]
    entrants = [name for side in sides for contest in side.values() for name in contest["entrants"]]
    return [name for name in dict.fromkeys(entrants) if name not in known and not name.startswith("AGOP^")]


def fresh(result: Mapping[str, Any]) -> dict[str, Any]:
    """How the map came out with other seeds; empty where the atlas was not repeated.

    "roots": their names; "verdicts": how many there are, a cell at a root each; "same": how many are the map's;
    "undecided": how many of the others have no winner at one of the roots or at both; "swapped": how many have another
    winner; "known" and "right": how many answers are known, and how many of them came out; "sentences": by root
    whether a sentence holds, by its key; "tested": the roots by how many sentences hold, fail, or have a newer test
    there; "note": what differs from today's rules.
    """
    repeated = fresh_cells(result)
    if not repeated:
        return {}
    map_verdicts = verdicts_of_cells(result)
    pairs = [(map_verdicts[name], verdict)
             for name, cell in repeated["cells"].items() for verdict in cell["verdicts"].values()]  # fmt: skip
    others = [pair for pair in pairs if pair[0] != pair[1]]
    undecided = sum(not {TIE, NOBODY, "diverged"}.isdisjoint(pair) for pair in others)
    known = [right for answers in repeated["known"].values() for right in answers.values()]
    keys = [sentence.key for sentence in findings(result)]
    tested: dict[tuple[int, ...], list[str]] = {}
    for root, holds in repeated["sentences"].items():
        answers = [holds.get(key) for key in keys]
        tested.setdefault((answers.count(True), answers.count(False), answers.count(None)), []).append(root)
    return {"roots": repeated["roots"], "verdicts": len(pairs), "same": len(pairs) - len(others),
            "undecided": undecided, "swapped": len(others) - undecided, "known": len(known), "right": sum(known),
            "sentences": repeated["sentences"], "tested": tested, "note": repeated["note"]}  # fmt: skip


def measured_again(result: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The cells that the last quick run measured again: the name, the atlas's outcome, and the quick run's."""
    quick = read(ROOT / "reports" / "quick" / "atlas.json") or {"cells": {}}
    outcome = {name: cell["sides"]["forward"]["change"]["winner"] for name, cell in result["cells"].items()}
    return [(name, outcome[name], cell["sides"]["forward"]["change"]["winner"])
            for name, cell in quick["cells"].items() if name in outcome]  # fmt: skip


def pages(page: Any) -> Iterator[tuple[str, str]]:
    """Every page of the atlas, rendered by ``page``; none where there are no results."""
    shared = content()
    if not shared:
        return
    shared |= {"root": "../", "current": "atlas", "entrants": entrants, "drawing": drawing}
    sentences = {"html": findings(shared["result"]), "md": findings(shared["result"], "")}
    yield "atlas/index.html", page("atlas.html", sentences=sentences["html"], **shared)
    yield "atlas/claims.html", page("atlas_claims.html", **shared)
    yield "atlas/training.html", page("atlas_training.html", **shared)
    yield "atlas/README.md", page("atlas.md", sentences=sentences["md"], **shared)
    run = shared["run"]
    for index, place in enumerate(run):
        yield f"atlas/{place.name}.html", page(
            "atlas_cell.html", place=place, before=run[index - 1] if index else None,
            after=run[index + 1] if index + 1 < len(run) else None, **shared,
        )  # fmt: skip
