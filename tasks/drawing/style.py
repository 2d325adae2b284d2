"""One look for all figures, and the stamp that says at which scale a figure was made."""

import base64
import io
import math
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from PIL import Image
from scipy import stats

from gramlab.files import atomic

FOOT = 0.2  # inches, the stamp's
STAMP = {
    "quick": "quick scale: not the papers' settings or data",
    "paper": "paper scale: the papers' settings, and data except where said",
}
CLAIM, CONTROL, OTHER, PRINTED, GUIDE = "#0072b2", "#d55e00", "#009e73", "#000000", "#777777"  # Okabe and Ito
MARKS = {"claim": "o", "control": "X"}  # colour never stands alone

matplotlib.use("agg")
sns.set_theme(
    context="paper",
    style="ticks",
    palette="colorblind",
    rc={
        "axes.spines.right": False,
        "axes.spines.top": False,
        "font.family": "DejaVu Sans",  # ships with matplotlib, so that sizes do not depend on the machine
        "legend.frameon": False,
        "svg.fonttype": "none",
        "svg.hashsalt": "gramlab",
    },
)


class Layout(ConstrainedLayoutEngine):
    """Leaves the figure's foot free: matplotlib's makes room for legends, and then puts them at its edge."""

    def execute(self, fig: Figure) -> None:
        """Lay out the axes, then raise the legends out of the foot."""
        for legend in fig.legends:
            legend.set_bbox_to_anchor(None)
        super().execute(fig)
        for legend in fig.legends:
            legend.set_bbox_to_anchor(self.get()["rect"], fig.transFigure)


def panels(
    claim: ModuleType, columns: int = 1, rows: int = 1, height: float = 3.2, width: float = 7.0
) -> tuple[Figure, Any]:
    """A figure of the claim with its title on top, room for the stamp below, and a grid of axes."""
    np.random.seed(0)  # seaborn jitters points by numpy's global generator
    figure = Figure(figsize=(width, height), layout=Layout(rect=(0, FOOT / height, 1, 1 - FOOT / height)))
    figure.suptitle(f"{claim.ID}  {claim.TITLE}", x=0.01, ha="left", fontsize=10, fontweight="bold")
    return figure, figure.subplots(rows, columns, squeeze=False)


def controls(rows: pd.DataFrame) -> list[str]:
    """The arms in which the hypothesis is broken, in alphabetical order."""
    return sorted(arm for arm in rows["arm"].unique() if arm.startswith("control"))


