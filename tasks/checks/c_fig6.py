"""Addition modulo 61 is learned by both updates with delay: all of the table's other half, long after the first.

FACT-RFM with geometric averaging and NFA-RFM; without feature learning nothing generalises. The features are then
block-circulant: within each block an entry depends on i - j, or on i + j, modulo p alone.
"""

from dataclasses import replace

import numpy as np

from tasks.judge import Finding, Rows, every, positive

ID = "C.fig6"
KIND = "statistical"
TITLE = "Modular addition: delayed generalisation and circulant features"
PRINTED = "100 % test accuracy of both within 75 iterations, block-circulant features, Figure 6"
QUANTITIES = ("modular/accuracy", "modular/train accuracy", "modular/circulancy", "modular/feature")
LINES = ("accuracy", "train accuracy", "circulancy")
FITTED, LEARNED = 0.99, 0.95  # accuracies


def rule(rows: Rows) -> Finding:
    """By seeds, for both: test accuracy above 0.95 in the end, a delay, half of the features' variance circulant."""
    parts = {}
    for (case,), machine in rows.by("case").items():
        found: dict[str, list[float]] = {"accuracy": [], "delay": [], "circulancy": []}
        for seed in machine.by("seed").values():
            line = {name: seed.where(quantity=f"modular/{name}") for name in LINES}
            x = np.sort(line["accuracy"].x)
            test, train, circulant = (one.value[np.argsort(one.x)] for one in line.values())
            learned = bool((test >= LEARNED).any())
            found["accuracy"].append(float(test[-1]))
            delay = x[(test >= LEARNED).argmax()] - x[(train >= FITTED).argmax()]
            found["delay"].append(float(delay) if learned else -1.0)
            found["circulancy"].append(float(circulant[-1]))
        least = {"accuracy": LEARNED, "delay": 0.0, "circulancy": 0.5}
        what = {
            "accuracy": "test accuracy at the last iterate",
            "delay": f"iterates from a training accuracy of {FITTED} to a test accuracy of {LEARNED} (never: -1)",
            "circulancy": "circulant share of the features' variance",
        }
        for name, values in found.items():
            finding = positive(np.array(values) - least[name], f"{what[name]} - {least[name]:g}")
            parts[f"{case}: {name}"] = replace(finding, numbers={"mean": float(np.mean(values))})
    return every(**parts)
