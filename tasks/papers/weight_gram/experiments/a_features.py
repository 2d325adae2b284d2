"""Least squares on features: Neural Collapse (A.prop2) and interpolation (A.prop3) of paper A.

A.prop2 builds features by NC1 and NC2 from their definition, trains readout and bias by least squares on the centred
one-hot labels, and compares G_id with Y Y^T; beside that stand networks on their way to collapse. A.prop3 compares both
sides of its inequality at f = g, the OLS fit, over alpha, and the right side with what Target Linearity makes of it; on
random latents, a layer along the training of a small network, degenerate latents, and what hypothesis finds.
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
from gramlab.nets import TrainingConfig, fit, mlp
from gramlab.streams import stream
from tasks.measuring.counterexamples import Arrays, array, smallest
from tasks.papers.weight_gram.experiments.shared.instances import trained as trained_layers
from tasks.settings.fields import Count
from tasks.settings.simulation import Simulation

DTYPES: tuple[Any, ...] = (np.float64, np.float32)
ALPHAS = (0.0, 0.1, 0.3, 0.5, 0.8, 1.0)
CLASSES = ("simplex", "two classes", "as many dimensions as classes", "scaled")
SEEDS, GROUPS, PER_GROUP = 6, 4, 30  # of the trained networks: classes and samples of each
EXPLAINED = ("nonlinear", "few latents", "linear")  # X depends on Z
DEGENERATE = ("no latents", "a latent twice")
UNCENTRED, WITHIN = "control: labels not centred", "control: within-class noise"
BENT, SHUFFLED = "control: f not linear", "control: shuffled pairs"


class Settings(Simulation):
    """Settings of this experiment."""

    steps: Count


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: prop2/gram, prop2/residual, prop2/without NC2, prop2/ of trained nets, prop3/ratio and prop3/residual."""
    yield from adversaries()
    yield from trained(settings.steps)
    for instance in range(settings.instances):
        for kind in CLASSES:
            yield from proposition_2(kind, instance)
        for kind in ("gaussian", "offset", "heavy tails", *EXPLAINED, *DEGENERATE):
            yield from proposition_3(kind, instance)
        for layer in trained_layers(instance):
            latents = np.maximum(layer.W @ layer.H, 0).T
            yield from interpolated(f"{layer.kind}, {instance}", "trained layer", latents, layer.H.T)


def adversaries() -> Iterator[dict]:
    """The smallest collapsed features, or latents and inputs, that hypothesis finds to violate Proposition 2 or 3."""

    def frame(one: dict) -> bool:
        d, classes = np.shape(one["A"])
        return d >= classes >= 2 and np.linalg.matrix_rank(array(one["A"])) == classes

    def features(one: dict) -> list[dict]:
        within = array(one["noise"])
        return [*collapsed("", array(one["A"]), within.reshape(len(within), -1))]

    def pairs(one: dict) -> list[dict]:
        return [*interpolated("", "", array(one["Z"]), array(one["X"]))]

    def independent(one: dict) -> bool:
        return np.linalg.matrix_rank(array(one["Z"])) == len(one["Z"][0]) < len(one["Z"])

    given = Arrays(frame, A=(0, 1), noise=(0, 1, 2))  # dimensions, classes, samples of each
    yield from smallest("prop2", ["claim", UNCENTRED, WITHIN], given, features)
    given = Arrays(independent, Z=(0, 1), X=(0, 2))
    yield from smallest("prop3", ["claim", "corrected", BENT], given, pairs)


def proposition_2(kind: str, instance: int) -> Iterator[dict]:
    """A.prop2 on a random simplex; beside it class means in general position."""
    draw = stream("a_features", "prop2", kind, instance)
    classes = 2 if kind == "two classes" else int(draw.integers(3, 8))
    d = classes if kind == "as many dimensions as classes" else classes + int(draw.integers(0, 15))
    each = int(draw.integers(2, 12))
    size = 10.0 ** draw.uniform(-2, 2) if kind == "scaled" else 1.0
    directions, within = draw.normal(size=(d, classes)), draw.normal(size=(d, classes * each))
    yield from collapsed(f"{kind}, {instance}", directions, within, size, draw.normal(size=(d, classes)))


