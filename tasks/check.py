"""Judge one claim: ``python -m tasks.check KEY --scale quick``. See tasks/verdict.py."""

import json
from importlib import import_module

from gramlab import tables
from gramlab.files import atomic
from tasks import stage as stages
from tasks.judge import Rows
from tasks.settings import pick
from tasks.verdict import judge


def main() -> None:
    """Apply the claim's rule to its experiment's table and to the controls, and write the verdict."""
    stage = stages.arguments("check")
    claim = pick(stage.settings.claims, stage.key, "claim")
    check = import_module(f"tasks.checks.{stage.key}")
    with stages.recorded(stage):
        rows = Rows(tables.read(stage.table(claim.experiment)))
        verdict = {**judge(check, rows), "experiment": claim.experiment, "scale": stage.scale}
        with atomic(stage.verdict(stage.key)) as temporary:
            temporary.write_text(json.dumps(verdict, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
