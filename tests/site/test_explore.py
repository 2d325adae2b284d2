"""The pages with something to look at: what they show of a table, and how they behave in a browser and without one."""

import base64
import io
import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from gramlab import tables
from tasks.drawing import style
from tasks.papers.centered_nfa import explore as paper_b
from tasks.papers.fact import explore as paper_c
from tasks.papers.neural_collapse import explore as paper_d
from tasks.papers.weight_gram import explore as paper_a
from tasks.reporting.explore import views
from tasks.reporting.site.explore import FREE, HUES, drawing, png, summaries, with_pictures

ROOT = Path(__file__).resolve().parents[2]
STEPS, DECAYS = (0, 10, 20), ("0.001", "0.02", "0.1")
BLANK = {"arm": "claim", "case": "", "seed": 0, "step": 0, "layer": "0", "x": 0.0}


def table_a():
    """Images of three kept epochs with the Virtual Covariance Shift from the second on."""
    draw = np.random.default_rng(0)
    rows = [
        {**BLANK, "step": step, "quantity": f"image/{name}", "x": float(entry), "value": draw.normal()}
        for step, name, entry in itertools.product(STEPS, ("gram", "agop", "vcs"), range(256))
        if step or name != "vcs"
    ]
    return pd.DataFrame(rows).sample(frac=1, random_state=0)  # in no order


def table_c():
    """Images of seed 0 and correlations of two seeds, by weight decay; the control is not shown."""
    draw = np.random.default_rng(1)
    rows = []
    for decay, step, arm in itertools.product(DECAYS, STEPS, ("claim", "control: shuffled labels")):
        labels = {**BLANK, "case": f"weight_decay={decay}", "step": step, "arm": arm}
        for name, seed in itertools.product(("fact", "root agop"), range(2)):
            value = draw.uniform() if arm == "claim" else 9.0
            rows.append({**labels, "seed": seed, "quantity": f"pearson/{name}", "x": step / 10, "value": value})
        if arm == "claim":
            rows += [{**labels, "quantity": f"image/{name}", "x": float(entry), "value": draw.normal()}
                     for name in ("gram", "fact", "root agop") for entry in range(256)]  # fmt: skip
    return pd.DataFrame(rows).sample(frac=1, random_state=0)


def paper_table(experiment):
    return tables.read(ROOT / "reports/paper/tables" / f"{experiment}.parquet").to_pandas()


def rows_where(rows, **where):
    for name, value in where.items():
        rows = rows[rows[name] == value]
    return rows


def test_the_matrices_of_paper_a_are_those_of_the_table():
    rows = table_a()
    view = paper_a.view(rows)
    assert view.values == list(STEPS)
    assert [matrix.name for matrix in view.matrices] == ["WᵀW", "Virtual Covariance Shift", "AGOP"]
    for matrix, name in zip(view.matrices, ("gram", "vcs", "agop"), strict=True):
        for step, entries in zip(STEPS, matrix.entries["seed 0"], strict=True):
            expected = rows_where(rows, quantity=f"image/{name}", step=step).set_index("x").value
            assert (entries is None) == (name == "vcs" and step == 0)
            assert entries is None or entries == pytest.approx([expected[float(x)] for x in range(256)], rel=1e-2)
    (correlations,) = view.curves[0].seeds["seed 0"]
    assert correlations[0] is None
    both = [rows_where(rows, quantity=f"image/{name}", step=20).sort_values("x").value for name in ("vcs", "gram")]
    assert correlations[2] == pytest.approx(np.corrcoef(*both)[0, 1], abs=1e-3)


