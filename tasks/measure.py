"""Measure one experiment: ``python -m tasks.measure KEY --scale quick``.

``tasks/experiments/KEY.py`` holds ``measure(settings, run)``, which yields the table's rows; ``run`` is the
training run of the same name, and for a Monte Carlo experiment there is none.
"""

from importlib import import_module

from tasks import stage as stages
from tasks.settings import Measure, pick


def main() -> None:
    """Run the experiment's measurements and write its table."""
    stage = stages.arguments("measure")
    wanted = pick(stage.settings.experiments(), stage.key, "experiment")
    device = stages.compute(stage.settings)
    from gramlab import tables

    experiment = import_module(f"tasks.experiments.{stage.key}")
    with stages.recorded(stage):
        if isinstance(wanted, Measure):
            from tasks.runs import Run

            rows = experiment.measure(wanted, Run(stage, device=device))
        else:
            rows = experiment.measure(wanted.feasible())
        about = {"experiment": stage.key, "scale": stage.scale}
        tables.write(stage.table(stage.key), [{**about, **row} for row in rows])


if __name__ == "__main__":
    main()
