"""Put the verdicts together: ``python -m tasks.report --scale quick`` writes claims.json, index.html and README.md."""

import json
import math
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from gramlab.files import atomic
from tasks import differences
from tasks import settings as reader
from tasks import stage as stages
from tasks.settings import ROOT
from tasks.verdict import NOT_RUN

PAPERS = {
    "A": "The Weight Gram Matrix Captures Sequential Feature Linearization in Deep Networks (arXiv 2605.06258)",
    "B": "Gradient descent induces alignment between weights and the pre-activation tangents (arXiv 2402.05271)",
    "C": "FACT: the Features At Convergence Theorem for neural networks (arXiv 2507.05644)",
    "D": "Average gradient outer product as a mechanism for deep neural collapse (arXiv 2402.13728)",
}
VERDICTS = {
    "holds": "the rule finds the claim, and rejects every control",
    "holds corrected": "not found as printed; a corrected form is found, and every control rejected",
    "fails": "the rule rejects the claim, at this scale's settings",
    "inconclusive": "a control was not rejected, or the interval does not decide, or not after Holm's correction over "
    "the paper's claims",
}
STAMP = {
    "quick": "Quick scale: reduced settings, and data that ship with a dependency — not the papers'.",
    "paper": "Paper scale: the papers' settings, and their data except where said; `here` among a claim's settings is "
    "laid over them for want of a larger machine.",
}
ALPHA = 0.025  # one-sided, as the 95 % intervals are


def main() -> None:
    """Read every verdict, figure and record of this scale; write the three files."""
    stage = stages.arguments("report", key="")
    keys = list(stage.settings.claims)
    if stage.scale == "paper":  # takes days in all, and is read while it grows
        keys = [key for key in keys if stage.verdict(key).is_file()]
    keys = [key for key in keys if document(stage, stage.verdict(key), f"check@{key}")["verdict"] != NOT_RUN]
    waiting = Counter(key[0].upper() for key in stage.settings.claims if key not in keys)
    claims = holm([collect(stage, key) for key in keys], waiting)
    about = {
        "claims": claims,
        "all": len(stage.settings.claims),
        "scale": stage.scale,
        "papers": PAPERS,
        "verdicts": VERDICTS,
        "stamp": STAMP[stage.scale],
        "differences": differences.measured(stage),
    }
    environment = Environment(
        loader=FileSystemLoader(ROOT / "tasks" / "templates"), undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True, autoescape=lambda name: "html" in (name or ""),
    )  # fmt: skip
    environment.filters.update(number=number, measured=measured, interval=interval, rejection=rejection)
    kept = {
        claim["id"]: {key: value for key, value in claim.items() if key not in ("settings", "made")} for claim in claims
    }
    pages = {
        "index.html": environment.get_template("index.html").render(about),
        "README.md": environment.get_template("README.md").render(about),
        "claims.json": json.dumps(kept, indent=2, ensure_ascii=False) + "\n",
    }
    for name, text in pages.items():
        with atomic(stage.reports / name) as temporary:
            temporary.write_text(text)


def collect(stage: stages.Stage, key: str) -> dict[str, Any]:
    """One claim's verdict with where its table and figure lie, its settings, and the stages that it rests on."""
    verdict = document(stage, stage.verdict(key), f"check@{key}")
    experiment = stage.settings.claims[key].experiment
    measured_by = "measure" if experiment in stage.settings.measure else "simulate"
    made = {
        f"check@{key}": stage.made("check", key),
        f"figure@{key}": stage.made("figure", key),
        f"{measured_by}@{experiment}": stage.made("measure", experiment),
    }
    if run := stage.settings.train.get(experiment):
        made[f"train@{experiment}"] = stage.made("train", experiment)
        made[f"prepare@{run.data}"] = stage.made("prepare", run.data)
    records = {name: document(stage, path, name.replace("figure@", "check@")) for name, path in made.items()}
    if not stage.figure(key).is_file():
        missing(stage, stage.figure(key), f"check@{key}")
    return {
        **verdict,
        "key": key,
        "stage": stage.address(f"check@{key}"),
        "figure": str(stage.figure(key).relative_to(ROOT)),
        "table": str(stage.table(experiment).relative_to(ROOT)),
        "altered": "; ".join(
            [one for record in records.values() for one in _altered(record, stage.settings.claims[key].parts)]
            + left_out(stage.settings, key)
            + [f"{name} made with other settings" for name, record in records.items() if _changed(stage, name, record)]
        ),
        "seconds": round(sum(record["seconds"] for record in records.values()), 1),
        "made": records,
        "settings": settings_of(stage, experiment),
    }


def _altered(record: dict[str, Any], parts: list[str] | None) -> list[str]:
    """What ails a prepared file's sets, "name: what" where they are several, of those that the claim is on."""
    said = [one.split(": ") for one in record.get("altered", "").split(", ") if one]
    return [": ".join(one) for one in said if parts is None or len(one) == 1 or one[0] in parts]


def _changed(stage: stages.Stage, name: str, record: dict[str, Any]) -> bool:
    """Whether a stage's record is of other settings than today's, which the report shows; older records do not say."""
    kind, key = name.replace("simulate@", "measure@").split("@")
    return record.get("settings") not in (None, stages.fingerprint(stage.settings, kind, key))


def left_out(settings: reader.Settings, key: str) -> list[str]:
    """What a claim's experiment goes without, or has less of, where this machine is too small for the settings."""
    claim = settings.claims[key]
    said = [f"{part} left out" for part in settings.unprepared.get(claim.experiment, ())
            if claim.parts is None or part in claim.parts]  # fmt: skip
    if (run := settings.simulate.get(claim.experiment)) and run.here:
        for name, value in run.here.items():
            own = run.model_dump(exclude_unset=True).get(name)
            if isinstance(own, list):
                said += [f"{words(one)} left out" for one in own if one not in value]
            else:
                said.append(f"{name} {value} instead of {own}")
    return said


