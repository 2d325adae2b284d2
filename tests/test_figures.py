"""Figures: the ready-made ones drawn from a small planted table, and those of the reports as they stand."""

import html
import re
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.path import Path as Drawn
from matplotlib.text import Text
from scipy import stats

from gramlab import tables
from gramlab.streams import stream
from tasks import papers
from tasks.drawing import style
from tasks.drawing.instances import title
from tasks.judging.rows import Rows
from tasks.judging.statement import quantities
from tasks.reporting.rows import read
from tasks.settings import load

SETTINGS = load("quick")


def claim_of(key: str) -> ModuleType:
    return papers.claim(SETTINGS.paper[key], key)


def table(key: str) -> pd.DataFrame:
    """Rows with the quantities that the claim's figure reads, a claim and a control."""
    draw = stream("test_figures", key)
    arms = ("claim", "control: broken")
    rows: list[dict] = []
    names = quantities(claim_of(key))
    stepped = [name for name in names if name.endswith(("/remainder", "/ratio", "/error"))]
    for arm in arms:
        for case in "abc":
            for x in 2.0 ** -np.arange(10):
                labels = {"arm": arm, "case": case, "layer": "0", "x": x}
                for quantity in stepped:
                    rows.append({**labels, "dtype": "float64", "quantity": quantity, "value": x * draw.uniform(0.9, 1)})
            for dtype, u in (("float64", 2.0**-53), ("float32", 2.0**-24)):
                for quantity in sorted(set(names) - set(stepped)):
                    labels = {"arm": arm, "case": case, "dtype": dtype, "quantity": quantity}
                    rows.append({**labels, "value": u * draw.uniform()})
    return tables.table(rows).to_pandas()


@pytest.mark.parametrize("key", ["a_eq1", "a_eq2", "a_lem2", "a_prop1", "c_thm3_1"])
def test_figure(key, tmp_path):
    """Equal bytes twice, the scale on it, its title on it."""
    from tasks.drawing.style import STAMP, save

    claim, rows = claim_of(key), table(key)
    for folder in ("one", "two"):
        save(claim.draw(rows, claim), tmp_path / folder / "a.svg", "quick")
    first = (tmp_path / "one" / "a.svg").read_text()
    assert first == (tmp_path / "two" / "a.svg").read_text()
    assert STAMP["quick"].split(":")[0] in first
    assert claim.ID in first
    assert len(first) < 80_000
    save(claim.draw(rows, claim), tmp_path / "paper.svg", "paper")
    assert STAMP["quick"].split(":")[0] not in (tmp_path / "paper.svg").read_text()


def test_a_reader_who_does_not_see_the_figure_gets_a_title_and_the_numbers(tmp_path):
    """The SVG is one image, named by the claim and described by what its rules find and by what its panels show."""
    from tasks.drawing import svg
    from tasks.drawing.style import save

    claim, rows = claim_of("a_prop1"), table("a_prop1")
    undecided_form = {"holds": False, "statistic": 1.25, "measured": ""}
    finding = {"statements": [{"name": "magnitude", "forms": {"claim": undecided_form}}]}
    save(claim.draw(rows, claim), tmp_path / "a_prop1.svg", "quick", svg.statements(finding))
    root = ElementTree.parse(tmp_path / "a_prop1.svg").getroot()
    names = {child.get("id"): child.text for child in root if child.tag.endswith(("title", "desc"))}
    assert root.get("role") == "img"
    assert names[root.get("aria-labelledby")] == f"{claim.ID} {claim.TITLE}"
    description = names[root.get("aria-describedby")]
    assert "“magnitude” does not hold" in description
    assert "1.25" in description
    assert "left / right side" in description


def test_every_panel_has_the_limit_of_its_own_statement():
    """A planted bound with three instances beyond it, and an event that happens on two of them."""
    claim = claim_of("a_prop1")
    rows = pd.DataFrame(
        [
            {"arm": arm, "case": f"{case}", "quantity": quantity, "dtype": "float64", "value": value}
            for quantity, by_arm in {
                "prop1/ratio": {"claim": [0.2, 0.5, 1.0, 1.0], "control: L halved": [0.5, 1.004, 2.0, 4.0]},
                "prop1/unequal signs": {"claim": [0, 0, 0, 0], "control: L halved": [0, 1, 5, 0]},
            }.items()
            for arm, values in by_arm.items()
            for case, value in enumerate(values)
        ]
    )
    figure = claim.draw(rows, claim)
    ratio, signs = figure.axes
    assert [text.get_text() for text in ratio.texts if text.get_text()] == ["none beyond 1, of 4", "3 of 4 beyond"]
    assert [text.get_text() for text in signs.texts] == ["never, of 4", "2 of 4"]
    assert [bar.get_width() for bar in signs.patches] == [0, 0.5]
    left, right = ratio.get_xlim()
    assert left < 0.2
    assert right > 4
    # an instance that is beyond the limit by four thousandths is visibly so
    place = ratio.transScale.transform
    (limit, _), (near, _), (last, _) = place([(1, 0), (1.004, 0), (right, 0)])
    assert near - limit > 0.1 * (last - limit)


