"""A.fig8, A.fig3: the best linear predictor y_OLS on the last hidden features, and the network chasing it, by width.

y_OLS = H (H^T H + eps I)^-1 H^T y with the features H (n, width) as rows; eps is not printed, the authors' code has
0.01. All norms are over ||y||. "corrected": outputs divided by the root of the width, as in the authors' code.

Where the width exceeds the number of samples (paper: 1024 against 1000), y_OLS is y up to eps for any features, trained
or not: that ||y - y_OLS|| stays near zero there says nothing of laziness. How far the features moved does.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from tasks.runs import Run

EPS = 0.01
NTK = "control: NTK-scaled"


def measure(settings: Any, run: Run) -> Iterator[dict]:
    """Rows by case (width), epoch (x) and seed: target/…, triangle, movement/…, and seed 0's paths in a plane."""
    X, y = run.data.numbers(run.data.x_train, torch.float32), run.data.y_train.double()
    for name, one in run.variants.items():
        arms = {"scaled": ["corrected"], "scaling": [NTK]}.get(name.split()[-1], ["claim"])
        if arms == ["claim"] and not name.startswith("narrowest"):
            arms.append(NTK)  # the control differs from the claim in its narrowest networks only
        about = {"case": f"width={one.settings.model.hidden[0]}", "dtype": "float64"}
        for seed in one.seeds:
            first: list[Tensor] = []
            for epoch in one.epochs:
                H, f = _features(one.model(epoch, seed), X)
                ols = H @ torch.linalg.solve(H.T @ H + EPS * torch.eye(H.shape[1], dtype=H.dtype), H.T @ y)
                first = first or [H, f, ols]
                rows = list(_rows(y, H, f, ols, first))
                if seed == 0 and name.split()[0] in ("narrowest", "widest"):
                    rows += list(_path(y, f, ols, first))
                at = {**about, "seed": seed, "step": epoch * one.steps_per_epoch, "x": float(epoch)}
                yield from ({**at, **row, "arm": arm} for arm in arms for row in rows)


@torch.no_grad()
def _features(model: Any, X: Tensor) -> tuple[Tensor, Tensor]:
    """The last hidden layer's features (n, width) and the outputs (n, 1), in float64."""
    readout = max(index for index, module in enumerate(model) if isinstance(module, torch.nn.Linear))
    h = model[:readout](X)
    return h.double(), model[readout:](h).double()


def _rows(y: Tensor, H: Tensor, f: Tensor, ols: Tensor, first: list[Tensor]) -> Iterator[dict]:
    size = float(y.norm())
    distance, chase, error = (float(part.norm()) / size for part in (y - ols, f - ols, y - f))
    values = {
        "target/distance": distance, "target/chase": chase, "target/error": error,
        "target/triangle ratio": error / (chase + distance),
        "movement/target": float((ols - first[2]).norm()) / size,
        "movement/features": float((H - first[0]).norm() / first[0].norm()),
    }  # fmt: skip
    yield from ({"quantity": quantity, "value": value} for quantity, value in values.items())


def _path(y: Tensor, f: Tensor, ols: Tensor, first: list[Tensor]) -> Iterator[dict]:
    """f and y_OLS in the plane of y and of what else the first f and y_OLS differ by, over ||y||."""
    along = y / y.norm()
    rest = first[1] - first[2]
    across = rest - along * (along * rest).sum()
    across = across / across.norm()
    for name, point in (("f", f), ("ols", ols)):
        for axis, direction in enumerate((along, across)):
            value = float((point * direction).sum() / y.norm())
            yield {"quantity": f"plane/{name}/{axis}", "value": value}
