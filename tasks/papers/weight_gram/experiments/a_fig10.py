"""A.fig10, A.fig5: VAEs over beta by data set. Target Linearity of latent means Z and inputs X; what is interpolated.

As printed (Definition 2) Target Linearity's regression has no intercept, though the inputs have a mean that latents
around zero cannot express; "corrected" has one (the authors' code centres the inputs). In the control each latent
vector is paired with another sample's input.
"""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

import gramlab
from gramlab.nets.vae import VAE
from gramlab.streams import stream
from tasks.measuring.run import Run

ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
SAMPLES = 10_000  # of the training set that are measured: the authors' code's number
PAIRS = 128  # samples of which all pairs are interpolated
FRAMES = 10  # of one interpolation between two images
SHUFFLED = "control: shuffled pairs"
FIGURE_5 = "MNIST"


def measure(run: Run) -> Iterator[dict]:
    """Rows: target_linearity and reconstruction by case (data set, beta), epoch (x), seed; pixels of images at last.

    interpolation/… of MNIST, whose images Figure 5 has.
    """
    for data, own in run.variants.items():
        for row in one_set(own, data):
            yield {**row, "case": f"{data}, {row['case']}"}
    for row in run.history:
        if row["quantity"].endswith("reconstruction"):
            yield {**row, "arm": "claim", "case": row["case"].replace(",", ", ")}


def one_set(run: Run, data: str) -> Iterator[dict]:
    """All but the history, of the networks of one data set."""
    x, test = (run.data.numbers(of, torch.float32).flatten(1) for of in (run.data.x_train[:SAMPLES], run.data.x_test))
    for epoch in run.epochs:
        for case in run.cases:
            for seed in run.seeds:
                model = run.model(epoch, seed, case)
                about = {"case": case, "seed": seed, "step": epoch * run.steps_per_epoch, "x": float(epoch)}
                for row in _epoch(model, x, test, (run.key, data, seed, "measure")):
                    yield {**about, **row}
                if epoch < run.epochs[-1]:
                    continue
                if data == FIGURE_5:
                    order = torch.from_numpy(stream(run.key, seed, "other pairs").permutation(min(PAIRS, len(x))))
                    for row in _interpolation(model, x[:PAIRS], order):
                        yield {**about, **row}
                if seed == 0:
                    for row in _images(model, test, run.data.y_test, interpolated=data == FIGURE_5):
                        yield {**about, "arm": "claim", **row}


@torch.no_grad()
def _epoch(model: VAE, x: Tensor, test: Tensor, name: tuple) -> Iterator[dict]:
    """Of one network: Target Linearity of the training set, reconstruction error per test sample."""
    z = model.mean(model.encoder(x))
    mixed = x[torch.from_numpy(stream(*name, "train").permutation(len(x)))]
    for arm, target, center in (("claim", x, False), ("corrected", x, True), (SHUFFLED, mixed, True)):
        value = gramlab.target_linearity(z, target, center=center)
        yield {"arm": arm, "dtype": "float64", "quantity": "target_linearity", "value": value}
    noise = torch.from_numpy(stream(*name, "noise").normal(size=(len(test), model.latent))).to(x)
    logits = model(test, noise)[0]
    mixed = test[torch.from_numpy(stream(*name, "test").permutation(len(test)))]
    for arm, target in (("claim", test), ("corrected", test), (SHUFFLED, mixed)):
        error = F.binary_cross_entropy_with_logits(logits, target, reduction="none").sum(1).mean()
        yield {"arm": arm, "quantity": "reconstruction", "value": float(error)}


@torch.no_grad()
def _interpolation(model: VAE, x: Tensor, order: Tensor) -> Iterator[dict]:
    """Proposition 3 at F = {g}, over all pairs; the decoder's error on the same pairs, over that of g's reconstruction.

    claim: g is the least squares fit. Controls: half of it, and the fit of latents to other samples' inputs.
    """
    z = model.mean(model.encoder(x)).double()
    X = x.double()
    g = _least_squares(z, X)
    least = float((z @ g - X).norm(dim=1).mean())
    other = _least_squares(z[order], X)
    arms = {"claim": (g, X), "control: half of g": (g / 2, X), SHUFFLED: (other, X[order])}
    errors = dict.fromkeys(arms, 0.0)
    for alpha in ALPHAS:
        mixed, goal = (_mixed(of, alpha) for of in (z, X))
        decoded = torch.sigmoid(model.decoder(mixed.to(x.dtype))).double()
        for arm, (linear, target) in arms.items():
            ratio = float((mixed @ linear - goal).norm(dim=1).mean()) / least
            yield {"arm": arm, "quantity": "interpolation/ratio", "x": alpha, "value": ratio}
            wanted = goal if target is X else _mixed(target, alpha)
            errors[arm] += float((decoded - wanted).norm(dim=1).mean()) / len(ALPHAS)
    for arm, value in errors.items():
        yield {"arm": arm, "quantity": "interpolation/decoder", "value": value}
    yield {"arm": "claim", "quantity": "interpolation/least squares", "value": least}


def _least_squares(z: Tensor, X: Tensor) -> Tensor:
    # latents may be rank-deficient, which torch's method for GPUs does not allow
    return torch.linalg.lstsq(z.cpu(), X.cpu()).solution.to(z)


def _mixed(of: Tensor, alpha: float) -> Tensor:
    """alpha a_i + (1 - alpha) a_j of all pairs of rows, (n², d)."""
    return (alpha * of[:, None] + (1 - alpha) * of[None]).flatten(0, 1)


@torch.no_grad()
def _images(model: VAE, test: Tensor, labels: Tensor, interpolated: bool) -> Iterator[dict]:
    """Images of one sample of each class (layer), and of the first 2 turning into the first 8 (layer: the frame).

    x is the place among an image's numbers, channel by channel; of eight bits, as image files have.
    """
    first = [test[labels == label][0] for label in range(8 + 1)]
    classes = torch.stack(first[:8])
    images = {"image/truth": classes, "image/decoded": torch.sigmoid(model(classes)[0])}
    if interpolated:
        two, eight = (model.mean(model.encoder(first[label])) for label in (2, 8))
        shares = torch.linspace(0, 1, FRAMES, device=test.device)[:, None]
        images |= {"frame/truth": shares * first[8] + (1 - shares) * first[2],
                   "frame/decoded": torch.sigmoid(model.decoder(shares * eight + (1 - shares) * two))}  # fmt: skip
    for quantity, values in images.items():
        for index, pixels in enumerate((255 * values).round().tolist()):
            for place, value in enumerate(pixels):
                yield {"layer": str(index), "quantity": quantity, "x": float(place), "value": value / 255}
