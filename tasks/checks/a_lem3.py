"""For m-homogeneous f, h_i^T grad f(h_k) ~ f(h_i) + (m - 1) f(h_k).

Euler's identity and a first-order Taylor expansion around h_k: for smooth f the error is of second order in the
distance of the two points. On the training sets of Theorem 3's networks the two sides correlate over all pairs of
samples more than with the outputs of another sample; how large the error is there is reported beside it.
"""

from dataclasses import replace

import numpy as np

from tasks.judge import Finding, Rows, every, interval, order, positive

ID = "A.lem3"
KIND = "statistical"
TITLE = "First-order products of features and gradients"
PRINTED = "hᵢᵀ∇f(h_k) ≈ f(hᵢ) + (m − 1)f(h_k), Lemma 3"
QUANTITIES = ("lem3/remainder", "lem3/correlation", "lem3/null", "lem3/error")


def rule(rows: Rows) -> Finding:
    """Slope 2 on approaching points, and on the weakest network and layer a correlation above the null's quantile."""
    parts = {}
    if len(close := rows.where(quantity="lem3/remainder")):
        parts["near"] = order(close, 2)
    z = {key: np.arctanh(one.value[np.argsort(one.seed)]) for key, one in
         rows.where(quantity="lem3/correlation").by("case", "layer").items()}  # fmt: skip
    null = {key: np.arctanh(one.value[np.argsort(one.seed)]) for key, one in
            rows.where(quantity="lem3/null").by("case", "layer").items()}  # fmt: skip
    what = "Fisher's z over all pairs of samples less that of the null's 97.5 % quantile"
    far = [positive(one - null[key], what) for key, one in z.items()]
    if far:
        weakest = every(**{str(index): one for index, one in enumerate(far)})
        parts["far"] = replace(weakest, rule=far[0].rule, numbers={})
    found = every(**parts)
    errors = {f"{case}, layer {layer}: relative error": interval(one.value)[0] for (case, layer), one in
              rows.where(quantity="lem3/error").by("case", "layer").items()}  # fmt: skip
    correlations = {f"{case}, layer {layer}: correlation": float(np.tanh(one.mean()))
                    for (case, layer), one in z.items()}  # fmt: skip
    return replace(found, numbers={**found.numbers, **correlations, **errors})
