"""Draw one claim's figure: ``python -m tasks.figure KEY --scale quick``. See tasks/figures."""

from importlib import import_module

from gramlab import tables
from tasks import stage as stages
from tasks.settings import pick


def main() -> None:
    """Read the experiment's table, let tasks/figures/FIGURE.py draw it, stamp the scale on it, and save it."""
    stage = stages.arguments("figure")
    claim = pick(stage.settings.claims, stage.key, "claim")
    from tasks.figures.style import blank, save

    drawing = import_module(f"tasks.figures.{claim.figure}")
    with stages.recorded(stage):
        rows = tables.read(stage.table(claim.experiment)).to_pandas()
        ran = rows["quantity"].isin(import_module(f"tasks.checks.{stage.key}").QUANTITIES).any()
        save(drawing.draw(rows, stage.key) if ran else blank(), stage.figure(stage.key), stage.scale)


if __name__ == "__main__":
    main()
