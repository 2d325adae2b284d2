"""One look for all figures: sizes, colours, lines of seeds, and the stamp that says at which scale each was made."""

import io
import math
import re
import textwrap
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter
from scipy import stats

from gramlab.files import atomic
from tasks.drawing import svg

WIDTH = 7.2  # inches: at 700 pixels, as the report shows figures, a point of text is a point on the screen
FOOT = 0.2  # inches, the stamp's
SMALL = 7  # points: no text is smaller
STAMP = {
    "quick": "quick scale: not the papers' settings or data",
    "paper": "paper scale: the papers' settings, and data except where said",
}
BLUE, SKY, GREEN, PURPLE, VERMILLION = "#0072b2", "#56b4e9", "#009e73", "#cc79a7", "#d55e00"  # Okabe and Ito
CLAIM, CONTROL, OTHER, PRINTED, GUIDE = BLUE, VERMILLION, GREEN, "#000000", "#777777"
COLORS = {  # a quantity has one colour in all figures; vermillion is for controls alone, black for what a paper prints
    "weight Gram": SKY,
    "FACT": BLUE,
    "AGOP": GREEN,
    "eNFA": PURPLE,
    "training accuracy": SKY,
    "test accuracy": BLUE,
    "accuracy gap": GREEN,
    "Target Linearity": PURPLE,
    "gradient descent": GREEN,
    "whitened update": BLUE,
    "linear predictor": BLUE,
    "network": GREEN,
    "chase": PURPLE,
    "observed": BLUE,
    "predicted": PURPLE,
    "input": BLUE,
    "projected": GREEN,
    "activated": PURPLE,
}
# an index or a power in plain text: in braces or parentheses, a short name, a letter or a number
RAISED = re.compile(
    r"(?<=[^\s_^])(?P<kind>[_^])(?:\{(?P<braces>[^{}]+)\}"
    r"|(?P<plain>min\([^()]*\)|\([^()]*\)|OLS|ETF|id|cls|max|min"
    r"|[^\W\d_]\+\d|[^\W\d_](?![^\W\d_])|\d+))(?![\u0300-\u036f])"
)
GREEK = {"beta": "β", "delta": "δ", "kappa": "κ", "lambda": "λ", "tau": "τ"}  # as the names of controls spell them
MARKS = {"claim": "o", "control": "X"}  # colour never stands alone
MOST_SEEDS = 20  # that are drawn one by one

