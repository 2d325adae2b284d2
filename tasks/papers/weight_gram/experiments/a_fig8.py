"""A.fig8, A.fig3: the best linear predictor y_OLS on the last hidden features, and the outputs' way to it, by width.

y_OLS = H (H^T H + eps I)^-1 H^T y with the features H (n, width) as rows; eps is not printed, the authors' code has
0.01. All norms are divided by ||y||. The corrected arm divides the outputs by the root of the width, as the authors'
code does (the variants "scaled"). Two hidden ReLU layers without biases, full-batch gradient descent at 0.01, 2000
epochs. The paper's figure has a frame every 20 epochs; here every 100.

If the width exceeds the number of samples (paper: 1024 and 1000), y_OLS is y up to eps for any features, trained or
not. There a small ||y - y_OLS|| does not show laziness; the movement of the features does.

Each control of Figure 8 is the corrected arm with one part broken. In the first, the narrowest network is lazy (NTK
scaling). The second exchanges the widest and the narrowest networks. The third takes y in another order, the same at
all epochs: features that move towards y do not move towards these labels, and the outputs do not chase their y_OLS. The
triangle inequality holds for any three vectors, so no network can break it.

Figure 3 draws the lazy and the rich regime (quantities lazy/... and rich/...). The networks in NTK scaling are lazy at
every width, and the networks as printed are rich. Beside the movements, the table holds the distance of the outputs
from the network's linearization f_0 + J_0 (theta - theta_0), over the distance that the outputs have moved. The
control of Figure 3 tries to make networks lazy by width alone (the variants "scaled"). Figure 3 has no control with
shuffled labels: its statements compare movements of features and outputs, and where features move, the best linear
predictor of any labels moves.

Quick scale: a quarter of the samples, of the widest width and of the epochs, and four times the step. The narrowest
network keeps the paper's 32 units, because the inputs keep their 10 dimensions.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.func import functional_call

from gramlab.streams import stream
from tasks.measuring.run import Run

EPS = 0.01
NTK = "control: NTK-scaled"
EXCHANGED = "control: narrowest and widest exchanged"
SHUFFLED = "control: labels shuffled at the measure"
WIDTH_ALONE = "control: lazy by width alone"
EXCHANGE = {"narrowest": "widest", "widest": "narrowest"}
REGIMES = {"": "rich", "in NTK scaling": "lazy"}
DRAWN = {"rich": "narrowest", "lazy": "narrow"}  # at larger widths y_OLS is y for any features


def measure(run: Run) -> Iterator[dict]:
    """Rows by case (width), epoch (x) and seed: target/…, movement/…, lazy/…, rich/…, and seed 0's paths in a plane."""
    widths = {name.split()[0]: variant.settings.model.hidden[0] for name, variant in run.variants.items()}
    for name, variant in run.variants.items():
        size, _, scaling = name.partition(" ")
        for columns, rows, shuffled_rows in _snapshots(variant):
            for arm, case in _cases(size, scaling).items():
                for row in shuffled_rows if arm == SHUFFLED else rows:
                    if not row["quantity"].startswith("plane/"):
                        yield {**columns, **row, "arm": arm, "case": f"width={widths[case]}"}
            for arm, regime in _regimes(scaling):
                for row in rows:
                    kind, _, name_of_row = row["quantity"].partition("/")
                    drawn = arm == "claim" and size == DRAWN[regime] and columns["seed"] == 0
                    if kind == "movement" or (kind == "plane" and drawn):
                        quantity = f"{regime}/{name_of_row if kind == 'movement' else row['quantity']}"
                        yield {**columns, **row, "arm": arm, "case": f"width={widths[size]}", "quantity": quantity}


def _cases(size: str, scaling: str) -> dict[str, str]:
    """The width that a variant stands for in each arm of Figure 8."""
    if scaling == "in NTK scaling":
        return {NTK: size} if size == "narrowest" else {}
    if scaling != "scaled":
        return {"claim": size}
    arms = {"corrected": size, EXCHANGED: EXCHANGE.get(size, size), SHUFFLED: size}
    return arms | ({NTK: size} if size != "narrowest" else {})


def _regimes(scaling: str) -> list[tuple[str, str]]:
    """The arms and regimes of Figure 3 that a variant stands for."""
    if scaling == "scaled":
        return [(WIDTH_ALONE, "lazy")]
    regime = REGIMES[scaling]
    return [("claim", regime), *([(WIDTH_ALONE, "rich")] if regime == "rich" else [])]