def words(setting: Any) -> str:
    """A setting, or the names and values of several, in one line."""
    several = setting.items() if isinstance(setting, dict) else ()
    return ", ".join(f"{name} {value}" for name, value in several) or str(setting)


def document(stage: stages.Stage, path: Path, name: str) -> dict[str, Any]:
    """A JSON file that another stage has left."""
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        missing(stage, path, name)
    except json.JSONDecodeError as error:
        again = f"`dvc repro --force {stage.address(name)}` makes it anew"
        raise SystemExit(f"{path.relative_to(ROOT)} is damaged ({error}); {again}") from error


def missing(stage: stages.Stage, path: Path, name: str) -> NoReturn:
    """Say which file is not there and what makes it."""
    raise SystemExit(f"{path.relative_to(ROOT)} is missing; `dvc repro {stage.address(name)}` makes it")


def settings_of(stage: stages.Stage, experiment: str) -> list[dict[str, Any]]:
    """Rows of the experiment's settings at both scales; those that differ first."""
    scales = {scale: _settings(scale) for scale in reader.SCALES}
    rows = []
    for section in ("data", "train", "measure", "simulate"):
        key = experiment if section != "data" else getattr(stage.settings.train.get(experiment), "data", "")
        values = {scale: getattr(one, section).get(key) for scale, one in scales.items()}
        if values["paper"] is None:
            continue
        paper, quick = (flat(values[scale].model_dump()) for scale in ("paper", "quick"))
        for name in paper | quick:
            given = (paper.get(name), quick.get(name))
            if given != (None, None):
                rows.append(
                    {"name": f"{section}.{name}", "paper": given[0], "quick": given[1], "same": given[0] == given[1]}
                )
    return sorted(rows, key=lambda row: row["same"])


_settings = lru_cache(reader.load)


def flat(settings: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted names."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return found


def holm(claims: list[dict[str, Any]], waiting: Mapping[str, int]) -> list[dict[str, Any]]:
    """Holm's correction of the one-sided p-values within each paper; what does not survive it is inconclusive.

    The claims of a paper that wait to be run count as tests too, so that a verdict cannot be lost by running them; and
    one with a corrected form counts twice, for it has two chances.
    A claim whose printed form does not survive, and whose corrected form was found, is judged by that one instead.
    """
    for paper in PAPERS:
        tested = [claim for claim in claims if claim["paper"] == paper and claim["p"] is not None]
        count = sum(2 if claim["corrected form"] else 1 for claim in tested) + waiting.get(paper, 0)
        correct_p(tested, count)
        lost = [claim for claim in tested if claim["verdict"] == "holds" and claim["p, Holm"] > ALPHA]
        for claim in lost:
            if (corrected := claim["corrected form"]) and corrected["holds"]:
                shown = ("statistic", "low", "high", "p", "rule", "numbers", "evidence", "measured", "part")
                claim.update({name: corrected[name] for name in shown}, verdict="holds corrected")
                claim["printed form"]["holds"] = None
        correct_p(tested, count)
        for claim in tested:
            if claim["verdict"].startswith("holds") and claim["p, Holm"] > ALPHA:
                claim["verdict"] = "inconclusive"
                claim["rule"] += f"; not significant after Holm's correction over {count} forms of the paper's claims"
    return claims


def correct_p(tested: list[dict[str, Any]], count: int) -> None:
    """Holm's step-down p-values, of so many tests."""
    adjusted = 0.0
    for rank, claim in enumerate(sorted(tested, key=lambda one: one["p"])):
        adjusted = max(adjusted, min(1.0, (count - rank) * claim["p"]))
        claim["p, Holm"] = adjusted


def number(value: float | None) -> str:
    """A number with as many digits as a reader can use."""
    if value is None:
        return "–"
    if not math.isfinite(value):
        return str(value)
    if value != 0 and not 1e-3 <= abs(value) < 9999.5:
        mantissa, exponent = f"{value:.1e}".split("e")
        power = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return f"{mantissa}·10{power}".replace("-", "−")
    return f"{value:.4g}".replace("-", "−")


def measured(claim: dict[str, Any]) -> str:
    """What was measured in the print's terms, or else the statistic with its interval; on what data, if altered."""
    on = f" ({claim['altered']})" if claim["altered"] else ""
    return (claim["measured"] or statistic(claim)) + on


def rejection(control: dict[str, Any]) -> str:
    """Whether a control was rejected, how, and what of the claim's rule held of it all the same."""
    how = {None: "undecided by itself, unlike the claim" if control["rejected"] else "undecided"}.get(control["holds"])
    held = f"held all the same: {'; '.join(control['kept'])}".replace("_", " ") if control["kept"] else ""
    more = "; ".join(filter(None, (how, held)))
    return ("rejected" if control["rejected"] else "not rejected") + (f" ({more})" if more else "")


def statistic(claim: dict[str, Any]) -> str:
    """The statistic with its interval or bound, and of which rule it is."""
    part = f"{claim['part'].replace('_', ' ')} " if claim["part"] else ""
    return part + interval(claim)


def interval(found: dict[str, Any]) -> str:
    """A statistic with its interval or its bound; of several rules together, each one's."""
    if parts := found.get("parts"):
        return "; ".join(f"{name} {interval(one)}" for name, one in parts.items())
    if found["low"] is not None and found["high"] is not None:
        return f"{number(found['statistic'])} [{number(found['low'])}, {number(found['high'])}]"
    bound = f" (≤ {number(found['high'])})" if found["high"] is not None else ""
    return number(found["statistic"]) + bound


if __name__ == "__main__":
    main()
