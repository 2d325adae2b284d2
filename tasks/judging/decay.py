"""The total decay of a training: by how much weight decay alone lowers the weights.

Where the loss has no gradient, SGD with learning rates eta_t, momentum beta and weight decay lambda leaves the share
exp(-D) of a weight, with the total decay D = lambda sum_t eta_t / (1 - beta). This is so to first order: log(W_0 / W_T)
differs from D by terms of relative size 1 / (T (1 - beta)) and lambda eta / (1 - beta)^2. Such a weight is 0 at a
critical point. So a small D says that training was too short to come near a critical point. It does not say that a
theorem is wrong.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tasks.judging.rows import Rows
from tasks.judging.statement import Hypothesis
from tasks.settings import Train

RELATIVE_GRADIENT = "stationarity"  # a hypothesis that reads this quantity is about a critical point


def total_decay(settings: Train, steps: int) -> float | None:
    """The total decay of a training of this many steps; of a grid that of its first values, which are the claim's.

    None with an optimizer that changes the size of its steps, so that the decay does not add up in this way.
    """
    if settings.optimizer not in ("sgd", "adamw"):
        return None
    axes = settings.grid.axes()
    rate, decay = (axes.get(name, [getattr(settings, name)])[0] for name in ("lr", "weight_decay"))
    momentum = settings.momentum if settings.optimizer == "sgd" else 0.0  # AdamW decays beside its averages
    factors = (steps + 1) / 2 if settings.schedule == "cosine" else steps  # sum of (1 + cos(pi t / T)) / 2 for t < T
    return decay * rate * factors / (1 - momentum)


def with_total_decay(finding: dict[str, Any], claim: Any, rows: Rows, variants: Mapping[str, Train]) -> dict[str, Any]:
    """The finding with the ``total decay`` by case, in each form of a hypothesis about a critical point.

    It follows from the settings of the run's variants and from the number of steps in the table.
    """
    critical = {
        hypothesis.name: hypothesis
        for hypothesis in getattr(claim, "HYPOTHESES", ())
        if RELATIVE_GRADIENT in hypothesis.reads
    }

    def extended(judged: dict[str, Any]) -> dict[str, Any]:
        if judged["name"] not in critical:
            return judged
        decays = {form: _by_case(critical[judged["name"]], rows, form, variants) for form in judged["forms"]}
        return {**judged, "forms": {
            form: {**numbers, "total decay": decays[form]} for form, numbers in judged["forms"].items()
        }}  # fmt: skip

    return {**finding, "hypotheses": [extended(judged) for judged in finding["hypotheses"]]}


def _by_case(hypothesis: Hypothesis, rows: Rows, form: str, variants: Mapping[str, Train]) -> dict[str, float]:
    """The total decay of each case of a form. The corrected form's networks are the variant "CASE corrected"."""
    decays = {}
    all_cases, steps = rows.case.astype(str), rows.step
    for case in dict.fromkeys(hypothesis.rows_read(rows).where(arm=form).case.tolist()):
        settings = variants.get(f"{case} corrected" if form == "corrected" else case)
        in_case = (all_cases == case) | np.char.startswith(all_cases, f"{case},")  # a grid's history: "CASE,NAME=VALUE"
        decay = total_decay(settings, int(steps[in_case].max())) if settings else None
        if decay is not None:
            decays[case] = decay
    return decays
