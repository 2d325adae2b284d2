"""Rules that several checks of paper A share: laws of growth, whitened against plain training, grokking."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from tasks.judging.rules import Finding, Rows, by_number, curves, every, interval, kendall, positive

LAWS = ("exponential", "linear", "logarithmic")
FASTER, EPOCHS = ("SVHN", "CIFAR-10"), 5  # Figure 2: there the whitened update reaches the original's best within five


def laws(t: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Squared errors of a e^(bt), a + b t and a + b log(1 + t), two parameters each, fitted by least squares.

    The exponential's rate is found on a fine grid, its scale in closed form.
    """

    def linear(u: np.ndarray) -> float:
        design = np.stack([np.ones_like(u), u], 1)
        return float(((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2).sum())

    shapes = np.exp(np.linspace(-20, 20, 4001)[:, None] * (t / t.max() - 0.5))
    scales = shapes @ y / (shapes**2).sum(1)
    exponential = ((y - scales[:, None] * shapes) ** 2).sum(1).min()
    return dict(zip(LAWS, (float(exponential), linear(t), linear(np.log1p(t))), strict=True))


def lead(t: np.ndarray, of: np.ndarray, law: str) -> np.ndarray:
    """Of curves (seeds, layers, ts) per seed the mean over layers of log(best other law's squared error / law's)."""
    leads = np.zeros(of.shape[:2])
    for at in np.ndindex(leads.shape):
        errors = laws(t, of[at])
        own = errors.pop(law)
        leads[at] = np.log(min(errors.values()) / own)
    return leads.mean(axis=1)


def least_trend(series: np.ndarray) -> np.ndarray:
    """Of series (seeds, any number, times) per seed the least Kendall's tau with time: ends miss a fall between."""
    return np.array([min(map(kendall, seed)) for seed in series])


def growth(rows: Rows, least: Mapping[str, float] = MappingProxyType({}), fitted: float | None = None) -> Finding:
    """Figures 4 and 9 of paper A: surrogate and Target Linearity grow in training and with depth, by what law.

    On every data set, per seed the least growth over layers and the least Kendall's tau with time, the least step from
    layer to layer, and the laws' errors compared. At the end the last layer's Target Linearity is above the set's
    ``least`` if it has one and, where there are accuracies, that of training above ``fitted``.
    """
    parts: dict[str, Finding] = {}
    numbers: dict[str, float] = {}
    measured = []
    for data, own in by_data(rows).items():
        S, T = (curves(own.where(quantity=name), "seed", "layer") for name in ("surrogate", "target_linearity"))
        t = np.unique(own.where(quantity="surrogate").x)
        asked = {
            "surrogate_in_training": (np.log(S[:, :, -1] / S[:, :, 0]).min(1), "log growth of the surrogate"),
            "linearity_in_training": ((T[:, :, -1] - T[:, :, 0]).min(1), "growth of Target Linearity"),
            "surrogate_throughout": (least_trend(S), "least Kendall's tau over layers of the surrogate and time"),
            "linearity_throughout": (least_trend(T), "least Kendall's tau over layers of Target Linearity and time"),
            "surrogate_with_layer": (np.diff(np.log(S[:, :, -1]), axis=1).min(1), "log step to the next layer"),
            "linearity_with_layer": (np.diff(T[:, :, -1], axis=1).min(1), "step to the next layer"),
            "surrogate_exponential": (lead(t, S, "exponential"), "log error of the next best law over its own"),
            "linearity_logarithmic": (lead(t, T, "logarithmic"), "log error of the next best law over its own"),
        }
        if data in least:
            asked["last_layer"] = (T[:, -1, -1] - least[data], f"last layer's Target Linearity minus {least[data]:g}")
        ends = {part: curves(one, "seed")[:, -1] for part in ("train", "test")
                if len(one := own.where(quantity=f"{part}_accuracy"))}  # fmt: skip
        if fitted is not None and ends:
            asked["fitted"] = (ends["train"] - fitted, f"training accuracy minus {fitted:g}")
        parts |= {f"{data}, {name}": positive(values, what) for name, (values, what) in asked.items()}
        numbers |= {f"{data}, {part} accuracy": float(one.mean()) for part, one in ends.items()}
        failed = [name.replace("_", " ") for name, (values, _) in asked.items() if values.mean() <= 0]
        measured.append(f"{data}, last-layer TL {T[:, -1, 0].mean():.3f} → {T[:, -1, -1].mean():.3f}"
                        + (f", not so: {', '.join(failed)}" if failed else ""))  # fmt: skip
    found = every(**parts)
    return replace(found, numbers={**found.numbers, **numbers}, measured="; ".join(measured))


def beside(found: Finding, printed: Mapping[str, Finding]) -> Finding:
    """The finding and, as a part of its own that it doesn't hang on, whether levels equal those that are printed.

    Only what holds, and has the printed levels, matches the print.
    """
    levels = every(**printed)
    like, unlike = ([name for name, one in printed.items() if bool(one.holds) is equal] for equal in (True, False))
    said = [f"levels as printed: {', '.join(like)}"] if like else []
    said += [f"levels not shown to equal the print: {', '.join(unlike)}"] if unlike else []
    return replace(
        found,
        evidence=levels.evidence if found.holds and levels.holds else found.evidence,
        parts={**found.parts, "levels_as_printed": levels},
        measured="; ".join([found.measured, *said]),
    )


def by_data(rows: Rows) -> dict[str, Rows]:
    """The rows of each data set, which a case names, and before a comma where there is more to it."""
    cases = sorted(set(rows.case.tolist()))
    return {data: rows.where(case={case for case in cases if case.partition(", ")[0] == data})
            for data in dict.fromkeys(case.partition(", ")[0] for case in cases)}  # fmt: skip


def updates(rows: Rows) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Of each data set of Figures 2 and 6 of paper A the learning rates, rising, and two test accuracies in training.

    That of the whitened update and that of the original, both (seeds, rates, epochs from 0 on).
    """
    found = {}
    for data, own in by_data(rows).items():
        rates, whitened = by_number(own.where(quantity="whitened/test_accuracy"))
        found[data] = rates, whitened, by_number(own.where(quantity="original/test_accuracy"))[1]
    return found


def no_worse(rows: Rows, margins: Mapping[str, float] = MappingProxyType({}), margin: float = 0.01) -> Finding:
    """On every data set, at every learning rate, the whitened update's final test accuracy is no worse.

    Paired by seed: whitened minus original plus the margin, a data set's own or that of all, is positive. The text
    names no margin, they are ours: without one "no worse" has no test, for an interval above 0 shows better, and one
    that only reaches 0 shows nothing. A loss within the margin may be significant: the intervals are reported.
    """
    parts: dict[str, Finding] = {}
    measured = []
    for data, (rates, whitened, original) in updates(rows).items():
        ahead = (whitened - original)[:, :, -1].T
        least = margins.get(data, margin)
        what = f"test accuracy, whitened minus original, plus {least:g}, a margin of ours"
        parts |= {f"{data}, lr {rate:g}": positive(one + least, what) for rate, one in zip(rates, ahead, strict=True)}
        found = [interval(one) for one in ahead]
        shown = ", ".join(f"{rate:g}: {mean:+.4f} [{low:+.4f}, {high:+.4f}]"
                          for rate, (mean, low, high) in zip(rates, found, strict=True))  # fmt: skip
        lost = sum(high < 0 for _, _, high in found)
        measured.append(f"{data}, whitened minus original by learning rate {shown}, significantly below 0 at {lost} of "
                        f"{len(found)}")  # fmt: skip
    return replace(every(**parts), measured="; ".join(measured))


MEMORISED, ONSET, GROKKED = 0.99, 0.25, 0.9  # accuracies: training, test, test
DELAYED = (
    f"a network groks if its test accuracy is below {ONSET:g} at memorisation, the first training accuracy of "
    f"{MEMORISED:g}, and reaches {GROKKED:g} later; the onset is the last point before that with less than {ONSET:g}"
)


def grokking(train: np.ndarray, test: np.ndarray) -> tuple[int, int, int] | None:
    """Where two accuracies along training say that a network has memorised, begins to generalise, and has grokked.

    The first point of memorisation, the last before grokking with a test accuracy below its onset's, the first of
    grokking. None if it does not memorise, generalises as it does, or never groks.
    """
    memorised = np.flatnonzero(train >= MEMORISED)
    if not len(memorised) or test[memorised[0]] >= ONSET:
        return None
    first = int(memorised[0])
    grokked = first + np.flatnonzero(test[first:] >= GROKKED)
    if not len(grokked):
        return None
    last = int(grokked[0])
    return first, first + int(np.flatnonzero(test[first:last] < ONSET)[-1]), last


def while_grokking(rows: Rows, of: Callable[[Rows], np.ndarray], begin: str, what: str) -> Finding:
    """In every case ``of`` its rows, (seeds, points), rises from ``begin``, memorisation or onset, until grokking.

    A case with a seed that does not grok is undecided; one whose networks all memorise and never begin to generalise is
    rejected, as there is no grokking to rise until. Of these the rise from memorisation to the end is reported.
    """
    at = ("memorisation", "onset").index(begin)
    parts, measured = {}, []
    for (case,), one in rows.by("case").items():
        train, test = (curves(one.where(quantity=f"{part}_accuracy"), "seed") for part in ("train", "test"))
        values, found = of(one), [grokking(*both) for both in zip(train, test, strict=True)]
        grokked = [(one, ends) for one, ends in zip(values, found, strict=True) if ends]
        if len(grokked) == len(found):
            until = "until grokking"
            parts[case] = positive(
                np.array([one[ends[2]] - one[ends[at]] for one, ends in grokked]), f"{what} from {begin} {until}"
            )
        else:  # what does not memorise does not rise after it
            begun, until = [np.append(np.flatnonzero(one >= MEMORISED), -1)[0] for one in train], "to the end"
            late = np.array([one[-1] - one[first] for one, first in zip(values, begun, strict=True)])
            rise = positive(late, f"not judged, since a seed does not grok: {what} from memorisation to the end")
            never = bool((train.max(1) >= MEMORISED).all() and (test.max(1) < ONSET).all())
            parts[case] = replace(rise, holds=False if never else None, p=None)
        measured.append(f"{case}: {parts[case].statistic:+.3f} {until}, {len(grokked)} of {len(found)} seeds grok")
    whole = every(**parts)
    return replace(whole, rule=f"{whole.rule}; {DELAYED}", measured="; ".join(measured))
