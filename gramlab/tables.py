"""Tidy Parquet tables: one row an observation, one schema for everything that gramlab measures."""

import math
from collections.abc import Collection, Mapping
from numbers import Real
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from gramlab.arguments import Check
from gramlab.files import BadInput, atomic

SCHEMA = pa.schema(
    [
        ("experiment", pa.string()),  # the experiment's key in params.yaml, or the user's own name
        ("scale", pa.string()),  # "quick", "paper", or "user"
        ("arm", pa.string()),  # "claim", or a control that the same rule must reject
        ("case", pa.string()),  # which instance: an architecture, a data set, an activation
        ("seed", pa.int32()),
        ("step", pa.int64()),  # optimizer steps before the measurement
        ("layer", pa.string()),  # the module's name as in model.named_modules()
        ("dtype", pa.string()),  # the precision of the measurement
        ("quantity", pa.string()),
        ("x", pa.float64()),  # the independent variable where there is one: a step size, a pixel's index
        ("value", pa.float64()),
    ]
)
_SEEDS = b"gramlab.seeds"
_BLANK = {pa.string(): "", pa.int32(): 0, pa.int64(): 0, pa.float64(): 0.0}


class TableError(BadInput):
    """A table is missing, damaged, or not of the declared schema."""


def table(rows: list[dict]) -> pa.Table:
    """Convert rows to an Arrow table of ``SCHEMA``.

    Parameters
    ----------
    rows : list of dict
        Each has a ``quantity`` and a finite ``value``. Other columns are optional: ``""`` or 0 where they are missing.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    TableError
        If the rows are no dicts, or a row has an unknown column or a cell of None, lacks its quantity or value, or
        holds a number that is not finite, or a cell that does not fit its column, such as a seed beyond int32 or a step
        of 1.5. Leave a quantity that is undefined out of the rows.

    Examples
    --------
    >>> from gramlab import tables
    >>> tables.table([{"layer": "0", "quantity": "nfa", "value": 0.9}]).column("value").to_pylist()
    [0.9]
    """
    if hasattr(rows, "to_dict"):  # pandas, whose rows would be read as the names of columns
        kind = type(rows).__name__
        raise TableError(f"rows must be a list of dicts, not a {kind}: of a DataFrame pass frame.to_dict('records')")
    known = set(SCHEMA.names)
    for row in rows:
        if not isinstance(row, Mapping):
            raise TableError(f"a row must be a dict of columns and cells, not {row!r}")
        if row.keys() - known:
            Check(TableError).choices("columns", row, SCHEMA.names)
        if not row.get("quantity") or isinstance(row.get("value"), bool) or not isinstance(row.get("value"), Real):
            raise TableError(f"a row needs a quantity and a number as its value: {row}")
        for name, cell in row.items():
            if cell is None:
                raise TableError(f"{name} is None in row {row}: leave it out")
            if name in ("x", "value") and isinstance(cell, Real) and not math.isfinite(cell):
                raise TableError(f"{name} is {cell} in row {row}")
    columns = {field.name: [row.get(field.name, _BLANK[field.type]) for row in rows] for field in SCHEMA}
    try:
        arrow_table = pa.table(columns, schema=SCHEMA)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        _check_cells(rows, columns)
        raise
    _check_whole(rows, columns, arrow_table)
    return arrow_table


def _check_cells(rows: list[dict], columns: Mapping[str, list]) -> None:
    """Raise TableError for the first cell that does not fit its column."""
    for field in SCHEMA:
        for row, cell in zip(rows, columns[field.name], strict=True):
            try:
                pa.array([cell], type=field.type)
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                message = f"{field.name} is {cell!r}, which does not fit the column's type, {field.type}, in row {row}"
                raise TableError(message) from error


def _check_whole(rows: list[dict], columns: Mapping[str, list], arrow_table: pa.Table) -> None:
    """Raise TableError for the first seed or step that is no whole number: pyarrow cuts its digits silently."""
    for name in ("seed", "step"):
        for row, cell, whole in zip(rows, columns[name], arrow_table.column(name).to_pylist(), strict=True):
            if cell != whole:
                raise TableError(f"{name} is {cell!r} in row {row}: it must be a whole number")


