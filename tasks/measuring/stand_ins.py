"""Prepare a data set, or the one that stands in for it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.settings.stand_ins import STAND_INS

if TYPE_CHECKING:
    from gramlab.data import DataSet


def prepare_or_stand_in(stage: str, source: str, root: Path, **options: Any) -> tuple["DataSet", str]:
    """Prepare a data set, or the set that replaces it if it is missing.

    Parameters
    ----------
    stage
        The stage's name, for the note on standard error.
    source, root, options
        See ``gramlab.data.prepare``.

    Returns
    -------
    data set, difference
        Of the source, and an empty text; or the replacement, and how its images differ.

    Raises
    ------
    DataError
        If the source cannot be prepared and nothing replaces it.
    """
    from gramlab.data import DataError, prepare

    try:
        return prepare(source, root, **options), ""
    except DataError as error:
        folder, difference = STAND_INS.get(source, ("", ""))
        if not folder or not (root / folder).is_dir():
            raise
        print(f"{stage}: {folder}, {difference}, stands in: {error}", file=sys.stderr)
        return prepare("parquet", root, path=folder, **options), difference