def test_the_reader_picks_a_weight_decay_in_order_of_size():
    rows = table_c()
    view = paper_c.view(rows)
    assert view.options == list(DECAYS)
    ends = {decay: rows_where(rows, arm="claim", case=f"weight_decay={decay}", step=max(STEPS), quantity="pearson/fact")
            for decay in DECAYS}  # fmt: skip
    assert view.start == max(DECAYS, key=lambda decay: ends[decay].value.mean())
    assert f"λ = {view.start}," in view.opens
    for curve, name in zip(view.curves, ("fact", "root agop"), strict=True):
        for decay, seed in itertools.product(DECAYS, range(2)):
            expected = rows_where(
                rows, arm="claim", case=f"weight_decay={decay}", seed=seed, quantity=f"pearson/{name}"
            )
            assert curve.seeds[decay][seed] == pytest.approx(list(expected.sort_values("step").value), rel=1e-5)
    for matrix, name in zip(view.matrices, ("gram", "fact", "root agop"), strict=True):
        expected = rows_where(rows, case="weight_decay=0.02", step=10, quantity=f"image/{name}").sort_values("x").value
        assert matrix.entries["0.02"][1] == pytest.approx(list(expected), rel=1e-2)


def test_predictions_at_every_balance():
    rows = paper_table("b_fig3")
    view = paper_b.view(rows)
    option = next(option for option in view.options if option.startswith("corrected"))
    for curve in view.curves:
        expected = rows_where(rows, arm="corrected", quantity=f"fig3/{curve.name}", seed=3).sort_values("x").value
        assert curve.seeds[option][3] == pytest.approx(list(expected), rel=1e-5)
    printed = next(option for option in view.options if option.startswith("as printed"))
    known = [value for value, number in zip(view.values, view.curves[0].seeds[printed][0], strict=True) if number]
    assert known == [0.05, 0.5, 1.0]  # the balances of the arm as printed


def test_class_means_are_means_over_blocks_of_samples():
    rows = paper_table("d_deep_rfm")
    view = paper_d.view(rows)
    option = "mnist, laplace, fourier, with the AGOP"
    gram = rows_where(rows, arm="claim", case="mnist, laplace, fourier", layer="18", quantity="gram/image").sort_values(
        "x"
    )
    image = gram.value.to_numpy().reshape(40, 40)
    samples, means = (matrix.entries[option][-1] for matrix in view.matrices)
    assert samples == pytest.approx(list(image.ravel()), rel=1e-2, abs=1e-6)
    expected = [image[4 * a : 4 * a + 4, 4 * b : 4 * b + 4].mean() for a in range(10) for b in range(10)]
    assert means == pytest.approx(expected, abs=2e-3)
    assert [value for value, frame in zip(view.values, view.matrices[0].entries[option], strict=True) if frame] == [
        1, 6, 12, 18
    ]  # fmt: skip
    within = rows_where(rows, arm="claim", case="mnist, laplace, fourier", quantity="gram/within", seed=1)
    assert view.curves[0].seeds[option][1] == pytest.approx(list(within.sort_values("x").value), rel=1e-5)


def test_class_means_of_every_layer_are_those_of_the_table():
    rows = paper_table("d_deep_rfm")
    rows = rows[rows["quantity"] != "image/class means"]
    labels = {"case": "mnist, laplace, fourier", "arm": "claim", "seed": 0, "quantity": "image/class means"}
    more = [{**labels, "layer": str(layer), "x": float(entry), "value": layer + entry / 1000}
            for layer in range(1, 19) for entry in range(100)]  # fmt: skip
    view = paper_d.view(pd.concat([rows, pd.DataFrame(more)]))
    means = view.matrices[1].entries["mnist, laplace, fourier, with the AGOP"]
    assert [frame[99] for frame in means] == pytest.approx([layer + 0.099 for layer in range(1, 19)], rel=6e-3)
    assert view.matrices[1].entries["mnist, gaussian, relu, with the AGOP"] == [None] * 18


@pytest.mark.parametrize("module", [paper_a, paper_b, paper_c, paper_d])
def test_a_table_without_the_rows_has_no_view(module):
    assert module.view(pd.DataFrame([{**BLANK, "quantity": "train_loss", "value": 1.0}])) is None