def thinned(rows: pd.DataFrame, points: int = 25, power: float = 1) -> pd.DataFrame:
    """The rows of about ``points`` steps, evenly spaced, with the first two steps and the last.

    With a ``power`` above 1 the early steps are denser than the late ones.
    """
    steps = np.sort(rows["step"].unique())
    selected = {*steps[:: -(-len(steps) // points)], *steps[:2], steps[-1]}
    if power > 1:
        places = np.linspace(0, 1, points) ** power * (len(steps) - 1)
        selected = {*steps[np.unique(places.round().astype(int))], *steps[:2]}
    return rows[rows["step"].isin(selected)]


def mean_and_band(rows: pd.DataFrame, x: str) -> pd.DataFrame:
    """Mean over seeds of ``value`` at each ``x``, and Student's 95 % interval (none for a single seed)."""
    by_seed = rows.groupby([x, "seed"])["value"].mean().groupby(x)
    mean, n = by_seed.mean(), by_seed.count()
    half = stats.t.ppf(0.975, np.maximum(n - 1, 1)) * by_seed.std().fillna(0.0) / np.sqrt(n)
    return pd.DataFrame({"x": mean.index, "mean": mean, "low": mean - half, "high": mean + half}).reset_index(drop=True)


def band(axes: Axes, rows: pd.DataFrame, x: str, color: Any, **line: Any) -> None:
    """Draw the mean over seeds as a line, and the interval as a band around it.

    Set a logarithmic axis before: then the mean is geometric, and the interval is that of the logarithms.
    """
    if axes.get_yscale() == "log":
        curve = mean_and_band(rows.assign(value=np.log(rows["value"])), x)
        curve = curve.assign(**np.exp(curve[["mean", "low", "high"]]))
    else:
        curve = mean_and_band(rows, x)
    axes.plot(curve["x"], curve["mean"], color=color, **line)
    axes.fill_between(curve["x"], curve["low"], curve["high"], color=color, alpha=0.2, linewidth=0)


def layers(axes: Axes, rows: pd.DataFrame, **line: Any) -> None:
    """Draw ``value`` against ``x`` of every layer, from yellow to dark purple."""
    names = sorted(rows["layer"].unique())
    for layer, color in zip(names, sns.color_palette("inferno_r", len(names) + 2)[1:], strict=False):
        band(axes, rows[rows["layer"] == layer], "x", color, linewidth=1.5, label=f"layer {layer}", **line)


def accuracies(axes: Axes, rows: pd.DataFrame, label: str = "accuracy") -> Axes:
    """Draw training and test accuracy against ``x`` in grey, on a second axis at the right."""
    twin = axes.twinx()
    for quantity, dashes in (("train_accuracy", "-."), ("test_accuracy", "--")):
        accuracy = rows[rows["quantity"] == quantity]
        if len(accuracy):
            band(twin, thinned(accuracy), "x", GUIDE, linestyle=dashes, linewidth=1)
            axes.plot([], [], color=GUIDE, linestyle=dashes, linewidth=1, label=quantity.replace("_", " "))
    twin.set(ylim=(0, 1.02), ylabel=label)
    twin.spines["right"].set_visible(True)
    return twin


def strip(rows: pd.DataFrame) -> np.ndarray:
    """Images side by side (side, images x side, channels): a layer is an image, ``x`` numbers its pixels."""
    pixels = rows.assign(index=rows["layer"].astype(int)).pivot_table(index="index", columns="x", values="value")
    values = pixels.to_numpy()
    channels = 1 if math.isqrt(values.shape[1]) ** 2 == values.shape[1] else 3
    side = math.isqrt(values.shape[1] // channels)
    return np.hstack(np.moveaxis(values.reshape(len(values), channels, side, side), 1, -1))


def image(axes: Axes, rows: pd.DataFrame, title: str) -> None:
    """Draw the moduli of a square matrix from 0 to 1; a row is an entry, ``x`` its place."""
    values = rows.sort_values("x")["value"].to_numpy()
    side = round(len(values) ** 0.5)
    axes.imshow(np.abs(values.reshape(side, side)), cmap="viridis", vmin=0, vmax=1)
    axes.set(xticks=[], yticks=[])
    axes.set_title(title, fontsize=8)


def save(figure: Figure, path: Path, scale: str) -> None:
    """Stamp the scale on the figure and write it as a small SVG; equal figures give equal bytes."""
    figure.text(0.99, 0.012, STAMP[scale], ha="right", va="bottom", fontsize=7, color=CONTROL)
    drawn = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(drawn, format="svg", metadata=nothing, dpi=144)
    with atomic(path) as temporary:
        temporary.write_text(_slim(drawn.getvalue()), encoding="utf-8")


def _slim(svg: str) -> str:
    """The same picture in half the bytes: coordinates to a hundredth of a point, images with a palette."""
    svg = re.sub(r'xlink:href="data:image/png;base64,([^"]*)"', _palette, svg, flags=re.S)
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<!DOCTYPE.*?>|<\?xml.*?\?>", "", svg, flags=re.S)
    svg = re.sub(r'(?<=[ "(,ML-])\d+\.\d{3,}(?=[ ",)\n])', _hundredths, svg)
    svg = re.sub(r' id="(?:text|axes|figure|patch|line2d|matplotlib\.axis|xtick|ytick|legend|PathCollection'
                 r'|FillBetweenPolyCollection|LineCollection|QuadMesh)_\d+"', "", svg)  # fmt: skip
    for index, name in enumerate(re.findall(r'<clipPath id="(\w+)"', svg)):  # named after all digits of their places
        svg = svg.replace(name, f"clip{index}")
    svg = svg.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
    return re.sub(r"\s*\n\s*", "\n", svg).strip() + "\n"


def _hundredths(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _palette(png: re.Match[str]) -> str:
    image = Image.open(io.BytesIO(base64.b64decode(png[1]))).convert("RGBA")
    small, data = image.quantize(128, Image.Quantize.FASTOCTREE), io.BytesIO()
    small.save(data, "PNG", optimize=True)
    return f'xlink:href="data:image/png;base64,{base64.b64encode(data.getvalue()).decode()}"'
