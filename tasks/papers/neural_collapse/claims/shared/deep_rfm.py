"""Rules that several checks of paper D share: collapse by layer and place, and the Gram image of a simplex ETF."""

from dataclasses import replace

import numpy as np

from tasks.judging.rules import Finding, Rows, every, kendall, positive

CLOSE, K = 0.1, 10


def collapse(rows: Rows, features: str) -> Finding:
    """In every data set, over seeds: NC1 and NC2 fall with the layer, and mean log steps of NC1 at M^{1/2} and Φ.

    Layer by layer NC1 falls if it falls in most of the steps and is lower at the last layer than at the first, as
    Kendall's tau alone does not tell: a curve that falls steeply and then rises can have it above 0.
    """
    cases = [case for case in sorted(set(rows.case.tolist())) if case.endswith(features)]
    parts: dict[str, Finding] = {}
    first, last, fell = [], [], []  # of the data, before M^{1/2}
    for case in cases:
        own = rows.where(case=case)
        data, agop, after = (curves(own, f"nc1/{place}") for place in ("data", "agop", "features"))
        nc2 = curves(own, "nc2/data")
        steps = (np.diff(data) < 0).mean(1)
        parts |= {
            f"{case}: NC1 with depth": positive(trend(data), "fall of NC1 with the layer, as Kendall's tau"),
            f"{case}: NC1 layer by layer": positive(steps - 0.5, "share of steps in which NC1 falls - 1/2"),
            f"{case}: NC1 at last": positive(np.log(data[:, 0] / data[:, -1]), "log fall from first to last layer"),
            f"{case}: NC1 at the AGOP": positive(np.log(data / agop).mean(1), "mean log fall of NC1 at M^{1/2}"),
            f"{case}: NC1 at the features": positive(np.log(after / agop).mean(1), "mean log rise of NC1 at Φ"),
            f"{case}: NC2 with depth": positive(trend(nc2), "fall of NC2 with the layer, as Kendall's tau"),
        }
        first.append(data[:, 0].mean())
        last.append(data[:, -1].mean())
        fell.append(steps.mean())
    found = every(**parts)
    measured = f"NC1 {max(first):.2g} → {max(last):.2g} at most; falls in {100 * min(fell):.0f} % of the steps or more"
    return _said(found, measured, rows, cases)


def _said(found: Finding, measured: str, rows: Rows, cases: list[str]) -> Finding:
    """With ``measured``, the parts that were not found, and where kernels were singular the ridge that was used."""
    weak = [name for name, part in found.parts.items() if not part.holds]
    said = measured + (f"; not so: {', '.join(weak)}" if weak else "")
    for case in cases:
        used = curves(rows.where(case=case), "ridge")
        if used.any():
            count = np.unique((used > 0).sum(1))
            layers = " to ".join(dict.fromkeys((str(count[0]), str(count[-1]))))
            said += f"; {case}: ridge {used.max():.1e} in {layers} of {used.shape[1]} layers"
    return replace(found, measured=said)


def curves(rows: Rows, quantity: str) -> np.ndarray:
    """(seeds, layers)."""
    return np.array([one.value[np.argsort(one.x)] for one in rows.where(quantity=quantity).by("seed").values()])


def trend(series: np.ndarray) -> np.ndarray:
    """Per seed, Kendall's tau of the fall with the layer."""
    return np.array([-kendall(one) for one in series])


def simplex(rows: Rows, features: tuple[str, ...]) -> Finding:
    """In every data set, deviations from 1 within and -1/(K-1) across classes: intervals over seeds below a tenth."""
    parts: dict[str, Finding] = {}
    cosines = []
    cases = sorted({case for case in rows.case.tolist() if case.endswith(features)})
    for case in cases:
        own = rows.where(case=case)
        within, across, spread = (_last(own, f"gram/{name}") for name in ("within", "across", "spread"))
        parts |= {
            f"{case}: within": _close(1 - within, "(1 less the cosine within a class)"),
            f"{case}: across": _close(np.abs(across + 1 / (K - 1)), "cosine across classes, distance from -1/(K-1)"),
            f"{case}: pairs of classes": _close(spread, "root mean square of that over pairs of classes"),
        }
        cosines.append((within.mean(), across.mean()))
    found = every(**parts)
    least, _ = min(cosines)
    measured = (
        f"within {least:.3f} or more, across {min(a for _, a in cosines):.4f} to {max(a for _, a in cosines):.4f}"
    )
    return _said(found, measured, rows, cases)


def _last(rows: Rows, quantity: str) -> np.ndarray:
    found = rows.where(quantity=quantity)
    return found.where(x=found.x.max()).value


def _close(away: np.ndarray, what: str) -> Finding:
    return replace(positive(CLOSE - away, f"{CLOSE:g} - {what}"), numbers={"mean away": float(away.mean())})