def test_a_control_that_a_statement_survives_is_grey():
    from tasks.drawing import style

    claim = claim_of("a_prop1")
    rows = table("a_prop1")
    rows.loc[rows["quantity"] == "prop1/unequal signs", "value"] = (rows["arm"] != "claim").astype(float)
    ratio, signs = claim.draw(rows, claim).axes
    for axes, color in ((ratio, style.GUIDE), (signs, style.CONTROL)):
        assert [label.get_color() for label in axes.get_yticklabels()] == ["black", color]


@pytest.mark.parametrize(("scale", "mean"), [("linear", np.mean), ("log", stats.gmean)])
def test_each_seed_is_a_thin_line_and_their_mean_a_thick_one(scale, mean):
    from tasks.drawing import style

    values = stream("seeds", scale).uniform(1, 9, size=(3, 5))
    rows = pd.DataFrame(
        [{"seed": seed, "x": x, "value": values[seed, x]} for seed in range(3) for x in range(5)],
    )
    axes = Figure().add_subplot()
    axes.set_yscale(scale)
    style.seeds(axes, rows, "x", "black")
    thick, thin = axes.get_lines()
    assert np.allclose(thick.get_ydata(), mean(values, axis=0))
    drawn = np.asarray(thin.get_ydata(), float)
    assert np.allclose(drawn[np.isfinite(drawn)], values.ravel())
    assert np.isnan(drawn).sum() == 3  # no line leads from one seed to the next
    assert thin.get_linewidth() < thick.get_linewidth()


def test_the_axis_of_correlations_holds_all_that_is_drawn_and_separates_the_largest():
    from tasks.drawing import style

    axes = Figure().add_subplot()
    axes.plot([0, 1, 2], [-0.8, 0.99, 0.99998])
    style.enlarge_near_one(axes)
    low, high = axes.get_ylim()
    assert low < -0.8
    assert high > 0.99998
    bottom, first, second, top = axes.transScale.transform([(0, y) for y in (low, 0.99, 0.99998, high)])[:, 1]
    assert second - first > 0.3 * (top - bottom)


def test_labels_at_the_ends_of_lines_do_not_overlap():
    from tasks.drawing import style

    axes = Figure().add_subplot()
    axes.set_ylim(0, 1)
    style.label_ends(axes, [(0.5, "a", "black"), (0.501, "b", "black"), (0.9, "c", "black"), (0.499, "d", "black")])
    places = {text.get_text(): text.get_position()[1] for text in axes.texts}
    assert [*sorted(places, key=places.__getitem__)] == ["d", "a", "b", "c"]
    assert np.diff(sorted(places.values())).min() > 0.07


def test_labels_of_lines_that_end_at_the_top_stay_in_the_panel_and_have_room_for_their_lines_of_text():
    from tasks.drawing import style

    figure = Figure(figsize=(5, 3))
    axes = figure.add_subplot()
    for height, label in (
        (1.0, "the highest"),
        (0.99, "a control of three lines of text"),
        (0.98, "third"),
        (0.3, "low"),
    ):
        axes.plot([0, 1, 2], [0, height, np.nan], label=label)
    axes.plot([0, 1], [0.5, 0.6], "o", label="marks alone")
    axes.plot([0, 1], [0.5, 0.6])
    style.label_lines(axes, {"third": "the third"}, width=12)
    figure.canvas.draw()
    boxes = sorted((text.get_window_extent() for text in axes.texts), key=lambda box: -box.y0)
    by_height = sorted(axes.texts, key=lambda text: -text.get_window_extent().y0)
    assert [text.get_text() for text in by_height] == [
        "the highest", "a control of\nthree lines\nof text", "the third", "low"
    ]  # fmt: skip
    assert all(above.y0 >= below.y1 - 1 for above, below in pairwise(boxes))
    panel = axes.get_window_extent()
    assert boxes[0].y1 < panel.y1 + 8  # half a line of text
    low = axes.transData.transform((0, 0.3))[1]
    assert abs((boxes[-1].y0 + boxes[-1].y1) / 2 - low) < 3  # it needs not move


