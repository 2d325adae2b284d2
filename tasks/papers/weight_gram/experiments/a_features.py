"""Least squares on features: Neural Collapse (A.prop2) and interpolation (A.prop3) of paper A.

A.prop2 compares G_id with Y Y^T, on features that obey NC1 and NC2 by construction and on networks that collapse in
training. Least squares fits a readout with a bias to the centred one-hot labels. A.prop3 compares both sides of the
inequality at f = g, the OLS fit, over alpha, and writes the right side in terms of Target Linearity. Its instances are
random latents, a layer of a small network in training, degenerate latents, and those that hypothesis finds.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file

import gramlab
from gramlab.data import DataSet
from gramlab.measures.collapse import Collapse
from gramlab.nets import TrainingConfig, fit, mlp
from gramlab.streams import stream
from tasks.measuring.counterexamples import Arrays, array, smallest
from tasks.measuring.invariants import check_traces, error_context
from tasks.measuring.nulls import collapse_nulls
from tasks.papers.weight_gram.experiments.shared.trained_layers import trained_layers
from tasks.settings.fields import Count
from tasks.settings.simulation import Simulation

DTYPES: tuple[Any, ...] = (np.float64, np.float32)
ALPHAS = (0.0, 0.1, 0.3, 0.5, 0.8, 1.0)
CLASSES = ("simplex", "two classes", "as many dimensions as classes", "scaled")
SEEDS, GROUPS, PER_GROUP = 6, 4, 30  # of the trained networks: seeds, classes, samples in a class
DEPENDENT = ("nonlinear", "few latents", "linear")  # X depends on Z
DEGENERATE = ("no latents", "a latent twice")
UNCENTRED, WITHIN = "control: labels not centred", "control: within-class noise"
NOT_LINEAR, SHUFFLED = "control: f not linear", "control: shuffled pairs"


class Settings(Simulation):
    """``instances`` counts the collapsed features, and the latents and inputs, of each kind."""

    steps: Count  # gradient steps of the networks that are trained to collapse


def measure(settings: Settings) -> Iterator[dict]:
    """Rows of Proposition 2 on constructed features and on trained networks, and of Proposition 3."""
    yield from adversaries()
    yield from trained_networks(settings.steps)
    for instance in range(settings.instances):
        for kind in CLASSES:
            yield from proposition_2(kind, instance)
        for kind in ("gaussian", "offset", "heavy tails", *DEPENDENT, *DEGENERATE):
            yield from proposition_3(kind, instance)
        for layer in trained_layers(instance):
            latents = np.maximum(layer.W @ layer.H, 0).T
            rows = interpolated(f"{layer.kind}, {instance}", "trained layer", latents, layer.H.T)
            yield from ({**row, "seed": instance, "step": layer.step} for row in rows)


def adversaries() -> Iterator[dict]:
    """The smallest collapsed features, or latents and inputs, that violate Proposition 2 or 3, by hypothesis."""

    def has_full_rank(instance: dict) -> bool:
        d, classes = np.shape(instance["A"])
        return d >= classes >= 2 and np.linalg.matrix_rank(array(instance["A"])) == classes

    def of_proposition_2(instance: dict) -> list[dict]:
        within = array(instance["noise"])
        return [*collapsed("", array(instance["A"]), within.reshape(len(within), -1))]

    def of_proposition_3(instance: dict) -> list[dict]:
        return [*interpolated("", "", array(instance["Z"]), array(instance["X"]))]

    def are_independent(instance: dict) -> bool:
        return np.linalg.matrix_rank(array(instance["Z"])) == len(instance["Z"][0]) < len(instance["Z"])

    instances = Arrays(has_full_rank, A=(0, 1), noise=(0, 1, 2))  # dimensions, classes, samples in a class
    yield from smallest("prop2", ["claim", UNCENTRED, WITHIN], instances, of_proposition_2)
    instances = Arrays(are_independent, Z=(0, 1), X=(0, 2))
    yield from smallest("prop3", ["claim", "corrected", NOT_LINEAR], instances, of_proposition_3)


def proposition_2(kind: str, instance: int) -> Iterator[dict]:
    """A.prop2 on a random simplex, and on class means in general position."""
    draw = stream("a_features", "prop2", kind, instance)
    classes = 2 if kind == "two classes" else int(draw.integers(3, 8))
    d = classes if kind == "as many dimensions as classes" else classes + int(draw.integers(0, 15))
    per_class = int(draw.integers(2, 12))
    size = 10.0 ** draw.uniform(-2, 2) if kind == "scaled" else 1.0
    directions, within = draw.normal(size=(d, classes)), draw.normal(size=(d, classes * per_class))
    yield from collapsed(f"{kind}, {instance}", directions, within, size, draw.normal(size=(d, classes)))


def collapsed(
    case: str, directions: np.ndarray, within: np.ndarray, size: float = 1.0, general: np.ndarray | None = None
) -> Iterator[dict]:
    """A.prop2: G_id = Y Y^T, and S_cls(G_id) = ||G_id||_F ||Y Y^T||_F, the maximum by Lemma 5.

    ``directions`` (d, classes) span the simplex, and ``size`` scales the class means. ``within`` (d, n) is the noise of
    a control, ordered by class. ``general`` (d, classes) are other class means, which obey NC1 but not NC2.
    """
    d, classes = directions.shape
    per_class = within.shape[1] // classes
    # vertices of a simplex, rotated into d dimensions: equal norms, equal angles, mean 0
    simplex = np.linalg.qr(directions)[0] @ (np.eye(classes) - 1 / classes)
    labels = np.repeat(np.arange(classes), per_class)
    Y = np.eye(classes)[labels] - 1 / classes
    H = size * simplex[:, labels]
    noise = H + 0.1 * size * (within - within.mean(1, keepdims=True))
    arms = {"claim": (H, Y), UNCENTRED: (H, np.eye(classes)[labels])}
    if general is not None:  # NC1 without NC2: least squares fits the labels as well
        means = general @ (np.eye(classes) - 1 / classes)
        arms["general"] = (means[:, labels], Y)
    if d < classes * per_class - 1:  # otherwise the fit interpolates the noise
        arms[WITHIN] = (noise, Y)
    for arm, (features, targets) in arms.items():
        for dtype in DTYPES:
            h, y = features.astype(dtype), targets.astype(dtype)
            design = np.vstack([h, np.full((1, h.shape[1]), dtype(size))]).T  # with a bias, on the features' scale
            cutoff = max(design.shape) * np.finfo(dtype).eps
            W = np.linalg.lstsq(design, Y.astype(dtype), rcond=cutoff)[0][:-1].T
            gram, outer = (W @ h).T @ (W @ h), y @ y.T
            norm, n = float(np.linalg.norm(outer)), h.shape[1]
            length = n + d + 1
            surrogate = float(np.trace(y.T @ gram @ y))
            shortfall = abs(surrogate - float(np.linalg.norm(gram)) * norm) / norm**2
            if arm == "general":
                values = np.linalg.svd(means, compute_uv=False)
                length *= (values[0] / values[classes - 2]) ** 2
            columns = {"case": case, "dtype": np.dtype(dtype).name}
            distance = float(np.linalg.norm(gram - outer)) / norm / length
            if arm == "general":
                yield {**columns, "arm": "claim", "quantity": "prop2/without NC2", "value": distance}
                continue
            yield {**columns, "arm": arm, "quantity": "prop2/gram", "value": distance}
            yield {**columns, "arm": arm, "quantity": "prop2/residual", "value": shortfall / length}


def trained_networks(steps: int) -> Iterator[dict]:
    """A.prop2 on the last hidden features of networks trained to collapse, by step (x) and seed.

    The data have four classes of two Gaussian clusters each. Training uses the squared loss on centred one-hot labels,
    and weight decay. The gap is 1 - S_cls(G_id) / (||G_id||_F ||Y Y^T||_F), where least squares fits the readout to the
    centred features. One control adds noise within the classes, as large as their spread before training. The other
    takes the surrogate of shuffled labels: whether or not features collapse, least squares explains about
    12 / (samples - 1) of a target that does not depend on them.
    """
    draw = stream("a_features", "clusters")
    labels = np.repeat(np.arange(GROUPS), PER_GROUP)
    centres = 2 * draw.normal(size=(GROUPS, 2, 6))
    inputs = centres[labels, draw.integers(0, 2, len(labels))] + 0.3 * draw.normal(size=(len(labels), 6))
    x, Y = torch.from_numpy(inputs), torch.eye(GROUPS, dtype=torch.float64)[labels] - 1 / GROUPS
    data = DataSet("clusters", x, Y, x[:0], Y[:0])
    model = mlp(6, [32, 32, 12], GROUPS, "relu")
    measured_steps = sorted({0, steps, *(int(step) for step in np.geomspace(10, steps, 20))})
    training = TrainingConfig(
        loss="mse", lr=0.1, momentum=0.9, weight_decay=5e-4, batch=None, epochs=steps, snapshots=tuple(measured_steps),
        history_every=steps, dtype="float64", name=("a_features", "collapse"),
    )  # fmt: skip
    with TemporaryDirectory() as scratch:
        snapshots, _ = fit(model, data, training, SEEDS, Path(scratch))
        weights = {step: load_file(path) for step, path in snapshots.items()}
    model.double()
    for seed in range(SEEDS):
        noise = torch.from_numpy(stream("a_features", "within", seed).normal(size=(len(x), 12)))
        shuffled = Y[torch.from_numpy(stream("a_features", "other labels", seed).permutation(len(x)))]
        for step in measured_steps:
            with error_context(seed=seed, step=step):
                model.load_state_dict({key: value[seed] for key, value in weights[step].items()})
                with torch.no_grad():
                    H = model[:-1](x)
                collapse = _collapse(H, labels)
                if step == 0:
                    share = (collapse.nc1 / 12) ** 0.5  # noise over the root of the variance between classes
                noisy = H + share * collapse.between**0.5 * noise
                for arm, h, target in (("claim", H, Y), (WITHIN, noisy, Y),
                                       ("control: shuffled labels", H, shuffled)):  # fmt: skip
                    h = h - h.mean(0)
                    fitted = h @ torch.linalg.lstsq(h, target, driver="gelsd").solution
                    gram, outer = fitted @ fitted.T, target @ target.T
                    gap = 1 - float((gram * outer).sum() / gram.norm() / outer.norm())
                    columns = {"arm": arm, "case": "trained", "seed": seed, "step": step, "x": float(step),
                               "dtype": "float64"}  # fmt: skip
                    yield {**columns, "quantity": "prop2/gap", "value": gap}
                    distance = float((gram - outer).norm() / outer.norm())
                    yield {**columns, "quantity": "prop2/distance", "value": distance}
                    collapse_of_arm = _collapse(h, labels)
                    yield {**columns, "quantity": "prop2/nc1", "value": collapse_of_arm.nc1}
                    yield {**columns, "quantity": "prop2/nc2", "value": collapse_of_arm.nc2}
                    if arm == "claim" and step == measured_steps[-1]:
                        chance = collapse_nulls(h, torch.from_numpy(labels), stream("a_features", "chance", seed))
                        for name, by_chance in chance.items():
                            yield {**columns, "quantity": f"null/prop2/{name}", "value": by_chance}


def _collapse(h: torch.Tensor, labels: np.ndarray) -> Collapse:
    """NC1 and NC2 of features (n, d). Raises BrokenInvariant unless tr S_W + tr S_B is the total variance."""
    collapse = gramlab.neural_collapse(h, torch.from_numpy(labels))
    total = float((h - h.mean(0)).square().sum()) / len(h)
    check_traces(collapse.within, collapse.between, total)
    return collapse


def proposition_3(kind: str, instance: int) -> Iterator[dict]:
    """A.prop3 on random latents Z and inputs X, dependent or independent."""
    draw = stream("a_features", "prop3", kind, instance)
    d, p = 1 if kind == "few latents" else int(draw.integers(1, 6)), int(draw.integers(2, 10))
    n = d + int(draw.integers(4, 30))
    Z, mix = draw.normal(size=(n, d)), draw.normal(size=(d, p))
    X = 0.1 * draw.normal(size=(n, p))
    noise, heavy = draw.normal(size=(n, p)), draw.standard_t(2, size=(n, p))
    added = {"gaussian": noise, "offset": 3 + noise, "heavy tails": heavy, "linear": Z @ mix}
    X += added.get(kind, np.tanh(3 * Z @ mix))
    if kind == "no latents":
        Z = 0 * Z
    if kind == "a latent twice":
        Z = np.hstack([Z, Z[:, :1]])
    order = draw.permutation(n) if kind in DEPENDENT else None
    yield from ({**row, "seed": instance} for row in interpolated(f"{kind}, {instance}", kind, Z, X, order))


def interpolated(
    case: str, kind: str, Z: np.ndarray, X: np.ndarray, shuffled: np.ndarray | None = None
) -> Iterator[dict]:
    """A.prop3: the mean error of interpolation over that of reconstruction, and sqrt(1 - T_0) against the latter.

    The inequality is taken at F = {g}, because a larger F has a smaller minimum. "claim" compares sqrt(1 - T_0) times
    the root mean square of x - mean with the mean residual norm, "corrected" with the root mean square of the residual
    norms. "prop3/by linearity" is the mean residual norm over sqrt(1 - T_0) times the root mean square of x - mean.
    Z is (n, d) and X is (n, p); ``shuffled`` (n,) is the order of Z in the fit of a control. Constant inputs have no
    T_0. They give no rows, and neither do inputs that g reconstructs exactly.
    """
    (n, d), values = Z.shape, np.linalg.svd(Z, compute_uv=False)
    rank = int((values > 1e-12 * values[0]).sum())
    g = np.linalg.lstsq(Z, X, rcond=1e-12)[0]
    reconstruction = _norms(Z @ g - X).mean()
    if reconstruction <= 1e-9 * _norms(X).mean() or not (X - X[0]).any():
        return
    predictors: dict[str, tuple[np.ndarray, float]] = {"claim": (g, 0.0), "corrected": (g, 0.0), NOT_LINEAR: (g, 10.0)}
    if shuffled is not None:
        predictors[SHUFFLED] = (np.linalg.lstsq(Z[shuffled], X, rcond=None)[0], 0.0)
    for arm, (linear, amplitude) in predictors.items():
        columns = {"arm": arm, "case": kind, "dtype": "float64", "quantity": "prop3/ratio"}
        for alpha in ALPHAS:
            z, x = ((alpha * rows[:, None] + (1 - alpha) * rows[None]).reshape(n * n, -1) for rows in (Z, X))
            errors = _norms(z @ linear + amplitude * reconstruction * np.sin(5 * z[:, :1]) - x)
            yield {**columns, "x": alpha, "value": float(errors.mean() / reconstruction)}
        for dtype in DTYPES:
            z, x = Z.astype(dtype), X.astype(dtype)
            basis = np.linalg.svd(z, full_matrices=False)[0][:, :rank]
            spread = (x - x.mean(0)) ** 2
            unexplained = ((x - basis @ (basis.T @ x)) ** 2).sum() / spread.sum()  # 1 - T_0
            by_linearity = float(np.sqrt(unexplained) * np.sqrt(spread.sum() / dtype(n)))
            weights = linear.astype(dtype)
            if linear is g:
                cutoff = max(z.shape) * np.finfo(dtype).eps
                weights = np.linalg.solve(z.T @ z, z.T @ x) if rank == d else np.linalg.lstsq(z, x, rcond=cutoff)[0]
            norms = _norms(z @ weights + dtype(amplitude * reconstruction) * np.sin(dtype(5) * z[:, :1]) - x)
            error = float(norms.mean() if arm == "claim" else np.sqrt((norms**2).mean()))
            kappa = (values[0] / values[rank - 1]) ** 2 if rank else 1.0
            size = (n + d) * float(kappa * np.sqrt((x**2).sum() / n))
            yield {"arm": arm, "case": case, "dtype": np.dtype(dtype).name,
                   "quantity": "prop3/residual", "value": abs(error - by_linearity) / size}  # fmt: skip
            if arm == "claim" and dtype is np.float64:
                yield {**columns, "quantity": "prop3/by linearity", "value": float(norms.mean()) / by_linearity}


def _norms(rows: np.ndarray) -> np.ndarray:
    return np.linalg.norm(rows, axis=1)
