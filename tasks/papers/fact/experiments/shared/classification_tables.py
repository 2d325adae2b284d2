"""C.tab3's data sets: a folder of tables, or scikit-learn's own data sets."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from scipy.io import arff
from sklearn import datasets
from torch import Tensor

from gramlab.files import BadInput
from tasks.settings import load

SCIKIT_LEARN = ("iris", "wine", "breast_cancer", "digits")


def read_arff(file: Path) -> pd.DataFrame:
    """The table of an ARFF file, with its nominal values as text."""
    table = pd.DataFrame(arff.loadarff(file)[0])
    for name, column in table.items():
        if not pd.api.types.is_numeric_dtype(column):
            text = column.str.decode("utf-8")
            table[name] = text.where(text != "?")
    return table


READERS = {".parquet": pd.read_parquet, ".arff": read_arff, ".csv": pd.read_csv}


def data_sets(folder: str | None, largest: int) -> Iterator[tuple[str, Tensor, np.ndarray]]:
    """Name, inputs (n, d) and classes (n,) of each data set.

    ``folder`` lies under the data root and holds Parquet, ARFF or CSV tables; tables of more than ``largest`` rows are
    left out. The column y or, without y, the last column holds the classes. Numbers are standardised, and a missing
    number is the column's mean. A column is one-hot coded if it holds text or if ``datasets.json`` beside the folder
    calls it nominal. Without a folder: the first ``largest`` rows of scikit-learn's data sets. Raises BadInput.
    """
    if folder is None:
        for name in SCIKIT_LEARN:
            x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
            yield name, torch.from_numpy(_standardised(x[:largest].astype(float))), y[:largest]
        return
    root = load("paper").machine.root() / folder
    if not root.is_dir():
        raise BadInput(f"{root}: no such folder; GRAMLAB_DATA names the one that it lies in")
    description_file = root.parent / "datasets.json"
    descriptions = json.loads(description_file.read_text()) if description_file.is_file() else {}
    files = sorted(file for file in root.iterdir() if file.suffix in READERS)
    if not files:
        raise BadInput(f"{root}: no {', '.join(READERS)} files")
    for file in files:
        try:
            table = READERS[file.suffix](file)
        except (ValueError, OSError, NotImplementedError) as error:  # what the readers raise on a damaged file
            raise BadInput(f"{file}: not a readable table ({' '.join(str(error).split())})") from error
        if len(table) > largest:
            continue
        classes = table.pop("y" if "y" in table else table.columns[-1])
        if classes.isna().any() or classes.nunique() < 2:
            raise BadInput(f"{file}: column {classes.name} must hold at least two classes, and one in every row")
        columns = descriptions.get(file.stem, {}).get("columns", [])
        nominal = {column["column"] for column in columns if column["kind"] == "nominal"}
        yield file.stem, _inputs(table, nominal, file), classes.to_numpy()


def _inputs(table: pd.DataFrame, nominal: set[str], file: Path) -> Tensor:
    columns = []
    for name, column in table.items():
        if name in nominal or not pd.api.types.is_numeric_dtype(column):
            columns += [(column == value).to_numpy(float) for value in sorted(column.dropna().unique())]
        else:
            columns.append(column.to_numpy(float, na_value=np.nan))
    if not columns:
        raise BadInput(f"{file}: no column beside the classes")
    return torch.from_numpy(_standardised(np.stack(columns, 1)))


def _standardised(x: np.ndarray) -> np.ndarray:
    mean, deviation = np.nanmean(x, 0), np.nanstd(x, 0)
    return np.nan_to_num((x - mean) / np.where(deviation > 0, deviation, 1))
