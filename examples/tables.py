"""Read gramlab's tables with pandas and DuckDB.

    pip install duckdb
    python examples/tables.py reports/paper/tables
    python examples/tables.py data/quick/tables           # after `make repro`

Prints how many rows and seeds each table has (DuckDB, over all files), and A.fig7's correlations by layer (pandas).
"""

import sys
from pathlib import Path

import duckdb
import pandas as pd


def main(folder: Path) -> None:
    """Print an overview of all tables, and the means and deviations of one."""
    files = str(folder / "*.parquet")
    overview = """
        select experiment, count(*) as rows, count(distinct seed) as seeds, count(distinct quantity) as quantities
        from read_parquet(?) group by experiment order by rows desc limit 8
    """
    print(duckdb.execute(overview, [files]).df().to_string(index=False), end="\n\n")

    table = pd.read_parquet(folder / "a_fig7.parquet")
    correlations = table["quantity"].str.startswith("pearson/") & (table["arm"] == "claim")
    last = table[correlations & (table["step"] == table["step"].max())]
    columns = ["case", "layer", "quantity"]
    print(last.groupby(columns)["value"].agg(["mean", "std", "count"]).to_string(float_format="{:.3f}".format))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "reports/paper/tables"))
