"""Prepare one data set: ``python -m tasks.prepare KEY --scale quick``."""

import sys
from typing import TYPE_CHECKING

from tasks import stage as stages
from tasks.settings import Data, Sets, pick

if TYPE_CHECKING:
    from gramlab.data import DataSet

# by source: the folder of Parquet under the data root that stands in for it where it cannot be had, and what ails that
STAND_INS = {"cifar10": ("cifar10-jpeg", "JPEG-recompressed")}


def main() -> None:
    """Read or download the raw data, check them, and keep them as one file."""
    stage = stages.arguments("prepare")
    wanted: Data | Sets = pick(stage.settings.data, stage.key, "data set")
    from gramlab.data import save_sets

    with stages.recorded(stage) as about:
        made = {name: one_set(stage, one) for name, one in wanted.parts().items()}
        save_sets(stage.dataset(stage.key), {name: found for name, (found, _) in made.items()})
        altered = [f"{name}: {ails}" if name else ails for name, (_, ails) in made.items() if ails]
        if altered:
            about["altered"] = ", ".join(altered)


def one_set(stage: stages.Stage, wanted: Data) -> tuple["DataSet", str]:
    """The data set, or what stands in for it and what ails that."""
    from gramlab.data import DataError, prepare

    root = stage.settings.machine.root()
    try:
        return prepare(wanted.source, root, **wanted.options()), ""
    except DataError as error:
        folder, altered = STAND_INS.get(wanted.source, ("", ""))
        if not folder or not (root / folder).is_dir():
            raise
        print(f"prepare@{stage.key}: {folder}, {altered}, stands in: {error}", file=sys.stderr)
        return prepare("parquet", root, path=folder, **wanted.options()), altered


if __name__ == "__main__":
    main()
