"""Rules that several checks of paper C share: FACT's correlation with a weight's Gram against others', and its rise."""

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from tasks.judging.rules import Finding, Rows, curves, every, fisher, matches, positive

OTHERS = ("agop", "root agop", "enfa", "root enfa")
NAMES = ("fact", "symmetric fact", *OTHERS)
HIDDEN = {"0", "2", "4", "6", "8"}  # not the readout: there AGOP is W^T W before any training, and bAGOP the identity


def z(rows: Rows, name: str, *by: str) -> np.ndarray:
    """Fisher's z of pearson/NAME, by seed and these columns, and by step on the last axis."""
    return np.arctanh(np.clip(curves(rows.where(quantity=f"pearson/{name}"), "seed", *by), -1 + 1e-15, 1 - 1e-15))


def above_null(rows: Rows, name: str, *by: str) -> dict[str, Finding]:
    """After training NAME is above its null, random directions of the Gram's spectrum, at worst of these columns.

    Judged where the table has null/NAME: tables of before it was measured go without.
    """
    null = rows.where(quantity=f"null/{name}")
    if not len(null):
        return {}
    lead = z(rows, name, *by)[..., -1] - np.arctanh(curves(null, "seed", *by)[..., -1])
    least = lead.reshape(len(lead), -1).min(1)
    return {f"{name} above its null": positive(least, f"z of {name} minus its null's 97.5 % quantile")}


def ahead(rows: Rows, side: str = "") -> Finding:
    """After training FACT is ahead of AGOP, eNFA and their roots on every hidden layer: paired by seed, its worst.

    So in every data set.
    """
    parts: dict[str, Finding] = {}
    numbers: dict[str, float] = {}
    for (case,), one in rows.where(layer=HIDDEN).by("case").items():
        for other in OTHERS:
            lead = (z(one, f"{side}fact", "layer") - z(one, f"{side}{other}", "layer"))[..., -1].min(1)
            parts[f"{case}: above {other}"] = positive(lead, f"z of FACT minus z of {other} on the worst layer")
        null = above_null(one, f"{side}fact", "layer")
        parts |= {f"{case}: {name}": found for name, found in null.items()}
        for name in NAMES:
            worst = z(one, f"{side}{name}", "layer")[..., -1].min(1)
            numbers[f"{case}: {name}, worst layer"] = float(np.tanh(worst.mean()))
    found = every(**parts)
    return replace(found, numbers={**found.numbers, **numbers})


def rise(rows: Rows, side: str = "") -> Finding:
    """FACT's correlation, mean over layers, is below 0.5 at most epochs, above 0.9 at last; the root's is higher.

    On CIFAR-10, of which Figures 8 and 10 are.
    """
    rows = rows.where(case="CIFAR-10")
    fact, root = (curves(rows.where(quantity=f"pearson/{side}{name}"), "seed", "layer").mean(1) for name in NAMES[:2])
    found = every(
        low=positive(0.5 - np.median(fact, 1), "0.5 minus FACT's median over epochs"),
        end=positive(fact[:, -1] - 0.9, "FACT's correlation after training minus 0.9"),
        root=positive(np.median(root - fact, 1), "√(FACT FACTᵀ)'s correlation minus FACT's, median over epochs"),
        **above_null(rows, f"{side}fact", "layer"),
    )
    found.numbers["FACT, first epoch"] = float(fact[:, 0].mean())
    found.numbers["FACT, median over epochs"] = float(np.median(fact, 1).mean())
    found.numbers["FACT, last epoch"] = float(fact[:, -1].mean())
    return found


def table_2(rows: Rows, table: Mapping[str, Mapping[str, float]], behind: Collection[str] = ()) -> Finding:
    """In each column √(FACT FACTᵀ), and FACT but in those ``behind``, are above √AGOP and √eNFA: in z, paired by seed.

    table: printed correlations by name and column.
    """
    parts: dict[str, Finding] = {}
    numbers: dict[str, float] = {}
    for (case,), one in rows.by("case").items():
        for name in ("symmetric fact",) if case in behind else ("symmetric fact", "fact"):
            for other in ("root agop", "root enfa"):
                lead = (z(one, name) - z(one, other))[:, -1]
                parts[f"{case}, {name} above {other}"] = positive(lead, f"{case}: z of {name} minus z of {other}")
            parts |= {f"{case}, {part}": found for part, found in above_null(one, name).items()}
        for name, printed in table.items():
            values = np.tanh(z(one, name)[:, -1])
            numbers.update(zip((f"{case}, {name}", f"{case}, {name}, low", f"{case}, {name}, high"), fisher(values),
                               strict=True))  # fmt: skip
            if set(rows.scale) == {"paper"}:
                numbers[f"{case}, {name}, matches print"] = float(matches(values, printed[case], 0.001))
    found = every(**parts)
    return replace(found, numbers={**found.numbers, **numbers})
