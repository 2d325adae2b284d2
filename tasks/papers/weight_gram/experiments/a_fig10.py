"""A.fig10, A.fig5: VAEs over beta by data set: Target Linearity of latent means Z and inputs X, and interpolations.

As printed (Definition 2), the regression of Target Linearity has no intercept, though the inputs have a mean that
latents around zero cannot express. The corrected arm has an intercept; the authors' code centres the inputs. One
control pairs each latent vector with another sample's input. Another, for the sharpness of the reconstructions, gives
the trained networks of each seed the betas of one another.

Encoder and decoder have two layers of 512 units and 32 latents; Adam with a learning rate of 1e-4, 10 epochs on MNIST
and 30 on CIFAR-10. The batch size is not printed and comes from the authors' code.

Quick scale: 540 steps instead of MNIST's 4690, with a larger learning rate, an eighth of the width and a quarter of
the latents.
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

import gramlab
from gramlab.nets.vae import VAE
from gramlab.streams import stream
from tasks.measuring.run import Run

ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
SAMPLES = 10_000  # training samples measured, as in the authors' code
PAIRS = 128  # samples; all their pairs are interpolated
FRAMES = 10  # of one interpolation between two images
SHUFFLED = "control: shuffled pairs"
PERMUTED = "control: permuted betas"
FIGURE_5 = ("MNIST", "digits")  # the data sets of Figure 5


def measure(run: Run) -> Iterator[dict]:
    """Rows: target_linearity and reconstruction by case (data set, beta), epoch (x), seed; images after training.

    Rows interpolation/… for the data set of Figure 5.
    """
    for data_set, variant in run.variants.items():
        for row in _trained_networks(variant, data_set):
            yield {**row, "case": f"{data_set}, {row['case']}"}
    for row in run.history:
        if row["quantity"].endswith("reconstruction"):
            yield {**row, "arm": "claim", "case": row["case"].replace(",", ", ")}


def _trained_networks(run: Run, data_set: str) -> Iterator[dict]:
    """All rows of one data set except the history."""
    x, test = (run.data.scaled(images, torch.float32).flatten(1)
               for images in (run.data.x_train[:SAMPLES], run.data.x_test))  # fmt: skip
    others = {seed: _permuted(run.cases, (run.key, data_set, seed, "other betas")) for seed in run.seeds}
    for epoch in run.epochs:
        for case in run.cases:
            for seed in run.seeds:
                model = run.model(epoch, seed, case)
                columns = {"case": case, "seed": seed, "step": epoch * run.steps_per_epoch, "x": float(epoch)}
                for row in _linearity_and_reconstruction(model, x, test, (run.key, data_set, seed, "measure")):
                    yield {**columns, **row}
                if epoch < run.epochs[-1]:
                    continue
                value = _sharpness(model, test, run.data.x_test.shape[1:])
                for arm, named in (("claim", case), (PERMUTED, others[seed][case])):
                    yield {**columns, "arm": arm, "case": named, "quantity": "sharpness", "value": value}
                if data_set in FIGURE_5:
                    order = torch.from_numpy(stream(run.key, seed, "other pairs").permutation(min(PAIRS, len(x))))
                    for row in _interpolation(model, x[:PAIRS], order):
                        yield {**columns, **row}
                if seed == 0:
                    for row in _images(model, test, run.data.y_test, interpolated=data_set in FIGURE_5):
                        yield {**columns, "arm": "claim", **row}


@torch.no_grad()
def _linearity_and_reconstruction(model: VAE, x: Tensor, test: Tensor, name: tuple) -> Iterator[dict]:
    """Target Linearity on training samples, and the reconstruction error per test sample, of one network."""
    z = model.mean(model.encoder(x))
    shuffled = x[torch.from_numpy(stream(*name, "train").permutation(len(x)))]
    for arm, target, center in (("claim", x, False), ("corrected", x, True), (SHUFFLED, shuffled, True)):
        value = gramlab.target_linearity(z, target, center=center)
        yield {"arm": arm, "dtype": "float64", "quantity": "target_linearity", "value": value}
    noise = torch.from_numpy(stream(*name, "noise").normal(size=(len(test), model.latent))).to(x)
    logits = model(test, noise)[0]
    shuffled = test[torch.from_numpy(stream(*name, "test").permutation(len(test)))]
    for arm, target in (("claim", test), ("corrected", test), (SHUFFLED, shuffled)):
        error = F.binary_cross_entropy_with_logits(logits, target, reduction="none").sum(1).mean()
        yield {"arm": arm, "quantity": "reconstruction", "value": float(error)}


def _permuted(cases: Sequence[str], name: tuple) -> dict[str, str]:
    """For each case another in a random order."""
    return {case: cases[place] for case, place in zip(cases, stream(*name).permutation(len(cases)), strict=True)}


@torch.no_grad()
def _sharpness(model: VAE, test: Tensor, shape: Sequence[int]) -> float:
    """The roughness of the test set's reconstructions, from the latent means, over that of the test set."""
    decoded = torch.sigmoid(model(test)[0])
    reconstructed, original = (_roughness(images.double().reshape(-1, *shape)) for images in (decoded, test))
    return reconstructed / original


