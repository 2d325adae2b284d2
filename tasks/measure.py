"""Measure one experiment: ``python -m tasks.measure KEY --scale quick``.

``measure`` in ``tasks/papers/PAPER/experiments/KEY.py`` yields the rows of the table. Its argument is the finished
training run of the same key or, without a training run, the experiment's settings.
"""

import time

from tasks import papers
from tasks import stage as stages
from tasks.settings import Simulation


def main() -> None:
    """Run the experiment's measurements and write its table."""
    stage = stages.arguments("measure")
    device = stages.compute(stage.settings)  # before the experiment's module, which loads numpy and torch
    settings = stage.settings.experiments.pick(stage.key)
    from gramlab import tables
    from tasks.measuring import resumable

    resumable.scale = stage.scale
    experiment = papers.experiment(stage.settings.paper[stage.key], stage.key)
    with stages.recorded(stage) as record:
        started = time.perf_counter()
        if isinstance(settings, Simulation):
            settings = settings.feasible()
            seeds = settings.seeds()
            rows = experiment.measure(settings)
        else:
            from tasks.measuring.run import Run

            seeds = {settings.seeds}
            rows = experiment.measure(Run(stage, device=device))
        labels = {"experiment": stage.key, "scale": stage.scale}
        tables.write(stage.table(stage.key), [{**labels, **row} for row in rows], seeds)
        resumable.forget_parts(stage.key)
        record["seconds"] = round(time.perf_counter() - started + resumable.seconds_before, 3)


if __name__ == "__main__":
    main()