@pytest.mark.parametrize("y", [0.04, 0.96])
def test_names_of_lines_in_a_corner_are_in_order_and_do_not_overlap(y):
    figure = Figure(figsize=(3, 2))
    axes = figure.add_subplot()
    style.name_lines(axes, [("first", "black"), ("second\nof two lines", "black"), ("third", "black")], y=y)
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in axes.texts]
    boxes.sort(key=lambda box: -box.y0)
    assert [text.get_text()[:5] for text in sorted(axes.texts, key=lambda text: -text.get_window_extent().y0)] == [
        "first", "secon", "third"
    ]  # fmt: skip
    assert all(above.y0 >= below.y1 - 1 for above, below in pairwise(boxes))
    panel = axes.get_window_extent()
    assert all(panel.y0 <= box.y0 and box.y1 <= panel.y1 and box.x1 <= panel.x1 for box in boxes)


NAMED = ("a_fig2", "a_fig4", "a_fig8", "a_fig9", "a_fig13", "a_thm4", "b_egop", "b_fig2", "b_fig3", "b_fig4", "b_fig5",
         "b_fig6", "b_fig8", "c_fig6", "c_fig11", "d_fig3", "d_fig4", "d_fig11")  # fmt: skip


@pytest.mark.parametrize("key", NAMED)
def test_lines_are_named_beside_them_and_not_in_a_legend(key):
    """Each colour of a thick line is that of some name; a name is as dark as text has to be."""
    claim = claim_of(key)
    scale = "quick" if key == "d_fig11" else "paper"
    rows = tables.read(Path("reports", scale, "tables", f"{SETTINGS.claims[key]}.parquet")).to_pandas()
    figure = claim.draw(rows, claim)
    assert not figure.legends
    assert not any(axes.get_legend() for axes in figure.axes)
    named = {to_hex(text.get_color()) for axes in figure.axes for text in axes.texts}
    thick = {to_rgb(line.get_color()) for axes in figure.axes for line in axes.get_lines() if line.get_linewidth() >= 1}
    assert len(thick) >= 3
    for color in thick - {to_rgb(style.GUIDE), to_rgb(style.PRINTED)}:
        assert {to_hex(style.legible(color)), to_hex(style.legible(color, 4.5))} & named, color


def test_the_errors_of_the_first_order_prediction_are_drawn_seed_by_seed():
    """B.fig6, of planted numbers: predicted minus observed, of the same seed and decay alone."""
    claim = claim_of("b_fig6")
    predicted = pd.DataFrame({"seed": [0, 0, 1], "x": [0.0, 1.0, 0.0], "value": [0.9, 0.8, 0.7]})
    observed = pd.DataFrame({"seed": [1, 0, 0], "x": [0.0, 1.0, 0.0], "value": [0.5, 0.7, 0.6]})
    differences = claim._differences(predicted, observed).set_index(["seed", "x"])["value"]
    assert differences.round(12).to_dict() == {(0, 0.0): 0.3, (0, 1.0): 0.1, (1, 0.0): 0.2}


def test_the_figure_of_equal_accuracies_shows_the_difference_that_is_judged():
    """A.fig6, of planted accuracies: its last panel has each seed's difference of the best, the first epoch aside."""
    claim = claim_of("a_fig6")
    best = {"original": (0.8, 0.9), "whitened": (0.79, 0.93)}
    planted = [{"arm": arm, "case": "digits, lr=0.01", "quantity": f"{update}/test_accuracy", "seed": seed, "x": x,
                "value": value}
               for arm in ("claim", "control: only the removed part")
               for update, by_seed in best.items() for seed, last in enumerate(by_seed)
               for x, value in ((0.0, 0.99), (1.0, 0.5), (2.0, last), (3.0, last - 0.1))]  # fmt: skip
    rows = tables.table([{"step": int(row["x"]), **row} for row in planted]).to_pandas()
    figure = claim.draw(rows, claim)
    _, dots, interval, diamond = figure.axes[-1].get_lines()  # before them the line at 0
    assert np.allclose(sorted(dots.get_ydata()), [-0.01, 0.03])
    assert np.allclose(diamond.get_ydata(), 0.01)
    half = stats.t.ppf(0.975, 1) * 0.02
    assert np.allclose(interval.get_ydata(), [0.01 - half, 0.01 + half])


# small tables, of every kind of figure
COMMITTED = (
    "a_fig1",
    "a_lem1",
    "a_fig8",
    "a_fig9",
    "a_fig12",
    "b_egop",
    "b_fig3",
    "b_fig6",
    "c_fig11",
    "c_thm3_4",
    "d_alg1",
    "d_fig3",
)


