"""A.fig8, A.fig3: the best linear predictor y_OLS on the last hidden features, and the network chasing it, by width.

y_OLS = H (H^T H + eps I)^-1 H^T y with the features H (n, width) as rows; eps is not printed, the authors' code has
0.01. All norms are divided by ||y||. The corrected arm divides the outputs by the root of the width, as the authors'
code does (the variants "scaled"). Two hidden ReLU layers without biases, full-batch gradient descent at 0.01, 2000
epochs. The paper's figure has a frame every 20 epochs; here every 100.

Where the width exceeds the number of samples (paper: 1024 against 1000), y_OLS is y up to eps for any features, trained
or not. That ||y - y_OLS|| stays near zero there does not show laziness; the movement of the features does.

Each control is the corrected arm with one part broken. In the first the narrowest network is lazy (NTK scaling). The
second exchanges the widest and the narrowest. In the third no network is trained, so the widest's outputs do not move
either. The triangle inequality holds for any three vectors and no network can break it: its part checks the arithmetic.

Quick scale: a quarter of the samples, widths and epochs and four times the step, so width x step is the same.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from tasks.measuring.run import Run

EPS = 0.01
NTK = "control: NTK-scaled"
EXCHANGED = "control: narrowest and widest exchanged"
UNTRAINED = "control: untrained"
EXCHANGE = {"narrowest": "widest", "widest": "narrowest"}


def measure(run: Run) -> Iterator[dict]:
    """Rows by case (width), epoch (x) and seed: target/…, triangle, movement/…, and seed 0's paths in a plane."""
    X, y = run.data.numbers(run.data.x_train, torch.float32), run.data.y_train.double()
    widths = {name.split()[0]: variant.settings.model.hidden[0] for name, variant in run.variants.items()}
    for name, variant in run.variants.items():
        size, _, scaling = name.partition(" ")
        cases = {{"scaled": "corrected", "in NTK scaling": NTK}.get(scaling, "claim"): size}
        if scaling == "scaled":
            cases |= {EXCHANGED: EXCHANGE.get(size, size), UNTRAINED: size}
            cases |= {NTK: size} if size != "narrowest" else {}
        for seed in variant.seeds:
            initial: list[Tensor] = []
            for epoch in variant.epochs:
                H, f = _features_and_outputs(variant.model(epoch, seed), X)
                ridge = EPS * torch.eye(H.shape[1], dtype=H.dtype, device=H.device)
                ols = H @ torch.linalg.solve(H.T @ H + ridge, H.T @ y)
                initial = initial or [H, f, ols]
                untrained_rows = list(_distances(y, initial[0], initial[1], initial[2], initial))
                rows = list(_distances(y, H, f, ols, initial))
                if seed == 0 and size in EXCHANGE and scaling in ("", "scaled"):
                    rows += list(_path(y, f, ols, initial))
                columns = {"seed": seed, "step": epoch * variant.steps_per_epoch, "x": float(epoch), "dtype": "float64"}
                for arm, case in cases.items():
                    for row in untrained_rows if arm == UNTRAINED else rows:
                        yield {**columns, **row, "arm": arm, "case": f"width={widths[case]}"}


@torch.no_grad()
def _features_and_outputs(model: nn.Sequential, X: Tensor) -> tuple[Tensor, Tensor]:
    """The last hidden layer's features (n, width) and the outputs (n, 1), in float64."""
    readout = max(index for index, module in enumerate(model) if isinstance(module, nn.Linear))
    h = model[:readout](X)
    return h.double(), model[readout:](h).double()


def _distances(y: Tensor, H: Tensor, f: Tensor, ols: Tensor, initial: list[Tensor]) -> Iterator[dict]:
    """Rows at one epoch; ``initial`` are H, f and y_OLS before training."""
    size = float(y.norm())
    distance, chase, error = (float(part.norm()) / size for part in (y - ols, f - ols, y - f))
    values = {
        "target/distance": distance, "target/chase": chase, "target/error": error,
        "target/triangle ratio": error / (chase + distance),
        "movement/target": float((ols - initial[2]).norm()) / size,
        "movement/features": float((H - initial[0]).norm() / initial[0].norm()),
    }  # fmt: skip
    yield from ({"quantity": quantity, "value": value} for quantity, value in values.items())


def _path(y: Tensor, f: Tensor, ols: Tensor, initial: list[Tensor]) -> Iterator[dict]:
    """Coordinates of f and y_OLS over ||y||, in the plane of y and the initial f - y_OLS."""
    along = y / y.norm()
    gap = initial[1] - initial[2]
    across = gap - along * (along * gap).sum()
    across = across / across.norm()
    for name, point in (("f", f), ("ols", ols)):
        for axis, direction in enumerate((along, across)):
            value = float((point * direction).sum() / y.norm())
            yield {"quantity": f"plane/{name}/{axis}", "value": value}