def collapsed(
    case: str, directions: np.ndarray, within: np.ndarray, size: float = 1.0, general: np.ndarray | None = None
) -> Iterator[dict]:
    """A.prop2: G_id = Y Y^T, and S_cls(G_id) = ||G_id||_F ||Y Y^T||_F, which Lemma 5 says is the most there can be.

    directions (d, classes): what spans the simplex; within (d, n): a control's noise, sample by sample, class by class;
    size: of the class means; general (d, classes): other class means, which obey NC1 alone.
    """
    d, classes = directions.shape
    each = within.shape[1] // classes
    # vertices of a simplex, rotated into d dimensions: equal norms, equal angles, mean 0
    simplex = np.linalg.qr(directions)[0] @ (np.eye(classes) - 1 / classes)
    labels = np.repeat(np.arange(classes), each)
    Y = np.eye(classes)[labels] - 1 / classes
    H = size * simplex[:, labels]
    noise = H + 0.1 * size * (within - within.mean(1, keepdims=True))
    arms = {"claim": (H, Y), UNCENTRED: (H, np.eye(classes)[labels])}
    if general is not None:  # under NC1 alone, means in general position, least squares fits the labels just as well
        means = general @ (np.eye(classes) - 1 / classes)
        arms["general"] = (means[:, labels], Y)
    if d < classes * each - 1:  # otherwise the fit interpolates whatever is within the classes
        arms[WITHIN] = (noise, Y)
    for arm, (features, targets) in arms.items():
        for dtype in DTYPES:
            h, y = features.astype(dtype), targets.astype(dtype)
            design = np.vstack([h, np.full((1, h.shape[1]), dtype(size))]).T  # with a bias, of the features' scale
            cut = max(design.shape) * np.finfo(dtype).eps
            W = np.linalg.lstsq(design, Y.astype(dtype), rcond=cut)[0][:-1].T
            gram, outer = (W @ h).T @ (W @ h), y @ y.T
            norm, n = float(np.linalg.norm(outer)), h.shape[1]
            length = n + d + 1
            surrogate = float(np.trace(y.T @ gram @ y))
            short = abs(surrogate - float(np.linalg.norm(gram)) * norm) / norm**2
            if arm == "general":
                values = np.linalg.svd(means, compute_uv=False)
                length *= (values[0] / values[classes - 2]) ** 2
            about = {"case": case, "dtype": np.dtype(dtype).name}
            apart = float(np.linalg.norm(gram - outer)) / norm / length
            if arm == "general":
                yield {**about, "arm": "claim", "quantity": "prop2/without NC2", "value": apart}
                continue
            yield {**about, "arm": arm, "quantity": "prop2/gram", "value": apart}
            yield {**about, "arm": arm, "quantity": "prop2/residual", "value": short / length}


def trained(steps: int) -> Iterator[dict]:
    """A.prop2 on the last hidden features of networks trained to collapse, by step (x) and seed.

    Four classes of two Gaussian clusters each, the squared loss on centred one-hot labels, weight decay. The gap is
    1 - S_cls(G_id) / (||G_id||_F ||Y Y^T||_F), of the readout that is fitted to the centred features by least squares.
    One control adds noise within the classes, of the size that the untrained network's features have there. In the
    other the surrogate is that of shuffled labels: of what does not depend on the features least squares explains a
    share of about 12 / (samples - 1), collapsed or not.
    """
    draw = stream("a_features", "clusters")
    labels = np.repeat(np.arange(GROUPS), PER_GROUP)
    centres = 2 * draw.normal(size=(GROUPS, 2, 6))
    inputs = centres[labels, draw.integers(0, 2, len(labels))] + 0.3 * draw.normal(size=(len(labels), 6))
    x, Y = torch.from_numpy(inputs), torch.eye(GROUPS, dtype=torch.float64)[labels] - 1 / GROUPS
    data = DataSet("clusters", x, Y, x[:0], Y[:0])
    model = mlp(6, [32, 32, 12], GROUPS, "relu")
    kept = sorted({0, steps, *(int(step) for step in np.geomspace(10, steps, 20))})
    config = TrainingConfig(
        loss="mse", lr=0.1, momentum=0.9, weight_decay=5e-4, batch=None, epochs=steps, snapshots=tuple(kept),
        history_every=steps, dtype="float64", name=("a_features", "collapse"),
    )  # fmt: skip
    with TemporaryDirectory() as scratch:
        snapshots, _ = fit(model, data, config, SEEDS, Path(scratch))
        weights = {step: load_file(path) for step, path in snapshots.items()}
    model.double()
    for seed in range(SEEDS):
        noise = torch.from_numpy(stream("a_features", "within", seed).normal(size=(len(x), 12)))
        shuffled = Y[torch.from_numpy(stream("a_features", "other labels", seed).permutation(len(x)))]
        for step in kept:
            model.load_state_dict({key: value[seed] for key, value in weights[step].items()})
            with torch.no_grad():
                H = model[:-1](x)
            spread = gramlab.neural_collapse(H, torch.from_numpy(labels))
            if step == 0:
                share = (spread.nc1 / 12) ** 0.5  # of the root of the variance between classes
            noisy = H + share * spread.between**0.5 * noise
            for arm, h, goal in (("claim", H, Y), (WITHIN, noisy, Y),
                                 ("control: shuffled labels", H, shuffled)):  # fmt: skip
                h = h - h.mean(0)
                fitted = h @ torch.linalg.lstsq(h, goal, driver="gelsd").solution
                gram, outer = fitted @ fitted.T, goal @ goal.T
                gap = 1 - float((gram * outer).sum() / gram.norm() / outer.norm())
                about = {"arm": arm, "case": "trained", "seed": seed, "step": step, "x": float(step),
                         "dtype": "float64"}  # fmt: skip
                yield {**about, "quantity": "prop2/gap", "value": gap}
                yield {**about, "quantity": "prop2/distance", "value": float((gram - outer).norm() / outer.norm())}
                found = gramlab.neural_collapse(h, torch.from_numpy(labels))
                yield {**about, "quantity": "prop2/nc1", "value": found.nc1}
                yield {**about, "quantity": "prop2/nc2", "value": found.nc2}


