"""What the claims on Deep RFM have in common: which cases they judge, and what they report beside the numbers."""

from dataclasses import replace

import numpy as np

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding


def cases_ending_with(rows: Rows, endings: str | tuple[str, ...]) -> list[str]:
    """The cases "data set, kernel, features" with one of these endings, sorted."""
    return sorted({case for case in rows.case.tolist() if case.endswith(endings)})


def by_layer(rows: Rows, quantity: str) -> np.ndarray:
    """The values of a quantity, (seeds, layers)."""
    seeds = rows.where(quantity=quantity).by("seed").values()
    return np.array([seed.value[np.argsort(seed.x)] for seed in seeds])


def reported(finding: Finding, measured: str, rows: Rows, cases: list[str]) -> Finding:
    """The finding with ``measured``, the parts that are not supported, and the ridge on singular kernel matrices."""
    if unsupported := [name for name, part in finding.parts.items() if not part.holds]:
        measured += f"; not supported: {', '.join(unsupported)}"
    for case in cases:
        ridge = by_layer(rows.where(case=case), "ridge")
        if ridge.any():
            counts = np.unique((ridge > 0).sum(1))
            count = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
            measured += f"; {case}: ridge {ridge.max():.1e} in {count} of {ridge.shape[1]} layers"
    return replace(finding, measured=measured)