def write(path: Path | str, rows: list[dict], seeds: Collection[int] = ()) -> None:
    """Write rows to a Parquet file, completely or not at all. Equal rows give equal bytes.

    Parameters
    ----------
    path : Path or str
        The Parquet file.
    rows : list of dict
        As for ``table``.
    seeds : collection of int
        How many seeds the settings ask for; several numbers where runs of a table differ. A reader can so tell that
        rows are missing. Kept in the file's metadata.

    Raises
    ------
    TableError
        If ``table`` refuses the rows, or the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from gramlab import tables
    >>> path = tempfile.mkdtemp() + "/run.parquet"
    >>> tables.write(path, [{"quantity": "loss", "step": 10, "value": 0.25}])
    >>> tables.read(path).column("step").to_pylist()
    [10]
    """
    arrow_table = table(rows)
    if seeds:
        text = ",".join(str(number) for number in sorted(set(seeds)))
        arrow_table = arrow_table.replace_schema_metadata({_SEEDS: text})
    try:
        with atomic(Path(path)) as temporary:
            pq.write_table(arrow_table, temporary, compression="zstd")
    except OSError as error:
        raise TableError(f"{path}: cannot be written ({error})") from error


def read(path: Path | str) -> pa.Table:
    """Read a table that ``write`` wrote.

    Parameters
    ----------
    path : Path or str
        The Parquet file.

    Returns
    -------
    pyarrow.Table
        With the columns of ``SCHEMA``.

    Raises
    ------
    TableError
        If the file is missing, damaged, or has another schema.

    Examples
    --------
    >>> import tempfile
    >>> from gramlab import tables
    >>> path = tempfile.mkdtemp() + "/run.parquet"
    >>> tables.write(path, [{"quantity": "loss", "value": 0.25}])
    >>> tables.read(path).column("value").to_pylist()
    [0.25]
    """
    try:
        # ParquetFile rather than pyarrow.dataset, whose import takes longer than a check
        arrow_table = pq.ParquetFile(path).read()
    except (OSError, pa.ArrowInvalid) as error:
        raise TableError(f"{path}: not a readable Parquet table ({error})") from error
    if not arrow_table.schema.equals(SCHEMA):
        raise TableError(f"{path}: not a gramlab table: {_difference(arrow_table.schema)}")
    return arrow_table


def _difference(schema: pa.Schema) -> str:
    """How a schema differs from ``SCHEMA``, and what to do."""
    differences = []
    if missing := [name for name in SCHEMA.names if name not in schema.names]:
        differences.append(f"it lacks the columns {', '.join(missing)}")
    if unknown := [name for name in schema.names if name not in SCHEMA.names]:
        differences.append(f"it has the columns {', '.join(unknown)}, which no gramlab table has")
    by_types: dict[tuple[pa.DataType, pa.DataType], list[str]] = {}
    for field in schema:
        if field.name in SCHEMA.names and field.type != (expected := SCHEMA.field(field.name).type):
            by_types.setdefault((field.type, expected), []).append(field.name)
    differences += [f"the type of {', '.join(names)} is {found}, not {expected}"
                    for (found, expected), names in by_types.items()]  # fmt: skip
    if not differences:
        differences.append(f"the order of its columns is not {', '.join(SCHEMA.names)}")
    advice = "to save a DataFrame, call gramlab.tables.write(path, frame.to_dict('records')) in place of to_parquet"
    return f"{'; '.join(differences)}; {advice}"


def seeds(arrow_table: pa.Table) -> set[int]:
    """The numbers of seeds that ``write`` was given; empty where it was given none.

    Parameters
    ----------
    arrow_table : pyarrow.Table
        As from ``read``.

    Returns
    -------
    set of int

    Examples
    --------
    >>> import tempfile
    >>> from gramlab import tables
    >>> path = tempfile.mkdtemp() + "/run.parquet"
    >>> tables.write(path, [{"quantity": "loss", "value": 0.25}], seeds=[5])
    >>> tables.seeds(tables.read(path))
    {5}
    """
    text = (arrow_table.schema.metadata or {}).get(_SEEDS, b"")
    return {int(number) for number in text.decode().split(",") if number}