matplotlib.use("agg")
sns.set_theme(
    context="paper",
    style="ticks",
    palette="colorblind",
    rc={
        "axes.labelsize": 8,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlesize": 8.5,
        "font.family": "DejaVu Sans",  # ships with matplotlib, so that sizes do not depend on the machine
        "font.size": 8,
        "image.cmap": "viridis",
        "legend.fontsize": 7.5,
        "legend.frameon": False,
        "legend.title_fontsize": 7.5,
        "svg.fonttype": "none",
        "svg.hashsalt": "gramlab",
        "xtick.labelsize": 7.5,
        "ytick.labelsize": 7.5,
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


def panels(claim: ModuleType, columns: int = 1, rows: int = 1, height: float = 3.2, **grid: Any) -> tuple[Figure, Any]:
    """A figure of the claim with its title on top, room for the stamp below, and a grid of axes."""
    figure = Figure(figsize=(WIDTH, height), layout=Layout(rect=(0, FOOT / height, 1, 1 - FOOT / height)))
    title = textwrap.fill(f"{claim.ID}  {claim.TITLE}", 88)
    figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
    return figure, figure.subplots(rows, columns, squeeze=False, **grid)


def plain(text: str) -> str:
    """The text without mathematical script letters, which the figures' font lacks."""
    return "".join(unicodedata.normalize("NFKC", letter) if letter > "\U0001d3ff" else letter for letter in text)


def legend(figure: Figure, axes: Any, columns: int, title: str = "") -> None:
    """Put one legend for several panels below them; a label that panels share appears once."""
    entries: dict[str, Any] = {}
    for panel in axes:
        handles, labels = panel.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
    drawn = figure.legend([*entries.values()], [*entries], loc="outside lower left", ncols=columns, title=title,
                          alignment="left")  # fmt: skip
    for line in drawn.get_lines():
        line.set_alpha(1)


def note(figure: Figure, text: str) -> None:
    """Write a remark into the figure's foot, at the left of the stamp."""
    figure.text(0.01, 0.012, text, va="bottom", fontsize=SMALL, color="#555555")


def enlarge_near_one(axes: Axes) -> None:
    """Let the axis of correlations be linear in Fisher's z, as the rules compare them, and hold all that is drawn."""
    marks = [-0.99, -0.9, -0.5, 0, 0.5, 0.9, 0.97, 0.99, 0.997, 0.999, 0.9997, 0.9999, 0.99999]
    nearest = 1 - 1e-7
    drawn = np.concatenate(
        [np.asarray(line.get_ydata(), float) for line in axes.get_lines()]
        + [np.asarray(path.vertices)[:, 1] for lines in axes.collections for path in lines.get_paths()]
    )
    z = np.arctanh(np.clip(drawn[np.isfinite(drawn)], -nearest, nearest))
    axes.set_yscale("function", functions=(lambda r: np.arctanh(np.clip(r, -nearest, nearest)), np.tanh))
    axes.set_yticks(marks, [f"{mark:g}" for mark in marks])
    axes.set_ylim(np.tanh(z.min() - 0.2), min(nearest, np.tanh(z.max() + 0.2)))


def controls(rows: pd.DataFrame) -> list[str]:
    """The arms in which the hypothesis is broken, in alphabetical order."""
    return sorted(arm for arm in rows["arm"].unique() if arm.startswith("control"))


def are_of_paper_scale(rows: pd.DataFrame) -> bool:
    """Whether the rows are of the papers' settings, so that printed numbers can stand beside them."""
    return set(rows["scale"]) == {"paper"}


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


def seeds(axes: Axes, rows: pd.DataFrame, x: str, color: Any, **line: Any) -> None:
    """Draw the mean over seeds as a line and each seed as a thin one; the interval as a band where seeds are many.

    Set a logarithmic axis before: then the mean is geometric, and the interval is that of the logarithms.
    """
    logarithmic = axes.get_yscale() == "log"
    curve = mean_and_band(rows.assign(value=np.log(rows["value"])) if logarithmic else rows, x)
    if logarithmic:
        curve = curve.assign(**np.exp(curve[["mean", "low", "high"]]))
    axes.plot(curve["x"], curve["mean"], **{"color": color, "linewidth": 1.5, **line})
    if rows["seed"].nunique() > MOST_SEEDS:
        axes.fill_between(curve["x"], curve["low"], curve["high"], color=color, alpha=0.2, linewidth=0)
    elif rows["seed"].nunique() > 1:
        courses = rows.groupby(["seed", x])["value"].mean().unstack("seed")
        courses.loc[np.inf] = np.nan  # a gap after each seed, so that all are one path
        places = np.tile(courses.index.to_numpy(float), courses.shape[1])
        width, alpha = (0.6, 0.5) if courses.shape[1] <= 5 else (0.4, 0.35)
        axes.plot(places, courses.to_numpy().T.ravel(), color=color, linewidth=width, alpha=alpha, label="_")


def meaning_of_lines(rows: pd.DataFrame, mean: str = "mean") -> str:
    """What the lines of ``seeds`` are, for a legend's title."""
    count = rows["seed"].nunique()
    if count > MOST_SEEDS:
        return f"line: {mean}; band: Student's 95 % interval over {count} seeds"
    return f"thick: {mean}; thin: each of {count} seeds" if count > 1 else "a single seed"


def layers(axes: Axes, rows: pd.DataFrame, **line: Any) -> None:
    """Draw ``value`` against ``x`` of every layer, from light to dark purple."""
    names = sorted(rows["layer"].unique())
    for layer, color in zip(names, layer_colors(len(names)), strict=True):
        seeds(axes, rows[rows["layer"] == layer], "x", color, label=f"layer {layer}", **line)


def layer_colors(number: int) -> list[Any]:
    """Colours of layers, the first the lightest; none of them is near a control's or an accuracy's."""
    return sns.blend_palette(["#e3b7d0", PURPLE, "#5d1f48"], number) if number > 1 else [PURPLE]


def accuracies(axes: Axes, rows: pd.DataFrame, label: str = "accuracy") -> Axes:
    """Draw training and test accuracy against ``x`` dashed, on a second axis at the right."""
    twin = axes.twinx()
    for quantity, dashes in (("train_accuracy", "-."), ("test_accuracy", "--")):
        accuracy = rows[rows["quantity"] == quantity]
        if len(accuracy):
            name = quantity.replace("train_", "training ").replace("_", " ")
            seeds(twin, thinned(accuracy), "x", COLORS[name], linestyle=dashes, linewidth=1)
            axes.plot([], [], color=COLORS[name], linestyle=dashes, linewidth=1, label=f"{name} (right axis)")
    twin.set(ylim=(0, 1.02), ylabel=label)
    twin.spines["right"].set_visible(True)
    return twin


def legible(color: Any, least: float = 3.0) -> tuple[float, float, float]:
    """The colour of a line, for text on white: darker where its contrast by WCAG 2.1 would be below ``least``."""
    channels = np.array(to_rgb(color))
    linear = np.where(channels <= 0.03928, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    luminance, allowed = float(linear @ [0.2126, 0.7152, 0.0722]), 1.05 / least - 0.05
    if luminance > allowed:
        linear *= allowed / luminance
        channels = np.where(linear <= 0.03928 / 12.92, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    red, green, blue = (float(channel) for channel in channels)
    return red, green, blue


def label_ends(axes: Axes, ends: list[tuple[float, str, Any]], x: float = 1.02, gap: float = 0.075) -> None:
    """Write labels beside the ends of lines, at the right of the panel, apart by ``gap`` of its height.

    Labels move up to make room, and down where the uppermost would leave the panel. An end is the height
    at which a line ends, the label and the colour. Set the axis's limits before.
    """
    scale = axes.transScale.transform
    (_, bottom), (_, top) = scale([(1, limit) for limit in axes.get_ylim()])
    places = [float((scale((1, height))[1] - bottom) / (top - bottom)) for height, _, _ in ends]
    order = np.argsort(places)
    shifted = np.sort(places)
    heights = np.array([gap * (1 + ends[index][1].count("\n")) for index in order])
    apart = np.cumsum((heights[:-1] + heights[1:]) / 2)
    apart = np.concatenate([[0.0], apart])[: len(shifted)]
    shifted = np.maximum.accumulate(shifted - apart) + apart
    shifted = np.minimum(shifted, 1 + apart - apart[-1:])
    for place, index in zip(shifted, order, strict=True):
        _, text, color = ends[index]
        axes.text(x, place, text, color=legible(color), transform=axes.transAxes, fontsize=SMALL + 0.5, va="center")


def label_lines(
    axes: Axes, names: Mapping[str, str] = MappingProxyType({}), width: int = 22, gap: float = 0.075
) -> None:
    """Write the labels of the panel's lines at their ends, as ``label_ends`` does; marks without a line have none.

    ``names``: what stands for a label, nothing where it is empty; ``width``: the most letters of a line of text.
    """
    ends = []
    for line in axes.get_lines():
        label = str(line.get_label())
        heights = np.asarray(line.get_ydata(), float)
        heights = heights[np.isfinite(heights)]
        words = textwrap.fill(names.get(label, label), width)
        if words and len(heights) and not label.startswith("_") and line.get_linestyle() != "None":
            ends.append((float(heights[-1]), words, line.get_color()))
    axes.set_ylim(axes.get_ylim())
    label_ends(axes, ends, gap=gap)


def name_lines(axes: Axes, names: list[tuple[str, Any]], x: float = 0.97, y: float = 0.04) -> None:
    """Write the names of lines into a corner of the panel that the lines leave free, each in its line's colour.

    Parameters
    ----------
    axes
        The panel.
    names
        A name and a colour for each line, the uppermost first. A name may have several lines of text.
    x, y
        The corner at which the text ends, in parts of the panel: the upper one where ``y`` is above one half.
    """
    upper = y > 0.5
    away = 0.0  # points, because the layout still changes the panel's height
    for name, color in names if upper else reversed(names):
        axes.annotate(name, (x, y), (0, away), xycoords="axes fraction", textcoords="offset points",
                      color=legible(color, 4.5), fontsize=SMALL + 0.5, ha="right" if x > 0.5 else "left",
                      va="top" if upper else "bottom")  # fmt: skip
        away += (-1 if upper else 1) * (SMALL + 0.5) * 1.25 * (name.count("\n") + 1)


def name_axis(axes: Axes, names: list[tuple[str, Any]], away: float = 30) -> None:
    """Name the lines that belong to the axis at the right, upwards beside it, each in its line's colour.

    ``away``: points from the axis to the first name, for the numbers at its ticks.
    """
    axes.set_ylabel("")
    for place, (name, color) in enumerate(names):
        axes.annotate(name, (1, 0.5), (away + place * 1.5 * SMALL, 0), xycoords="axes fraction",
                      textcoords="offset points", rotation=90, va="center", fontsize=SMALL + 0.5,
                      color=legible(color, 4.5))  # fmt: skip


def strip(rows: pd.DataFrame) -> np.ndarray:
    """Images side by side (side, images x side, channels): a layer is an image, ``x`` numbers its pixels."""
    pixels = rows.assign(index=rows["layer"].astype(int)).pivot_table(index="index", columns="x", values="value")
    values = pixels.to_numpy()
    channels = 1 if math.isqrt(values.shape[1]) ** 2 == values.shape[1] else 3
    side = math.isqrt(values.shape[1] // channels)
    return np.hstack(np.moveaxis(values.reshape(len(values), channels, side, side), 1, -1))


def square(values: np.ndarray) -> np.ndarray:
    """The values of an image's pixels as a square; the mean of three colour channels."""
    channels = 1 if math.isqrt(len(values)) ** 2 == len(values) else 3
    side = math.isqrt(len(values) // channels)
    return values.reshape(channels, side, side).mean(0)


def image(axes: Axes, rows: pd.DataFrame, title: str) -> Any:
    """Draw the moduli of a square matrix from 0 to 1; a row is an entry, ``x`` its place."""
    values = rows.sort_values("x")["value"].to_numpy()
    side = round(len(values) ** 0.5)
    drawn = axes.imshow(np.abs(values.reshape(side, side)), cmap="viridis", vmin=0, vmax=1)
    axes.set(xticks=[], yticks=[])
    axes.set_title(title, fontsize=8)
    return drawn


def typeset(words: str) -> str:
    """Words with Greek letters, minus signs in place of hyphens before numbers, and no minus sign before a zero.

    Examples
    --------
    >>> typeset("ridge 2 n lambda, S V^T, from -0.5 to -0.0")
    'ridge 2 n λ, S Vᵀ, from −0.5 to 0.0'
    """
    words = re.sub(rf"(?<![A-Za-z])({'|'.join(GREEK)})(?![A-Za-z])", lambda match: GREEK[match[1]], words)
    words = re.sub(r"(?<=[A-Z])\^T(?![A-Za-z])", "ᵀ", words)
    words = re.sub(r"(?<![\w$^_{}.)\]-])-(?=\d)", "−", words)
    return re.sub(r"−(0(?:\.0+)?)(?![\d.])", r"\1", words)


def mathematics(words: str) -> str:
    """Words with their indices and powers below and above the line, for matplotlib; those with a ``$`` as they are."""
    if "$" in words:
        return words

    def place(match: re.Match[str]) -> str:
        inner = (match["braces"] or match["plain"]).removeprefix("(").replace("-", "−").replace(" ", r"\ ")
        inner = inner.removesuffix(")") if (match["plain"] or "").startswith("(") else inner
        return rf"$\mathregular{{{{}}{match['kind']}{{{inner}}}}}$"

    return RAISED.sub(place, words)


def _rewrite(figure: Figure, change: Callable[[str], str]) -> None:
    """Change every text of a figure; an axis writes the names of its ticks anew as it is drawn."""
    for words in figure.findobj(Text):
        words.set_text(change(words.get_text()))
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        places, names = axis.get_major_locator(), axis.get_major_formatter()
        if isinstance(places, FixedLocator) and isinstance(names, FixedFormatter | FuncFormatter):
            axis.set_major_formatter(FixedFormatter([change(str(name)) for name in names.format_ticks(list(places()))]))


def save(figure: Figure, path: Path, scale: str, numbers: str = "") -> None:
    """Stamp the scale on the figure and write it as a small SVG; equal figures give equal bytes.

    ``numbers``: what the rules find, for readers who do not see the figure.
    """
    figure.text(0.99, 0.012, STAMP[scale], ha="right", va="bottom", fontsize=SMALL, color="#555555")
    _rewrite(figure, typeset)
    title, description = svg.title(figure), svg.description(figure, numbers)  # of plain text
    _rewrite(figure, mathematics)
    drawn = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(drawn, format="svg", metadata=nothing, dpi=144)
    text = svg.with_description(svg.slim(drawn.getvalue()), path.stem, title, description)
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
