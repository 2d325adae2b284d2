"""Prepare one data set: ``python -m tasks.prepare KEY --scale quick``."""

import sys
from pathlib import Path

from tasks import stage as stages
from tasks.settings import Data, pick

# by source: the folder of Parquet under the data root that stands in for it where it cannot be had, and what ails that
STAND_INS = {"cifar10": ("cifar10-jpeg", "JPEG-recompressed")}


def main() -> None:
    """Read or download the raw data, check them, and keep them as one file."""
    stage = stages.arguments("prepare")
    wanted: Data = pick(stage.settings.data, stage.key, "data set")
    from gramlab.data import DataError, DataSet, prepare

    def stand_in(why: DataError, root: Path) -> tuple[DataSet, str]:
        folder, altered = STAND_INS.get(wanted.source, ("", ""))
        if not folder or not (root / folder).is_dir():
            raise why
        print(f"prepare@{stage.key}: {folder}, {altered}, stands in: {why}", file=sys.stderr)
        return prepare("parquet", root, path=folder, **wanted.options()), altered

    with stages.recorded(stage) as about:
        root = stage.settings.machine.root()
        try:
            found = prepare(wanted.source, root, **wanted.options())
        except DataError as error:
            found, about["altered"] = stand_in(error, root)
        found.save(stage.dataset(stage.key))


if __name__ == "__main__":
    main()