def test_an_image_has_a_pixel_for_each_entry():
    entries = [0.0, 1.0, -2.0, 4.0, -4.0, 0.5, 0.0, 0.0, 2.0]
    picture = Image.open(io.BytesIO(base64.b64decode(png(entries).partition(",")[2]))).convert("RGB")
    assert picture.size == (3, 3)
    pixels = np.asarray(picture).reshape(9, 3).astype(int)
    assert pixels[0].tolist() == [255, 255, 255]
    for entry, (red, _, blue) in zip(entries, pixels, strict=True):
        assert np.sign(red - blue) == np.sign(entry)  # red positive, blue negative
    assert abs(pixels[8] - (pixels[0] + pixels[3]) / 2).max() <= 1  # half of the largest has half its colour
    limited = Image.open(io.BytesIO(base64.b64decode(png([0.5, -0.5, 0, 0], limit=1).partition(",")[2])))
    assert limited.convert("RGB").getpixel((0, 0)) == tuple(int(value) for value in pixels[8])


def test_the_numbers_are_means_with_their_range():
    numbers = summaries([[0.5, None, -1.0], [0.7, None, None]])
    assert numbers == ["0.600 (0.500 to 0.700)", "–", "−1.000"]


def test_a_quantity_has_the_colour_of_the_figures_and_none_the_controls():
    names = {style.BLUE: "blue", style.GREEN: "green", style.PURPLE: "purple"}
    drawn = [name for name in HUES if name.lstrip("√") in style.COLORS]
    assert len(drawn) == 5
    for name in drawn:
        assert HUES[name] == names[style.COLORS[name.lstrip("√")]], name
    assert HUES["Virtual Covariance Shift"] == names[style.CLAIM]  # as in A.fig7
    for view in json.loads((ROOT / "reports/quick/explore.json").read_text()).values():
        text = str(drawing(view, view["options"][0]))
        for number, curve in enumerate(view["curves"]):
            assert f'class="mean {HUES.get(curve["name"], FREE[number])} c{number}"' in text


@pytest.fixture(scope="module")
def explored(copy_project, environment):
    """The site of a copy whose quick results have views of papers A and C, and the paper scale of B and D."""
    clone = copy_project("explore")

    class Stage:
        def __init__(self, folder):
            self.folder = folder

        def table(self, key):
            return self.folder / f"{key}.parquet"

    quick_tables = clone / "quick tables"
    for name, table in (("a_fig7", table_a()), ("c_decay", table_c())):
        tables.write(quick_tables / f"{name}.parquet", table.to_dict("records"))
    for scale, folder in (("quick", quick_tables), ("paper", clone / "reports/paper/tables")):
        (clone / "reports" / scale / "explore.json").write_text(json.dumps(views(Stage(folder))))
    (clone / "reports/explore").mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "tasks.site"], cwd=clone, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return clone / "reports"


@pytest.mark.parametrize("width", [1280, 768, 390])
@pytest.mark.parametrize("letter", "ABCD")
def test_every_page_opens_from_disk_without_a_request_and_without_overflow(browser, explored, letter, width):
    page = browser.new_context(viewport={"width": width, "height": 800}, offline=True).new_page()
    requests, messages = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.goto(f"file://{explored / 'explore' / letter}.html")
    assert messages == []
    assert all(url.startswith(("file://", "data:")) for url in requests)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for link in page.locator("main a").all():
        target = (explored / "explore" / link.get_attribute("href").partition("#")[0]).resolve()
        assert target.is_file(), target
    page.context.close()


