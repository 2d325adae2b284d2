"""A.fig1: the virtual update of a Swiss roll, its Target Linearity, and the first layer's Gram, frame by frame.

X_t = X - c * sum of grad_X L over the first t full-batch steps. The paper's c is the learning rate, for which it prints
no number; it is 0.05 in the authors' script. L is read as the mean over 1000 points, whose gradient updates the
weights, so no point moves visibly. Read as the loss of the point alone, L has a gradient that is 1000 times as large:
this is c = 50. The authors' figure script has c = 700. The regression of Definition 2 has no intercept, so its result
depends on the origin. The claim arm keeps the printed c and regression. The corrected arm has c = 700 and an intercept,
and the figure shows its points.

Two hidden layers of 32 GELU units, full-batch gradient descent at 0.05, frames 0 to 50. The paper shows one seed.
"""

from collections.abc import Iterator
from itertools import product

from torch import Tensor

import gramlab
from tasks.measuring.run import Run

SCRIPT_RATE = 700.0  # c in the authors' figure script
OWN_LOSS, SCRIPT, INTERCEPT = "each sample's own loss", "at c = 700", "with intercept"


def measure(run: Run) -> Iterator[dict]:
    """Rows: target_linearity by arm, frame, seed and c (the column x); seed 0's points and Gram matrices."""
    X, y = run.data.x_train, run.data.y_train
    for frame in run.epochs:
        for seed in run.seeds:
            columns = {"seed": seed, "step": frame, "dtype": "float64"}
            for control, observer in (("", "virtual_update"), ("control: shuffled targets", "virtual_update/shuffled")):
                gradients = run.observed(frame, seed, observer) if frame else X * 0
                rates = {"": run.settings.lr, OWN_LOSS: run.settings.lr * len(X), SCRIPT: SCRIPT_RATE}
                for (step, rate), center in product(rates.items(), (False, True)):
                    value = gramlab.target_linearity(X - rate * gradients, y, center=center)
                    arm = _arm_and_quantity(control, step, center)
                    yield {**columns, **arm, "x": rate, "value": value}
            if seed == 0:
                gradients = run.observed(frame, 0, "virtual_update") if frame else X * 0
                yield from _coordinates("virtual", X - SCRIPT_RATE * gradients, columns)
                W = run.model(frame, 0).get_parameter("0.weight").detach().double()
                for i, j in ((0, 0), (0, 1), (1, 1)):
                    yield {**columns, "arm": "claim", "quantity": f"gram/{i}{j}", "value": float(W[:, i] @ W[:, j])}
    columns = {"seed": 0, "step": 0, "dtype": "float64"}
    yield from _coordinates("input", X, columns)
    for index, value in enumerate(y.flatten().tolist()):
        yield {**columns, "arm": "claim", "quantity": "target", "x": float(index), "value": value}


def _arm_and_quantity(control: str, step: str, center: bool) -> dict:
    """The print (c = 0.05, no intercept), its correction (c = 700, intercept), or other steps and regressions."""
    if step == SCRIPT and center:
        return {"arm": f"{control}, corrected" if control else "corrected", "quantity": "target_linearity"}
    changes = filter(None, (step, INTERCEPT if center else ""))
    return {"arm": control or "claim", "quantity": ", ".join(("target_linearity", *changes))}


def _coordinates(name: str, points: Tensor, columns: dict) -> Iterator[dict]:
    for axis in (0, 1):
        for index, value in enumerate(points[:, axis].tolist()):
            yield {**columns, "arm": "claim", "quantity": f"{name}/{axis}", "x": float(index), "value": value}
