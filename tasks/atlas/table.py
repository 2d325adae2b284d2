"""The atlas's table: one row for each network, layer, snapshot, side, target and entrant."""

import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gramlab.files import atomic
from gramlab.tables import TableError

SCORES = ("cosine", "pearson", "diagonal")  # diagonal: Pearson's correlation of the diagonals
NULLS = ("null", "scrambled")
SCHEMA = pa.schema(
    [
        ("cell", pa.string()),  # a key of pipeline/atlas/cells.yaml
        ("seed", pa.int32()),
        ("layer", pa.string()),  # the module's name as in model.named_modules()
        ("depth", pa.int32()),  # the layer's number from the input, from 0
        ("step", pa.int64()),  # optimizer steps before the measurement
        ("side", pa.string()),  # "forward": WᵀW (d, d); "backward": WWᵀ (k, k)
        ("target", pa.string()),  # "gram": WᵀW; "change": WᵀW − W₀ᵀW₀
        ("entrant", pa.string()),  # a name of tasks.atlas.laws.LAWS
        ("badge", pa.string()),  # "": in the contest; "identity": true by construction; "control": must lose
        *((score, pa.float64()) for score in SCORES),
        # a score's 97.5 % quantile over targets whose eigenvectors are random
        *((f"null_{score}", pa.float64()) for score in SCORES),
        # the mean score of the same law after its signals are turned at random against the weights; first and last
        # snapshots only, else empty
        *((f"scrambled_{score}", pa.float64()) for score in SCORES),
    ]
)
LABELS = ("cell", "seed", "layer", "depth", "step", "side", "target", "entrant", "badge")


def from_rows(rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as a table.

    Parameters
    ----------
    rows : list of dict
        With every label and score; ``scrambled_`` columns may be left out.

    Raises
    ------
    TableError
        If a row lacks a label or a score, has another column, or holds a number that is not finite.
    """
    needed, known = {*LABELS, *SCORES, *(f"null_{score}" for score in SCORES)}, set(SCHEMA.names)
    for row in rows:
        if row.keys() - known or needed - row.keys():
            raise TableError(f"a row of the atlas needs {sorted(needed)} and may have {SCHEMA.names}: {row}")
        if not all(math.isfinite(value) for value in row.values() if isinstance(value, float)):
            raise TableError(f"a number is not finite in row {row}")
    return pa.table({field.name: [row.get(field.name) for row in rows] for field in SCHEMA}, schema=SCHEMA)


def write(path: Path, table: pa.Table) -> None:
    """Write a table, completely or not at all; equal rows give equal bytes."""
    with atomic(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def read(*paths: Path) -> pa.Table:
    """Read tables that ``write`` wrote, one after the other.

    Raises
    ------
    TableError
        If a file is missing, damaged, or has another schema.
    """
    tables = []
    for path in paths:
        try:
            table = pq.ParquetFile(path).read()
        except (OSError, pa.ArrowInvalid) as error:
            raise TableError(f"{path}: not a readable Parquet table ({error})") from error
        if not table.schema.equals(SCHEMA):
            raise TableError(f"{path}: its columns are {table.schema.names}; the atlas has {SCHEMA.names}")
        tables.append(table)
    return pa.concat_tables(tables) if tables else SCHEMA.empty_table()
