"""A.fig8, A.fig3: the best linear predictor y_OLS on the last hidden features, and the network chasing it, by width.

y_OLS = H (H^T H + eps I)^-1 H^T y with the features H (n, width) as rows; eps is not printed, the authors' code has
0.01. All norms are over ||y||. "corrected": outputs divided by the root of the width, as in the authors' code.

Where the width exceeds the number of samples (paper: 1024 against 1000), y_OLS is y up to eps for any features, trained
or not: that ||y - y_OLS|| stays near zero there says nothing of laziness. How far the features moved does.

Each control is "corrected" but for what it breaks. In the first the narrowest network is lazy; in the second the widest
is narrow and the narrowest wide; in the third none is trained, so that the widest's outputs stay too. The triangle
inequality holds of any three vectors, and no network can break it: its part checks the arithmetic.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from tasks.measuring.run import Run

EPS = 0.01
NTK = "control: NTK-scaled"
EXCHANGED = "control: narrowest and widest exchanged"
UNTRAINED = "control: untrained"


def measure(run: Run) -> Iterator[dict]:
    """Rows by case (width), epoch (x) and seed: target/…, triangle, movement/…, and seed 0's paths in a plane."""
    X, y = run.data.numbers(run.data.x_train, torch.float32), run.data.y_train.double()
    widths = {name.split()[0]: one.settings.model.hidden[0] for name, one in run.variants.items()}
    other = {"narrowest": "widest", "widest": "narrowest"}
    for name, one in run.variants.items():
        size, _, scaling = name.partition(" ")
        cases = {{"scaled": "corrected", "in NTK scaling": NTK}.get(scaling, "claim"): size}
        if scaling == "scaled":
            cases |= {EXCHANGED: other.get(size, size), UNTRAINED: size}
            cases |= {NTK: size} if size != "narrowest" else {}
        for seed in one.seeds:
            first: list[Tensor] = []
            for epoch in one.epochs:
                H, f = _features(one.model(epoch, seed), X)
                ridge = EPS * torch.eye(H.shape[1], dtype=H.dtype, device=H.device)
                ols = H @ torch.linalg.solve(H.T @ H + ridge, H.T @ y)
                first = first or [H, f, ols]
                still = list(_rows(y, first[0], first[1], first[2], first))
                rows = list(_rows(y, H, f, ols, first))
                if seed == 0 and size in other and scaling in ("", "scaled"):
                    rows += list(_path(y, f, ols, first))
                about = {"seed": seed, "step": epoch * one.steps_per_epoch, "x": float(epoch), "dtype": "float64"}
                for arm, case in cases.items():
                    own = still if arm == UNTRAINED else rows
                    yield from ({**about, **row, "arm": arm, "case": f"width={widths[case]}"} for row in own)


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