def _roughness(images: Tensor) -> float:
    """The sum of squared differences of neighbouring pixels over that of the deviations from an image's mean.

    ``images`` is (..., height, width), and each channel has a mean of its own. This is a mean of squared spatial
    frequencies, weighted by the images' power at each. Brightness and contrast leave it as it is. A blur lowers it,
    because it keeps low frequencies best.
    """
    differences = sum(float(images.diff(dim=axis).square().sum()) for axis in (-2, -1))
    return differences / float((images - images.mean((-2, -1), keepdim=True)).square().sum())


@torch.no_grad()
def _interpolation(model: VAE, x: Tensor, order: Tensor) -> Iterator[dict]:
    """Proposition 3 at F = {g} over all pairs, and the decoder's error and bend on these pairs.

    In the claim g is the least squares fit; the controls take half of it, and the fit to other samples' inputs. The
    ratio is over g's reconstruction.
    """
    z = model.mean(model.encoder(x)).double()
    X = x.double()
    g = _least_squares(z, X)
    reconstruction = float((z @ g - X).norm(dim=1).mean())
    shuffled_g = _least_squares(z[order], X)
    arms = {"claim": (g, X), "control: half of g": (g / 2, X), SHUFFLED: (shuffled_g, X[order])}
    errors = dict.fromkeys(arms, 0.0)
    ends = torch.sigmoid(model.decoder(z.to(x.dtype))).double()
    mixed_ends = {"claim": ends, SHUFFLED: ends[order]}
    bends, sudden = dict.fromkeys(mixed_ends, 0.0), 0.0
    for alpha in ALPHAS:
        mixed_z, mixed_X = (_mixed(rows, alpha) for rows in (z, X))
        decoded = torch.sigmoid(model.decoder(mixed_z.to(x.dtype))).double()
        for arm, (linear, target) in arms.items():
            ratio = float((mixed_z @ linear - mixed_X).norm(dim=1).mean()) / reconstruction
            yield {"arm": arm, "quantity": "interpolation/ratio", "x": alpha, "value": ratio}
            mixed_target = mixed_X if target is X else _mixed(target, alpha)
            errors[arm] += float((decoded - mixed_target).norm(dim=1).mean()) / len(ALPHAS)
        sudden += min(alpha, 1 - alpha) * float((ends[:, None] - ends[None]).norm(dim=-1).mean())
        for arm, images in mixed_ends.items():
            if 0 < alpha < 1:  # at the ends the decoder's images are their own mixture
                bends[arm] += float((decoded - _mixed(images, alpha)).norm(dim=1).mean())
    for arm, value in errors.items():
        yield {"arm": arm, "quantity": "interpolation/decoder", "value": value}
    for arm, bend in bends.items():
        # 0 for a linear transition, 1/2 for one that jumps in the middle; a share, since the ratio has no largest value
        yield {"arm": arm, "quantity": "interpolation/bend", "value": bend / (bend + sudden)}
    yield {"arm": "claim", "quantity": "interpolation/least squares", "value": reconstruction}


def _least_squares(z: Tensor, X: Tensor) -> Tensor:
    # latents may be rank-deficient, which torch's solver on GPUs does not allow
    return torch.linalg.lstsq(z.cpu(), X.cpu()).solution.to(z)


def _mixed(rows: Tensor, alpha: float) -> Tensor:
    """alpha a_i + (1 - alpha) a_j of all pairs of rows, (n², d)."""
    return (alpha * rows[:, None] + (1 - alpha) * rows[None]).flatten(0, 1)


@torch.no_grad()
def _images(model: VAE, test: Tensor, labels: Tensor, interpolated: bool) -> Iterator[dict]:
    """Images of one sample of each class (layer), and of the first 2 turning into the first 8 (layer: the frame).

    x is the index of a pixel value, channel by channel. Values are rounded to eight bits, as in image files.
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