def _snapshots(run: Run) -> Iterator[tuple[dict, list[dict], list[dict]]]:
    """Columns, rows, and rows for shuffled labels, for each seed and epoch of a variant."""
    X, y = run.data.scaled(run.data.x_train, torch.float32), run.data.y_train.double()
    for seed in run.seeds:
        shuffled = y[torch.from_numpy(stream(run.key, seed, "shuffled labels").permutation(len(y)))]
        before: _Before | None = None
        for epoch in run.epochs:
            model = run.model(epoch, seed)
            H, f = _features_and_outputs(model, X)
            ols, ols_of_shuffled = _linear_predictor(H, y), _linear_predictor(H, shuffled)
            if before is None:
                before = _Before(model, H, f, ols)
                before_with_shuffled = replace(before, ols=ols_of_shuffled)
            rows = [*_distances(y, H, f, ols, before), *_path(y, f, ols, before)]
            shuffled_rows = [row for row in _distances(shuffled, H, f, ols_of_shuffled, before_with_shuffled)
                             if row["quantity"] != "movement/features"]  # fmt: skip
            if epoch == run.epochs[-1]:
                distance = before.distance_of_linearization(model, X, f)
                rows.append({"quantity": "movement/linearization", "value": distance})
            columns = {"seed": seed, "step": epoch * run.steps_per_epoch, "x": float(epoch), "dtype": "float64"}
            yield columns, rows, shuffled_rows


@dataclass
class _Before:
    """A network before training, its last features H, its outputs f and y_OLS."""

    model: nn.Sequential
    H: Tensor
    f: Tensor
    ols: Tensor

    def distance_of_linearization(self, model: nn.Sequential, X: Tensor, f: Tensor) -> float:
        """||f - f_lin|| / ||f - f_0||, f_lin = f_0 + J_0 (theta - theta_0)."""
        start = {name: weight.detach().double() for name, weight in self.model.named_parameters()}
        change = {name: weight.detach().double() - start[name] for name, weight in model.named_parameters()}
        network, x = copy.deepcopy(self.model).double(), X.double()

        with torch.enable_grad():
            weights = {name: weight.clone().requires_grad_() for name, weight in start.items()}
            linear = functional_call(network, weights, (x,))
            # v -> J^T v is linear, so that its derivative along the change is J times the change
            v = torch.zeros_like(linear, requires_grad=True)
            gradients = torch.autograd.grad(linear, tuple(weights.values()), v, create_graph=True)
            (derivative,) = torch.autograd.grad(gradients, v, tuple(change.values()))
        return float((f - linear.detach() - derivative).norm() / (f - self.f).norm())


@torch.no_grad()
def _features_and_outputs(model: nn.Sequential, X: Tensor) -> tuple[Tensor, Tensor]:
    """The last hidden layer's features (n, width) and the outputs (n, 1), in float64."""
    readout = max(index for index, module in enumerate(model) if isinstance(module, nn.Linear))
    h = model[:readout](X)
    return h.double(), model[readout:](h).double()


def _linear_predictor(H: Tensor, y: Tensor) -> Tensor:
    """y_OLS, the best linear predictor of these labels on the features, with the ridge EPS."""
    ridge = EPS * torch.eye(H.shape[1], dtype=H.dtype, device=H.device)
    return H @ torch.linalg.solve(H.T @ H + ridge, H.T @ y)


def _distances(y: Tensor, H: Tensor, f: Tensor, ols: Tensor, before: _Before) -> Iterator[dict]:
    """Rows at one epoch."""
    size = float(y.norm())
    distance, chase, error = (float(part.norm()) / size for part in (y - ols, f - ols, y - f))
    values = {
        "target/distance": distance, "target/chase": chase, "target/error": error,
        "target/triangle ratio": error / (chase + distance),
        "movement/target": float((ols - before.ols).norm()) / size,
        "movement/features": float((H - before.H).norm() / before.H.norm()),
    }  # fmt: skip
    yield from ({"quantity": quantity, "value": value} for quantity, value in values.items())


def _path(y: Tensor, f: Tensor, ols: Tensor, before: _Before) -> list[dict]:
    """Coordinates of f and y_OLS over ||y||, in the plane of y and the initial f - y_OLS."""
    along = y / y.norm()
    gap = before.f - before.ols
    across = gap - along * (along * gap).sum()
    across = across / across.norm()
    return [
        {"quantity": f"plane/{name}/{axis}", "value": float((point * direction).sum() / y.norm())}
        for name, point in (("f", f), ("ols", ols))
        for axis, direction in enumerate((along, across))
    ]
