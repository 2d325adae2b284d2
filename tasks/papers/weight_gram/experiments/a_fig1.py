"""A.fig1: the virtual update of a Swiss roll, its Target Linearity, and the first layer's Gram, frame by frame.

X_t = X - c * sum of grad_X L over the first t full-batch steps. The paper's c is the learning rate, 0.05, and L
the mean over 1000 points, which moves no point visibly; the authors' figure script has c = 700. Definition 2's
regression has no intercept, so it depends on where the origin lies. The print is judged by both as they stand,
the correction with c = 700 and an intercept; the points are drawn at 700.
"""

from collections.abc import Iterator
from itertools import product

from torch import Tensor

import gramlab
from tasks.measuring.run import Run

DRAWN = 700.0


def measure(run: Run) -> Iterator[dict]:
    """Rows: target_linearity by arm, frame, seed and c (the column x); seed 0's points and Gram matrices."""
    X, y = run.data.x_train, run.data.y_train
    for frame in run.epochs:
        for seed in run.seeds:
            about = {"seed": seed, "step": frame, "dtype": "float64"}
            for arm, name in (("", "virtual_update"), ("control: shuffled targets", "virtual_update/shuffled")):
                sums = run.observed(frame, seed, name) if frame else X * 0
                for rate, center in product((run.settings.lr, DRAWN), (False, True)):
                    value = gramlab.target_linearity(X - rate * sums, y, center=center)
                    yield {**about, **_reading(arm, rate == DRAWN, center), "x": rate, "value": value}
            if seed == 0:
                sums = run.observed(frame, 0, "virtual_update") if frame else X * 0
                yield from _points("virtual", X - DRAWN * sums, about)
                W = run.model(frame, 0).get_parameter("0.weight").detach().double()
                for i, j in ((0, 0), (0, 1), (1, 1)):
                    yield {**about, "arm": "claim", "quantity": f"gram/{i}{j}", "value": float(W[:, i] @ W[:, j])}
    about = {"seed": 0, "step": 0, "dtype": "float64"}
    yield from _points("input", X, about)
    for index, value in enumerate(y.flatten().tolist()):
        yield {**about, "arm": "claim", "quantity": "target", "x": float(index), "value": value}


def _reading(control: str, drawn: bool, center: bool) -> dict:
    """The print (c = 0.05, no intercept), its correction (c = 700, intercept), and what lies between."""
    if drawn != center:
        between = "at c = 700" if drawn else "with intercept"
        return {"arm": control or "claim", "quantity": f"target_linearity, {between}"}
    corrected = f"{control}, corrected" if control else "corrected"
    return {"arm": corrected if drawn else control or "claim", "quantity": "target_linearity"}


def _points(name: str, points: Tensor, about: dict) -> Iterator[dict]:
    for axis in (0, 1):
        for index, value in enumerate(points[:, axis].tolist()):
            yield {**about, "arm": "claim", "quantity": f"{name}/{axis}", "x": float(index), "value": value}
