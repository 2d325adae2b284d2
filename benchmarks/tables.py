"""Compare untuned gramlab.RFM and xRFM, as a user calls them: accuracy and CPU time on many small tables.

    python benchmarks/tables.py TABLES [--xrfm FOLDER] [--half development|report|all] [--splits 5] [--out FILE]

TABLES holds the folders ``classification`` and ``regression`` of Parquet files with columns x0, x1, … and y, and
``datasets.json`` with the kind of each column. FOLDER holds the package xrfm (`pip install --no-deps --target FOLDER
xrfm`).

The protocol was fixed before the defaults of ``gramlab.RFM`` were chosen:

- Tables: all of at most 5,000 rows. In alphabetical order of a kind, the first, third, … are for development, the
  others for the report.
- Splits: 80 % to fit and 20 % to test, five times, drawn by the number of the split.
- Inputs, the same for both: numeric columns with the median for a missing value, standardised; nominal columns one-hot,
  with a missing value as a category. Values of a regression are standardised. All by the 80 %.
- gramlab: ``RFM(task).fit(x, y)``. xRFM: ``xRFM().fit(x, y, x_val, y_val)`` where a fifth of the 80 % is the validation
  set, as its README has it, because it needs one.
- Score: accuracy, or R² in regression. CPU time of fit and predict, on one thread, the programs in turn.
"""

import argparse
import json
import statistics
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import gramlab

MOST_ROWS = 5000
HALVES = {"development": slice(0, None, 2), "report": slice(1, None, 2), "all": slice(None)}


def tables(folder: Path, half: str) -> list[tuple[str, str]]:
    """Kind and name of the tables of a half."""
    entries = json.loads((folder / "datasets.json").read_text(encoding="utf-8"))
    kinds = {kind: sorted(name for name, entry in entries.items()
                          if entry["task"] == kind and entry["rows"] <= MOST_ROWS)
             for kind in ("classification", "regression")}  # fmt: skip
    return [(kind, name) for kind, names in kinds.items() for name in names[HALVES[half]]]


def split(folder: Path, kind: str, name: str, number: int):
    """Inputs and targets to fit and to test, as both programs get them."""
    entry = json.loads((folder / "datasets.json").read_text(encoding="utf-8"))[name]
    frame = pd.read_parquet(folder / kind / f"{name}.parquet")
    nominal = [column["column"] for column in entry["columns"] if column["kind"] == "nominal"]
    numeric = [column["column"] for column in entry["columns"] if column["kind"] != "nominal"]
    order = np.random.default_rng(number).permutation(len(frame))
    train, test = (frame.iloc[rows] for rows in np.split(order, [int(0.8 * len(frame))]))
    median = SimpleImputer(strategy="median", keep_empty_features=True)
    missing, codes = SimpleImputer(strategy="constant", fill_value=-1), OneHotEncoder(handle_unknown="ignore")
    prepare = ColumnTransformer([("numeric", make_pipeline(median, StandardScaler()), numeric),
                                 ("nominal", make_pipeline(missing, codes), nominal)], sparse_threshold=0)  # fmt: skip
    x, x_test = prepare.fit_transform(train), prepare.transform(test)
    y, y_test = train["y"].to_numpy(), test["y"].to_numpy()
    if kind == "regression":
        mean, spread = y.mean(), y.std()
        y, y_test = (y - mean) / spread, (y_test - mean) / spread
    return x, y, x_test, y_test


def by_gramlab(kind, x, y, x_test, number, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = gramlab.RFM(kind, **options).fit(x, y)
    return machine.predict(x_test)


def by_xrfm(kind, x, y, x_test, number):
    from xrfm import xRFM

    order = np.random.default_rng(1000 + number).permutation(len(x))
    fit, val = np.split(order, [int(0.8 * len(x))])
    x, x_test = x.astype(np.float32), x_test.astype(np.float32)
    y = y.astype(np.int64) if kind == "classification" else y.astype(np.float32)
    machine = xRFM(device="cpu", random_state=number, verbose=False)
    machine.fit(x[fit], y[fit], x[val], y[val])
    predictions = machine.predict(x_test)
    return np.asarray(predictions).reshape(len(x_test), -1)[:, 0]


def compare(folder: Path, kind: str, name: str, splits: int, programs: dict) -> dict[str, dict[str, list[float]]]:
    """Scores and CPU seconds of each program on each split."""
    results: dict[str, dict[str, list[float]]] = {program: {"score": [], "seconds": []} for program in programs}
    metric = accuracy_score if kind == "classification" else r2_score
    for number in range(splits):
        x, y, x_test, y_test = split(folder, kind, name, number)
        for program, run in programs.items():
            start = time.process_time()
            predictions = run(kind, x, y, x_test, number)
            results[program]["seconds"].append(time.process_time() - start)
            results[program]["score"].append(float(metric(y_test, predictions)))
    return results


def summary(results: dict[str, dict]) -> list[str]:
    """Lines: mean scores and total CPU seconds of each kind, and the pairs' differences and ratios over tables."""
    lines = []
    for kind in ("classification", "regression"):
        mine = {name: result["programs"] for name, result in results.items() if result["kind"] == kind}
        if not mine:
            continue
        programs = list(next(iter(mine.values())))
        score = {p: [statistics.mean(measured[p]["score"]) for measured in mine.values()] for p in programs}
        seconds = {p: [statistics.mean(measured[p]["seconds"]) for measured in mine.values()] for p in programs}
        for p in programs:
            lines.append(f"{kind}, {len(mine)} tables: {p}: mean score {statistics.mean(score[p]):.4f}, "
                         f"CPU {sum(seconds[p]):.2f} s a split")  # fmt: skip
        for p in programs[1:]:
            gaps = [a - b for a, b in zip(score[programs[0]], score[p], strict=True)]
            ratios = [a / b for a, b in zip(seconds[programs[0]], seconds[p], strict=True)]
            error = statistics.stdev(gaps) / len(gaps) ** 0.5 if len(gaps) > 1 else float("nan")
            better, worse = sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)
            total = sum(seconds[programs[0]]) / sum(seconds[p])
            lines.append(f"  against {p}: score {statistics.mean(gaps):+.4f} (standard error {error:.4f}), better on "
                         f"{better}, worse on {worse}; CPU: ratio of totals {total:.2f}, median of tables "
                         f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")  # fmt: skip
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", type=Path)
    parser.add_argument("--xrfm")
    parser.add_argument("--half", choices=list(HALVES), default="report")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    programs = {"gramlab": by_gramlab}
    if options.xrfm:
        sys.path.append(options.xrfm)
        programs["xRFM"] = by_xrfm
    for run in programs.values():  # imports and first calls
        run("regression", np.eye(30), np.arange(30.0), np.eye(30), 0)
    results = {}
    for kind, name in tables(options.tables, options.half):
        measured = compare(options.tables, kind, name, options.splits, programs)
        results[name] = {"kind": kind, "programs": measured}
        means = [(statistics.mean(result["score"]), statistics.mean(result["seconds"])) for result in measured.values()]
        print(
            f"| {name} | " + " | ".join(f"{score:.3f} | {seconds:.3f}" for score, seconds in means) + " |", flush=True
        )
    print("\n".join(summary(results)))
    if options.out:
        options.out.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
