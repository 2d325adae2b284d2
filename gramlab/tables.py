"""Tidy Parquet tables: one row an observation, one schema for everything that gramlab measures."""

from numbers import Real
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from gramlab.files import BadInput, atomic

SCHEMA = pa.schema(
    [
        ("experiment", pa.string()),  # the experiment's key in params.yaml, or the user's own name
        ("scale", pa.string()),  # "quick", "paper", or "user"
        ("arm", pa.string()),  # "claim", or a control that the same rule must reject
        ("case", pa.string()),  # which instance: an architecture, a data set, an activation
        ("seed", pa.int32()),
        ("step", pa.int64()),  # optimizer steps taken when it was measured
        ("layer", pa.string()),  # the module's name as in model.named_modules()
        ("dtype", pa.string()),  # the arithmetic it was measured in
        ("quantity", pa.string()),
        ("x", pa.float64()),  # the independent variable where there is one: a step size, a pixel's index
        ("value", pa.float64()),
    ]
)
_BLANK = {pa.string(): "", pa.int32(): 0, pa.int64(): 0, pa.float64(): 0.0}


class TableError(BadInput):
    """A table is missing, damaged, or not of the declared schema."""


def table(rows: list[dict]) -> pa.Table:
    """Rows as an Arrow table of ``SCHEMA``; a column that a row leaves out is blank (``""`` or 0).

    Raises TableError on a column that the schema lacks, on a row without a quantity or a value, and on a value that is
    no finite number: an undefined quantity is left out, with the reason said where it is measured.
    """
    columns: dict[str, list] = {name: [] for name in SCHEMA.names}
    for row in rows:
        if unknown := row.keys() - columns.keys():
            raise TableError(f"no column {sorted(unknown)} in a gramlab table; it has {SCHEMA.names}")
        if not row.get("quantity") or isinstance(row.get("value"), bool) or not isinstance(row.get("value"), Real):
            raise TableError(f"a row needs a quantity and a number as its value: {row}")
        if empty := [name for name, cell in row.items() if cell is None]:
            raise TableError(f"{', '.join(empty)} is None in row {row}: leave it out")
        for field in SCHEMA:
            columns[field.name].append(row.get(field.name, _BLANK[field.type]))
    made = pa.table(columns, schema=SCHEMA)
    for name in ("x", "value"):
        for row, number in zip(rows, columns[name], strict=True):
            if number != number or number in (float("inf"), float("-inf")):
                raise TableError(f"{name} is {number} in row {row}")
    return made


def write(path: Path | str, rows: list[dict]) -> None:
    """Write rows to a Parquet file, whole or not at all; equal rows give equal bytes. Or raises TableError."""
    made = table(rows)
    try:
        with atomic(Path(path)) as temporary:
            pq.write_table(made, temporary, compression="zstd")
    except OSError as error:
        raise TableError(f"{path}: not written ({error})") from error


def read(path: Path | str) -> pa.Table:
    """Read a table back. Raises TableError naming the file when it is missing, damaged or of another schema."""
    try:
        # not through pyarrow.dataset, which takes longer to import than a check to run
        found = pq.ParquetFile(path).read()
    except (OSError, pa.ArrowInvalid) as error:
        raise TableError(f"{path}: not a readable Parquet table ({error})") from error
    if not found.schema.equals(SCHEMA):
        raise TableError(f"{path}: its columns are {found.schema.names}, not those of a gramlab table, {SCHEMA.names}")
    return found