def proposition_3(kind: str, instance: int) -> Iterator[dict]:
    """A.prop3 on random latents and inputs, of which the inputs depend on the latents or do not."""
    draw = stream("a_features", "prop3", kind, instance)
    d, p = 1 if kind == "few latents" else int(draw.integers(1, 6)), int(draw.integers(2, 10))
    n = d + int(draw.integers(4, 30))
    Z, mix = draw.normal(size=(n, d)), draw.normal(size=(d, p))
    X = 0.1 * draw.normal(size=(n, p))
    noise, heavy = draw.normal(size=(n, p)), draw.standard_t(2, size=(n, p))
    whole = {"gaussian": noise, "offset": 3 + noise, "heavy tails": heavy, "linear": Z @ mix}
    X += whole.get(kind, np.tanh(3 * Z @ mix))
    if kind == "no latents":
        Z = 0 * Z
    if kind == "a latent twice":
        Z = np.hstack([Z, Z[:, :1]])
    order = draw.permutation(n) if kind in EXPLAINED else None
    yield from interpolated(f"{kind}, {instance}", kind, Z, X, order)


def interpolated(
    case: str, kind: str, Z: np.ndarray, X: np.ndarray, shuffled: np.ndarray | None = None
) -> Iterator[dict]:
    """A.prop3: the mean error of interpolation over that of reconstruction, and sqrt(1 - T_0) against the latter.

    The inequality is taken at F = {g}: a larger F has a smaller minimum. "claim" compares sqrt(1 - T_0) times the root
    mean square of x - mean with the mean residual norm, "corrected" with the root mean square of the residual norms.
    Z (n, d), X (n, p); ``shuffled`` (n,): the order in which a control's fit sees Z. Inputs that are all the same have
    no T_0, and without an error of reconstruction there is nothing to divide by; of these there are no rows.
    """
    (n, d), values = Z.shape, np.linalg.svd(Z, compute_uv=False)
    rank = int((values > 1e-12 * values[0]).sum())
    g = np.linalg.lstsq(Z, X, rcond=1e-12)[0]
    reconstruction = _norms(Z @ g - X).mean()
    if reconstruction <= 1e-9 * _norms(X).mean() or not (X - X[0]).any():
        return
    predictors: dict[str, Any] = {"claim": (g, 0.0), "corrected": (g, 0.0), BENT: (g, 10.0)}
    if shuffled is not None:
        predictors[SHUFFLED] = (np.linalg.lstsq(Z[shuffled], X, rcond=None)[0], 0.0)
    for arm, (linear, wave) in predictors.items():
        about = {"arm": arm, "case": kind, "dtype": "float64", "quantity": "prop3/ratio"}
        for alpha in ALPHAS:
            z, x = ((alpha * one[:, None] + (1 - alpha) * one[None]).reshape(n * n, -1) for one in (Z, X))
            errors = _norms(z @ linear + wave * reconstruction * np.sin(5 * z[:, :1]) - x)
            yield {**about, "x": alpha, "value": float(errors.mean() / reconstruction)}
        for dtype in DTYPES:
            z, x = Z.astype(dtype), X.astype(dtype)
            basis = np.linalg.svd(z, full_matrices=False)[0][:, :rank]
            spread = (x - x.mean(0)) ** 2
            missing = ((x - basis @ (basis.T @ x)) ** 2).sum() / spread.sum()  # 1 - T_0
            through = float(np.sqrt(missing) * np.sqrt(spread.sum() / dtype(n)))
            weights = linear.astype(dtype)
            if linear is g:
                cut = max(z.shape) * np.finfo(dtype).eps
                weights = np.linalg.solve(z.T @ z, z.T @ x) if rank == d else np.linalg.lstsq(z, x, rcond=cut)[0]
            norms = _norms(z @ weights + dtype(wave * reconstruction) * np.sin(dtype(5) * z[:, :1]) - x)
            error = float(norms.mean() if arm == "claim" else np.sqrt((norms**2).mean()))
            kappa = (values[0] / values[rank - 1]) ** 2 if rank else 1.0
            size = (n + d) * float(kappa * np.sqrt((x**2).sum() / n))
            yield {"arm": arm, "case": case, "dtype": np.dtype(dtype).name,
                   "quantity": "prop3/residual", "value": abs(error - through) / size}  # fmt: skip
            if arm == "corrected" and dtype is np.float64:
                yield {**about, "case": f"{kind}, with T", "value": float(norms.mean()) / through}


def _norms(rows: np.ndarray) -> np.ndarray:
    return np.linalg.norm(rows, axis=1)