@pytest.mark.parametrize("key", COMMITTED)
def test_figures_of_committed_tables_are_legible(key, tmp_path):
    """No text is too small at the width of the report, every axis has a name, and the file is small."""
    from tasks.drawing import style

    claim = claim_of(key)
    rows = tables.read(Path("reports/paper/tables") / f"{SETTINGS.claims[key]}.parquet").to_pandas()
    figure = claim.draw(rows, claim)
    style.save(figure, tmp_path / f"{key}.svg", "paper")
    assert figure.get_figwidth() == style.WIDTH
    for text in figure.findobj(Text):
        assert not text.get_text() or text.get_fontsize() >= style.SMALL, text
    for axes in figure.axes:
        if axes.axison and not axes.images and axes.get_xticklabels() and axes.xaxis.get_tick_params()["labelbottom"]:
            assert axes.get_xlabel() or axes.get_shared_x_axes().get_siblings(axes) != [axes], axes.get_title()
    text = (tmp_path / f"{key}.svg").read_text()
    assert len(text) < 100_000
    description = ElementTree.fromstring(text).find("{http://www.w3.org/2000/svg}desc").text
    assert description.startswith("Panel 1: ")


def test_round_off_in_a_layout_leaves_the_bytes_alone(tmp_path):
    """The solver of layouts has some, and matplotlib names clip paths after all digits of their places."""
    from tasks.drawing.style import save

    files = []
    for shift in (0.0, 1e-13):
        figure = Figure()
        figure.add_axes((0.1 + shift, 0.1, 0.8, 0.8)).plot([0, 1], [0, 1])
        save(figure, tmp_path / "figure.svg", "quick")
        files.append((tmp_path / "figure.svg").read_bytes())
    assert files[0] == files[1]
    assert b"clip-path" in files[0]


@pytest.mark.parametrize("channels", [1, 3])
def test_pictures_keep_their_places_and_colours(channels):
    """From Figure 10's experiment into its figure, to half of 1/255."""
    from gramlab.nets import build
    from tasks.drawing.style import strip
    from tasks.papers.weight_gram.experiments.a_fig10 import _images

    shape = (9, channels, 4, 4)
    test = torch.from_numpy(stream("pictures", channels).uniform(size=shape)).float()
    model = build("vae", shape[1:], 0, hidden=[5], latent=2, activation="relu")
    rows = pd.DataFrame(_images(model, test.flatten(1), torch.arange(9), interpolated=False))
    shown = strip(rows[rows["quantity"] == "image/truth"])
    assert shown.shape == (4, 8 * 4, channels)
    for index in range(8):
        wanted = test[index].permute(1, 2, 0).numpy()
        assert np.abs(shown[:, 4 * index : 4 * index + 4] - wanted).max() <= 0.5001 / 255


@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_a_reports_figures_are_small_and_say_their_claim_and_scale(scale):
    from tasks.drawing.style import STAMP

    for path in Path("reports", scale, "figures").glob("*.svg"):
        text = path.read_text()
        assert STAMP[scale].split(":")[0] in text, path
        assert claim_of(path.stem).ID in text, path
        assert len(text) < 100_000, path


def of_the_report(key: str) -> pd.DataFrame:
    """The rows of the paper scale that the report holds: all that the figure reads."""
    table = Path("reports/paper/tables", f"{key}.parquet")
    rows = tables.read(table).to_pandas() if table.is_file() else read(Path("reports/paper/rows", f"{key}.csv"))
    return Rows(rows.assign(scale="paper")).frame


def parts_of(line: Line2D) -> list[Drawn]:
    """A line on the figure, in pieces where it has gaps, over which ``intersects_bbox`` would lead it."""
    points = line.get_transform().transform(line.get_xydata())
    gaps = np.flatnonzero(~np.isfinite(points).all(axis=1))
    parts = [part[np.isfinite(part).all(axis=1)] for part in np.split(points, gaps)]
    return [Drawn(part) for part in parts if len(part) > 1]


@pytest.mark.parametrize("key", ["c_thm3_4", "d_thm4_3", "a_fig4", "a_fig9"])
def test_no_line_crosses_a_word(key):
    claim = claim_of(key)
    figure = claim.draw(of_the_report(key), claim)
    figure.canvas.draw()
    words = 0
    # an axis at the right has the frame of the left one, so that its lines count too
    lines = [line for axes in figure.axes for line in axes.get_lines()]
    paths = [part for line in lines for part in parts_of(line)]
    for axes in figure.axes:
        frame = axes.get_window_extent()
        for text in axes.texts:
            box = text.get_window_extent()
            words += bool(text.get_text())
            if frame.overlaps(box):
                assert not [drawn for drawn in paths if drawn.intersects_bbox(box, filled=False)], text.get_text()
    assert words >= 3


