"""Prepare one data set: ``python -m tasks.prepare KEY --scale quick``."""

import sys
from typing import TYPE_CHECKING

from tasks import stage as stages
from tasks.settings import Data

if TYPE_CHECKING:
    from gramlab.data import DataSet

# source -> the folder of Parquet files under the data root that replaces a missing source, and how its images differ
STAND_INS = {"cifar10": ("cifar10-jpeg", "JPEG-recompressed")}


def main() -> None:
    """Read or download the raw data, check them, and write one file; note any difference from the paper's data."""
    stage = stages.arguments("prepare")
    settings = stage.settings.data.pick(stage.key)
    from gramlab.data import save_sets

    with stages.recorded(stage):
        prepared = {name: prepare_set(stage, part) for name, part in settings.parts().items()}
        save_sets(stage.dataset(stage.key), {name: data for name, (data, _) in prepared.items()})
        altered = {name: difference for name, (_, difference) in prepared.items() if difference}
        stages.write_json(stage.altered(stage.key), altered)


def prepare_set(stage: stages.Stage, settings: Data) -> tuple["DataSet", str]:
    """The data set and an empty text, or the set that replaces it and its difference."""
    from gramlab.data import DataError, prepare

    root = stage.settings.machine.root()
    try:
        return prepare(settings.source, root, **settings.options()), ""
    except DataError as error:
        folder, difference = STAND_INS.get(settings.source, ("", ""))
        if not folder or not (root / folder).is_dir():
            raise
        print(f"prepare@{stage.key}: {folder}, {difference}, stands in: {error}", file=sys.stderr)
        return prepare("parquet", root, path=folder, **settings.options()), difference


if __name__ == "__main__":
    main()
