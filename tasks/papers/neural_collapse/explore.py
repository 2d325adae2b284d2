"""Paper D to look at: the Gram matrices of samples and of class means, layer by layer of Deep RFM."""

import numpy as np
import pandas as pd

from tasks.reporting.explore import Curve, Matrix, View, frames, seeds

EXPERIMENT = "d_deep_rfm"
CURVES = {"within": "samples of a class", "across": "samples of two classes"}
CLASSES = 10
CONTROL = "control: M = I"


def view(rows: pd.DataFrame) -> View | None:
    """The images of four layers and the inner products of all layers, with and without the AGOP; None without rows."""
    images = rows[rows["quantity"] == "gram/image"]
    if images.empty:
        return None
    rows = rows.assign(layer=pd.to_numeric(rows["layer"], errors="coerce"))
    images = rows[rows["quantity"] == "gram/image"]
    curves = rows[rows["quantity"].isin([f"gram/{name}" for name in CURVES])]
    layers = sorted(curves["layer"].unique().tolist())
    options = {}
    for case in sorted(images["case"].unique()):
        for arm, words in (("claim", "with the AGOP"), (CONTROL, "without it")):
            if ((images["case"] == case) & (images["arm"] == arm)).any():
                options[f"{case}, {words}"] = (case, arm)

    def of(part: pd.DataFrame, option: str) -> pd.DataFrame:
        case, arm = options[option]
        return part[(part["case"] == case) & (part["arm"] == arm)]

    samples = {option: frames(of(images, option), "layer", layers) for option in options}
    means = rows[rows["quantity"] == "image/class means"]
    class_means = {option: frames(of(means, option), "layer", layers) for option in options}
    if means.empty:  # tables older than these rows hold them for the layers of the images alone
        class_means = {option: [_class_means(frame) for frame in samples[option]] for option in options}
    return View(
        title="The Gram matrices of samples and of class means, layer by layer",
        text="Deep RFM repeats a step: fit a kernel machine, then map the data by the root of the machine's AGOP and "
        "by random features. The first square is the Gram matrix of 40 samples, four of each of ten classes, centred "
        "and normalised; the second is that of the class means, from the means of the first square's blocks. Red is 1, "
        "blue is −1. Neural collapse ends in blocks of 1 on the diagonal and −1/9 elsewhere. The samples' square is "
        "kept of four layers; the curves show every layer, by the mean inner product of two samples. Without the AGOP, "
        "M is the identity, and the random features work alone.",
        experiment=EXPERIMENT,
        claims=["d_fig1", "d_fig5"],
        slider="layer",
        values=layers,
        choice="data, kernel and features",
        options=list(options),
        axis="mean inner product",
        matrices=[
            Matrix("samples", samples, limit=1),
            Matrix("class means", class_means, limit=1),
        ],
        curves=[
            Curve(label, {option: seeds(of(curves[curves["quantity"] == f"gram/{name}"], option), "layer", layers)
                          for option in options})
            for name, label in CURVES.items()
        ],
    )  # fmt: skip


def _class_means(frame: list[float] | None) -> list[float] | None:
    """The Gram matrix of the classes' mean samples: means over the blocks of pairs of classes."""
    if frame is None:
        return None
    side = round(len(frame) ** 0.5)
    blocks = np.reshape(frame, (CLASSES, side // CLASSES, CLASSES, side // CLASSES)).mean((1, 3))
    return [float(f"{entry:.3g}") for entry in blocks.ravel()]
