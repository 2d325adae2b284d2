"""A gradient step changes the surrogate by S(G+) - S(G) ~ 2 gamma (f^T y) (y^T K g), for a homogeneous f.

K_ij = h_i^T h_j and g = -grad_f L; by the theorem for f 1-homogeneous in h, by its footnote for m-homogeneous f and
labels of mean 0. "~" is read as: over training the two sides correlate, agree in sign more often than by chance, and
are within a factor of two of each other (the slope of the measured on the predicted change, through the origin).
At the readout f is linear in h and the two sides are equal but for O(gamma^2), so it is not judged.
"""

from dataclasses import replace

import numpy as np

from tasks.judge import Finding, Rows, every, fisher, interval, positive

ID = "A.thm3"
KIND = "statistical"
TITLE = "The surrogate's change in a gradient step"
PRINTED = "𝒮(G⁺) − 𝒮(G) ≈ 2γ(fᵀy)(yᵀKg), Theorem 3"
QUANTITIES = ("thm3/measured", "thm3/predicted", "beyond/measured", "beyond/predicted")
FACTOR = 2.0


def rule(rows: Rows) -> Finding:
    """Every kind of network, loss and layer below the readout for itself; the verdict is that of the weakest."""
    found: dict[str, list[Finding]] = {"correlation": [], "sign": [], "slope": []}
    numbers = {}
    for (case, layer), seeds in _sides(rows, "thm3").items():
        correlations, signs, slopes = statistics(seeds)
        if layer == "readout":
            numbers[f"{case}, readout: slope"] = float(slopes.mean())
            continue
        found["correlation"].append(positive(np.arctanh(correlations), "Fisher's z of the correlation over the steps"))
        found["sign"].append(positive(signs - 0.5, "share of steps with equal signs, less one half"))
        found["slope"].append(_within(slopes))
        numbers |= _numbers(f"{case}, layer {layer}", correlations, signs, slopes)
    for (case, layer), seeds in _sides(rows, "beyond").items():
        if layer != "readout":
            numbers |= _numbers(f"beyond, {case}, layer {layer}", *statistics(seeds))
    parts = {name: every(**{str(index): one for index, one in enumerate(ones)}) for name, ones in found.items()}
    joint = every(**{name: replace(one, rule=found[name][0].rule, numbers={}) for name, one in parts.items()})
    low, high = (f([one.statistic for one in found["slope"]]) for f in (min, max))
    kept = sum(one.holds is True for one in found["slope"])
    measured = f"slopes {low:.2f} to {high:.2f}, {kept} of {len(found['slope'])} surely within a factor {FACTOR:g}"
    return replace(joint, rule=f"of every network and layer: {joint.rule}", numbers=numbers, measured=measured)


def statistics(seeds: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each seed's measured and predicted series: correlation, share of equal signs, slope through the origin."""
    correlations = np.array([np.corrcoef(measured, predicted)[0, 1] for measured, predicted in seeds])
    signs = np.array([np.mean(np.sign(measured) == np.sign(predicted)) for measured, predicted in seeds])
    slopes = np.array([measured @ predicted / (predicted @ predicted) for measured, predicted in seeds])
    return correlations, signs, slopes


def _sides(rows: Rows, quantity: str) -> dict[tuple, list[tuple[np.ndarray, np.ndarray]]]:
    """By case and layer, for each seed the measured and the predicted change in the order of the steps."""
    found: dict[tuple, list[tuple[np.ndarray, np.ndarray]]] = {}
    left, right = (rows.where(quantity=f"{quantity}/{side}").by("case", "layer", "seed") for side in
                   ("measured", "predicted"))  # fmt: skip
    for (case, layer, seed), one in left.items():
        sides = (one, right[case, layer, seed])
        measured, predicted = (side.value[np.argsort(side.step)] for side in sides)
        found.setdefault((case, layer), []).append((measured, predicted))
    return found


def _within(slopes: np.ndarray) -> Finding:
    mean, low, high = interval(slopes)
    inside, outside = low >= 1 / FACTOR and high <= FACTOR, high < 1 / FACTOR or low > FACTOR
    rule = f"slope, mean over {len(slopes)} seeds, its Student's t interval at 95 % within [{1 / FACTOR:g}, {FACTOR:g}]"
    return Finding(True if inside else False if outside else None, mean, rule, "direction", low, high)


def _numbers(name: str, correlations: np.ndarray, signs: np.ndarray, slopes: np.ndarray) -> dict[str, float]:
    mean, low, high = interval(slopes)
    return {f"{name}: correlation": fisher(correlations)[0], f"{name}: equal signs": float(signs.mean()),
            f"{name}: slope": mean, f"{name}: slope, low": low, f"{name}: slope, high": high}  # fmt: skip
