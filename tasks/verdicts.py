"""Judge all claims of a paper together: ``python -m tasks.verdicts PAPER --scale quick``.

A claim's finding becomes a verdict here, after Holm's correction over the paper's claims.
"""

import json

from tasks import papers
from tasks import stage as stages
from tasks.judging.finding import number_asserted
from tasks.judging.verdict import judge
from tasks.settings import allowed, refuse


def main() -> None:
    """Read all findings of the paper and write the verdicts by the claims' keys."""
    stage = stages.arguments("verdicts")
    keys = stage.settings.claims_of(stage.key)
    if not keys:
        refuse(f"unknown paper {stage.key!r}{allowed(stage.key, dict.fromkeys(stage.settings.paper.values()))}")
    paths = {key: stage.finding(key) for key in keys}
    if stage.scale == "paper":  # takes days, so its verdicts are read before all findings are there
        paths = {key: path for key, path in paths.items() if path.is_file()}
    findings = {}
    for key, path in paths.items():
        try:
            findings[key] = json.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError) as error:
            state = "missing" if isinstance(error, FileNotFoundError) else f"damaged ({error})"
            again = f"`dvc repro --force {stage.address(f'check@{key}')}` makes it anew"
            raise SystemExit(f"{path.relative_to(stages.ROOT)} is {state}; {again}") from error
    with stages.recorded(stage):
        waiting = sum(number_asserted(papers.claim(stage.key, key)) for key in keys if key not in findings)
        stages.write_json(stage.verdicts(stage.key), judge(findings, waiting))


if __name__ == "__main__":
    main()
