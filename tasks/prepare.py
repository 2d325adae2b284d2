"""Prepare one data set: ``python -m tasks.prepare KEY --scale quick``."""

from tasks import stage as stages
from tasks.settings import pick


def main() -> None:
    """Read or download the raw data, check them, and keep them as one file."""
    stage = stages.arguments("prepare")
    wanted = pick(stage.settings.data, stage.key, "data set")
    from gramlab.data import prepare

    with stages.recorded(stage):
        found = prepare(wanted.source, stage.settings.machine.root(), **wanted.options())
        found.save(stage.dataset(stage.key))


if __name__ == "__main__":
    main()
