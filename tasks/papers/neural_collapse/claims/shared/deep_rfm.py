"""What the claims on Deep RFM have in common: which cases they judge, and the condition that all have."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of
from tasks.judging.statement import Hypothesis
from tasks.judging.statistics import JudgeError

LEAST_ACCURACY = 0.99
FEATURES = {"relu": "ReLU", "fourier": "Fourier"}
DATA_SETS = {"mnist": "MNIST", "cifar10": "CIFAR-10", "cifar10-jpeg": "CIFAR-10 (JPEG)", "svhn": "SVHN"}


def on_each_case(rows: Rows, endings: str | tuple[str, ...], rule: Callable[[Rows], Finding]) -> Finding:
    """The rule on every case "data set, kernel, features" with one of these endings; all must hold."""
    cases = sorted({case for case in rows.case.tolist() if case.endswith(endings)})
    if not cases:
        raise JudgeError(f"no case ends with {endings}")
    findings = {case: rule(rows.where(case=case)) for case in cases}
    measured = "; ".join(
        f"{in_words(case)}: {finding.measured}" for case, finding in findings.items() if finding.measured
    )
    return replace(all_of(**findings), measured=measured)


def in_words(case: str) -> str:
    """A case for readers: "digits, laplace, relu" is "digits, Laplace kernel, ReLU features"."""
    data_set, kernel, features = case.split(", ")
    return f"{DATA_SETS.get(data_set, data_set)}, {kernel.capitalize()} kernel, {FEATURES[features]} features"


def by_layer(rows: Rows, quantity: str) -> np.ndarray:
    """The values of a quantity, (seeds, layers)."""
    seeds = rows.where(quantity=quantity).by("seed").values()
    return np.array([seed.value[np.argsort(seed.x)] for seed in seeds])


def ridges(rows: Rows) -> str:
    """Where kernel matrices were singular: the ridge, and in how many layers."""
    ridge = by_layer(rows, "ridge")
    if not ridge.any():
        return ""
    counts = np.unique((ridge > 0).sum(1))
    count = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f", with a ridge of {ridge.max():.1e} in {count} of {ridge.shape[1]} layers"


def interpolates(rows: Rows) -> Finding:
    """The last machine of every model labels its training samples rightly; says where a kernel matrix was singular."""
    least = float(rows.where(quantity="train_accuracy").value.min())
    rule = "training accuracy of the worst run"
    measured = ridges(rows).removeprefix(", with ") or "no ridge"
    return Finding(least >= LEAST_ACCURACY, least, rule, "bound", low=LEAST_ACCURACY, measured=measured)


EQUAL_SEEDS = {
    "ridge": "The ridge of a singular kernel is √ε tr(K)/n, where tr(K) = n at every seed; otherwise it is 0."
}


def interpolation(endings: str | tuple[str, ...]) -> Hypothesis:
    """The condition that the Deep RFMs of the cases with these endings interpolate."""
    return Hypothesis(
        name="interpolation",
        text="“We perform ridgeless regression to interpolate the data” (Appendix C): the training accuracy is at "
        f"least {LEAST_ACCURACY} in every run. A singular kernel matrix has a ridge of 1.5e-8 of its mean diagonal.",
        rule=lambda rows: on_each_case(rows, endings, interpolates),
        reads=("train_accuracy", "ridge"),
    )
