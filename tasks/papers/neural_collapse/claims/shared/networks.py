"""Rules that paper D's network figures share; each is judged on every data set, and must hold on all of them."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tasks.judging.rules import Finding, Rows, curves, equals, every, interval, positive


def denoised(rows: Rows, least: float, only: str = "") -> Finding:
    """Figures 2 and 7 to 9: most of the fall of NC1 is S V^T's, where the NFA holds. ``only`` one of the data sets.

    At the end of training, per seed. Falls of log NC1 are summed over the hidden layers: the sum of both parts is what
    they all take from it. Without a fall there is no share of it. The NFA, meant over layers, must be ``least``.
    """
    return _on_each(rows, lambda case, own: _denoised(own, least), only)


def collapsed(rows: Rows, least: float, printed: dict[str, float]) -> Finding:
    """Figures 10 to 12: the last features collapse while the loss falls, and the NFA holds at the end.

    The NFA, meant over layers, must be ``least``, and above random matrices of the same spectra. At paper scale it is
    tested for being the ``printed`` number too, on the data set that one is printed of.
    """
    return _on_each(rows, lambda case, own: _collapsed(own, least, printed.get(case)))


def _on_each(rows: Rows, rule: Callable[[str, Rows], Finding], only: str = "") -> Finding:
    cases = list(dict.fromkeys(rows.case.tolist()))
    cases = [case for case in cases if case.startswith(only)] or cases  # a control on another one is judged on it
    found = {case: rule(case, rows.where(case=case)) for case in cases}
    whole = every(**found)
    said = {one.evidence for one in found.values()}
    evidence = "matches print" if whole.holds and "matches print" in said else whole.evidence
    measured = "; ".join(f"{case}: {one.measured}" for case, one in found.items())
    return replace(whole, evidence=evidence, measured=measured)


def _denoised(rows: Rows, least: float) -> Finding:
    projection, activation = (_ends(rows, f"fall/{part}", "seed") for part in ("projection", "activation"))
    fall = projection + activation
    share = np.divide(projection, fall, out=np.zeros_like(fall), where=fall > 0)
    nfa = _ends(rows, "nfa/mean", "seed")
    found = every(
        fall=positive(fall, "fall of log NC1"),
        share=positive(share - 0.5, "S V^T's share of it, less a half"),
        nfa=positive(np.arctanh(nfa) - np.arctanh(least), f"z of the NFA minus that of {least:g}"),
    )
    mean, low, high = interval(share)
    found.numbers.update({"share of S V^T": mean, "its low": low, "its high": high, "NFA": float(nfa.mean())})
    said = f"S Vᵀ's share {mean:.2f} ({low:.2f} to {high:.2f}), NFA {nfa.mean():.2f}"
    return replace(found, measured=said)


def _collapsed(rows: Rows, least: float, printed: float | None) -> Finding:
    within, between = (curves(rows.where(quantity=name), "seed") for name in ("within", "between"))
    loss = curves(rows.where(quantity="train_loss"), "seed")
    nfa = _ends(rows, "nfa", "seed", "layer")
    z = np.arctanh(nfa.mean(1))
    off = float(np.abs(within + between - 1).max())
    found = every(
        sum=Finding(off <= 1e-9, off, "S_W/S_T + S_B/S_T is 1 to 1e-9 at every epoch", "exact", high=1e-9),
        collapse=positive(np.log(within[:, 0] / within[:, -1]), "fall of log S_W/S_T"),
        rise=positive(between[:, -1] - between[:, 0], "rise of S_B/S_T"),
        loss=positive(np.log(loss[:, 0] / loss[:, -1]), "fall of the log loss"),
        nfa=positive(z - np.arctanh(least), f"z of the NFA minus that of {least:g}"),
        null=positive(z - np.arctanh(_ends(rows, "nfa/null", "seed")), "z of the NFA minus its null's 97.5 % quantile"),
    )
    before = float(curves(rows.where(quantity="nfa"), "seed", "layer")[..., 0].mean())
    found.numbers["S_W/S_T at the end"] = float(within[:, -1].mean())
    found.numbers["NFA before training"] = before
    evidence, measured = found.evidence, f"NFA {nfa.mean():.2f} ± {nfa.std(ddof=1):.2f} over layers and seeds"
    if printed is not None and set(rows.scale.tolist()) == {"paper"}:
        same = equals(nfa.mean(1), printed, 0.01)
        found.numbers.update({"NFA, 90 % low": same.low or 0.0, "NFA, 90 % high": same.high or 0.0})
        evidence = "matches print" if same.holds else evidence
        to_the_print = {True: "equal", False: "not equal", None: "not decided to be equal"}[same.holds]
        measured += f", {to_the_print} to the print"
    return replace(found, evidence=evidence, measured=f"{measured}; before training {before:.2f}")


def _ends(rows: Rows, quantity: str, *names: str) -> np.ndarray:
    """The last step's values, by the sorted values of these columns."""
    return curves(rows.where(quantity=quantity), *names)[..., -1]