def test_the_printed_form_is_drawn_over_the_control_that_equals_it():
    claim = claim_of("a_fig1")
    figure = claim.draw(of_the_report("a_fig1"), claim)
    names = [str(line.get_label()) for line in figure.axes[-1].get_lines() if not str(line.get_label()).startswith("_")]
    for form in ("corrected", "printed form"):
        (drawn,) = [place for place, name in enumerate(names) if name.startswith(form)]
        assert names[drawn - 1].startswith("control of the")


INSTANCES = [key for key in SETTINGS.claims
             if getattr(draw := claim_of(key).draw, "func", draw).__module__.startswith("tasks.drawing")]  # fmt: skip


@pytest.mark.parametrize("key", INSTANCES)
def test_no_panels_title_leaves_a_part_of_the_formula_out(key):
    for statement in claim_of(key).STATEMENTS:
        for quantity in statement.reads:
            assert not title(statement, quantity).endswith("…")


@pytest.mark.parametrize(
    ("plain", "parts"),
    [
        ("X_{l+1} of Σ_W", [("_", "l+1"), ("_", "W")]),
        ("(FACT M)^(1/4), 1/(1+k^2)", [("^", "1/4"), ("^", "2")]),
        ("ε^min(2, 2s)", [("^", r"min(2,\ 2s)")]),
        ("‖y − y_OLS‖", [("_", "OLS")]),
        ("train_accuracy, $10^{-3}$, W", []),
        ("test_accuracy", []),
    ],
)
def test_indices_and_powers_are_set_below_and_above_the_line(plain, parts):
    from matplotlib.mathtext import MathTextParser

    words = style.mathematics(plain)
    assert re.findall(r"\\mathregular\{\{\}([_^])\{(.*?)\}\}\$", words) == parts
    MathTextParser("path").parse(words)  # raises where matplotlib cannot read it
    assert words != plain or not parts


def test_numbers_in_figures_have_minus_signs_and_no_negative_zero():
    texts = {"-0.00, -1.5": "0.00, −1.5", "A-2": "A-2", "1e-08": "1e-08", "-0.05": "−0.05", "$10^{-3}$": "$10^{-3}$",
             "[-0, -0.0]": "[0, 0.0]"}  # fmt: skip
    assert {text: style.typeset(text) for text in texts} == texts


def test_greek_letters_and_transposes_of_control_names_are_set_as_such(tmp_path):
    """Also in the names of ticks, which an axis writes anew as it is drawn; a part of a word stays."""
    figure, grid = style.panels(claim_of("a_tl"))
    names = ["ridge 2 n lambda", "S V^T counted in", "0.99 of M B delta", "best kappa", "test_kappa2", "deltas"]
    grid[0, 0].barh(range(6), range(6))
    grid[0, 0].set_yticks(range(6), names)
    grid[0, 0].set_xticks([0, 5], [0, 5])  # names may be numbers
    style.save(figure, tmp_path / "a.svg", "quick")
    written = re.findall(r"<text[^>]*>([^<]*)</text>", (tmp_path / "a.svg").read_text(encoding="utf-8"))
    expected = {"ridge 2 n λ", "S Vᵀ counted in", "0.99 of M B δ", "best κ", "deltas", "0", "5"}
    assert expected <= {html.unescape(text) for text in written}


@pytest.mark.parametrize("color", ["#e3b7d0", style.SKY, style.BLUE, "#000000"])
def test_labels_on_white_have_a_contrast_of_three(color):
    """By WCAG 2.1, computed apart; a colour that is dark enough stays as it is."""

    def contrast(channels) -> float:
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 1.05 / (sum(share * c for share, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True)) + 0.05)

    given = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    shown = style.legible(color)
    assert contrast(shown) >= 3 - 1e-9
    assert contrast(given) < 3 or shown == pytest.approx(given)


def test_the_null_of_figure_4_is_that_of_random_directions():
    """Of a rank-one matrix with another the cosine is a squared entry of a random unit vector."""
    from tasks.papers.fact.claims.c_fig4 import chance

    first, u = np.diag([1.0, 0, 0, 0]), np.random.default_rng(1).standard_normal((200_000, 4))
    entries = (u / np.linalg.norm(u, axis=1, keepdims=True))[:, 0] ** 2
    assert chance(first, first, 20_000) == pytest.approx(np.quantile(entries, 0.975), abs=0.01)
    assert chance(np.eye(4), first) == pytest.approx(0.5)
