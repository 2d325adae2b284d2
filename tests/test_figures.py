"""Figures: the ready-made ones drawn from a small planted table, and those of the reports as they stand."""

from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.figure import Figure

from gramlab import tables
from gramlab.streams import stream
from tasks import papers
from tasks.judging.statement import quantities
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


@pytest.mark.parametrize("key", ["a_eq1", "a_eq2", "a_lem2", "c_thm3_1"])
def test_figure(key, tmp_path):
    """Equal bytes twice, the scale on it, its title on it."""
    from tasks.drawing.style import STAMP, save

    claim, rows = claim_of(key), table(key)
    for name in ("a.svg", "b.svg"):
        save(claim.draw(rows, claim), tmp_path / name, "quick")
    first = (tmp_path / "a.svg").read_text()
    assert first == (tmp_path / "b.svg").read_text()
    assert STAMP["quick"].split(":")[0] in first
    assert claim.ID in first
    assert len(first) < 80_000
    save(claim.draw(rows, claim), tmp_path / "paper.svg", "paper")
    assert STAMP["quick"].split(":")[0] not in (tmp_path / "paper.svg").read_text()


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