def test_the_slider_and_the_choice_show_one_step_of_one_option(browser, explored):
    page = browser.new_page()
    page.goto(f"file://{explored / 'explore' / 'C.html'}")
    view = json.loads((explored / "quick/explore.json").read_text())["C"]
    pictures = page.locator(".film img").locator("visible=true")
    assert pictures.count() == 3
    assert page.locator("h3").locator("visible=true").inner_text() == f"weight decay λ: {view['start']}"
    for decay, numbers in view["curves"][0]["seeds"].items():
        assert f"{decay}: FACT {np.mean([seed[-1] for seed in numbers]):.3f}" in page.locator("main").inner_text()
    page.locator("select").select_option(label="0.02")
    slider = page.locator("input[type=range]")
    slider.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    for picture, matrix in zip(pictures.all(), view["matrices"], strict=True):
        assert picture.get_attribute("src") == png(matrix["entries"]["0.02"][1])
        assert picture.get_attribute("alt") == f"{matrix['name']}, training step 10"
    fact = np.mean([seed[1] for seed in view["curves"][0]["seeds"]["0.02"]])
    assert f"10 · FACT {fact:.3f}" in page.locator("output").inner_text()
    assert page.locator("h3").locator("visible=true").inner_text() == "weight decay λ: 0.02"
    page.close()


def test_an_image_that_was_not_kept_at_a_layer_is_the_last_one_before(browser, explored):
    page = browser.new_page()
    page.goto(f"file://{explored / 'explore' / 'D.html'}")
    slider = page.locator("input[type=range]")
    slider.focus()
    page.keyboard.press("Home")
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    assert page.locator("output").inner_text().startswith("9 ·")
    assert "layer 6" in page.locator(".film figcaption").locator("visible=true").first.inner_text()
    page.close()


def test_without_scripts_and_in_print_every_step_is_a_picture(browser, explored):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"file://{explored / 'explore' / 'C.html'}")
    everything = 3 * len(DECAYS) * len(STEPS)
    assert page.locator(".film img").locator("visible=true").count() == everything
    assert page.locator("form.controls").locator("visible=true").count() == 0
    assert page.locator("svg").locator("visible=true").count() == len(DECAYS)
    context.close()
    page = browser.new_page()
    page.goto(f"file://{explored / 'explore' / 'C.html'}")
    page.emulate_media(media="print")
    assert page.locator(".film img").locator("visible=true").count() == everything
    assert page.locator("form.controls").locator("visible=true").count() == 0
    page.close()


def test_a_papers_page_links_to_what_there_is_to_look_at(explored):
    for letter in "ABCD":
        assert f'href="../explore/{letter}.html"' in (explored / "papers" / f"{letter}.html").read_text()


def test_a_drawing_names_what_it_shows():
    view = json.loads((ROOT / "reports/paper/explore.json").read_text())["B"]
    text = str(drawing(view, view["options"][0]))
    assert 'role="img"' in text
    assert "<title>centered NFA against balance γ, data and prediction corrected" in text
    of_page = with_pictures(view)["shown"][0]
    assert len(of_page["numbers"]) == len(view["values"])
    assert text.count("polyline") == 2 * (1 + len(view["curves"][0]["seeds"][view["options"][0]]))


def test_a_curve_of_a_single_point_is_a_dot_and_no_number_of_the_axis_stands_twice():
    curves = [{"name": "FACT", "seeds": {"": [[None, 0.5]]}}, {"name": "AGOP", "seeds": {"": [[0.2, 0.9]]}}]
    view = {"values": [0, 7820], "slider": "training step", "axis": "correlation", "choice": "", "curves": curves}
    text = str(drawing(view, ""))
    assert text.count("<polyline") == 1
    (dot,) = re.findall(r'<circle class="mean blue c0" cx="([\d.]+)" cy="([\d.]+)"', text)
    (line,) = re.findall(r'<polyline class="mean green c1" points="([^"]+)"', text)
    (_, start), (end, top) = (point.split(",") for point in line.split())
    assert dot[0] == end
    assert float(dot[1]) == pytest.approx(float(top) + (float(start) - float(top)) * 0.4 / 0.7, abs=0.1)
    assert re.findall(r">(0|7820)</text>", text) == ["0", "0", "7820"]  # the first 0 is of the other axis
