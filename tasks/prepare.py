"""Prepare one data set: ``python -m tasks.prepare KEY --scale quick``."""

from tasks import stage as stages


def main() -> None:
    """Read or download the raw data, check them, and write one file; note any difference from the paper's data."""
    stage = stages.arguments("prepare")
    settings = stage.settings.data.pick(stage.key)
    from gramlab.data import save_sets
    from tasks.measuring.stand_ins import prepare_or_stand_in

    with stages.recorded(stage):
        root = stage.settings.machine.root()
        prepared = {
            name: prepare_or_stand_in(f"prepare@{stage.key}", part.source, root, **part.options())
            for name, part in settings.parts().items()
        }
        save_sets(stage.dataset(stage.key), {name: data for name, (data, _) in prepared.items()})
        altered = {name: difference for name, (_, difference) in prepared.items() if difference}
        stages.write_json(stage.altered(stage.key), altered)


if __name__ == "__main__":
    main()
