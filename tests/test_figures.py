"""Every claim's figure, drawn from a small planted table: equal bytes twice, the scale on it, its title on it."""

from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from gramlab import tables
from gramlab.streams import stream
from tasks.settings import load


def table(key: str) -> pd.DataFrame:
    """Rows with the quantities that the claim's figure reads, a claim and a control."""
    draw = stream("test_figures", key)
    arms = ("claim", "control: broken")
    made: list[dict] = []
    if key == "a_fig1":
        for frame in (0, 10, 20):
            for seed in range(3):
                for arm in ("claim", "corrected", "control: shuffled targets", "control: shuffled targets, corrected"):
                    made.append(
                        {
                            "arm": arm,
                            "seed": seed,
                            "step": frame,
                            "quantity": "target_linearity",
                            "value": draw.uniform(),
                        }
                    )
            for entry, value in (("00", 1.0), ("01", 0.2), ("11", 0.5)):
                made.append({"arm": "claim", "step": frame, "quantity": f"gram/{entry}", "value": value})
            for axis in (0, 1):
                made += [
                    {"arm": "claim", "step": frame, "quantity": f"{name}/{axis}", "x": at, "value": draw.uniform()}
                    for at in range(30)
                    for name in (("virtual", "input") if frame == 0 else ("virtual",))
                ]
        made += [{"arm": "claim", "quantity": "target", "x": at, "value": at / 30} for at in range(30)]
    elif key == "a_fig4":
        for arm in ("claim", "control: random features"):
            for seed, layer, x in np.ndindex(3, 4, 5):
                for quantity in ("surrogate", "target_linearity"):
                    about = {"arm": arm, "seed": seed, "layer": str(layer + 1), "x": x, "quantity": quantity}
                    made.append({**about, "value": draw.uniform(0.1, 0.9)})
        for seed, x in np.ndindex(3, 5):
            made.append({"arm": "claim", "seed": seed, "x": x, "quantity": "train_accuracy", "value": draw.uniform()})
    elif key == "a_fig7":
        for seed in range(3):
            for name in ("vcs", "agop"):
                made.append(
                    {"arm": "claim", "seed": seed, "quantity": f"pearson/{name}_gram_diagonal", "value": draw.uniform()}
                )
        for name in ("gram", "agop", "vcs", "gram_change"):
            made += [
                {"arm": "claim", "quantity": f"diagonal/{name}", "x": at, "value": draw.uniform()}
                for at in range(3 * 16)
            ]
    else:
        quantities = import_module(f"tasks.checks.{key}").QUANTITIES
        stepped = [name for name in quantities if name.endswith(("/remainder", "/ratio", "/error"))]
        for arm in arms:
            for case in "abc":
                for x in 2.0 ** -np.arange(10):
                    about = {"arm": arm, "case": case, "layer": "0", "x": x}
                    for quantity in stepped:
                        made.append(
                            {**about, "dtype": "float64", "quantity": quantity, "value": x * draw.uniform(0.9, 1)}
                        )
                for dtype, u in (("float64", 2.0**-53), ("float32", 2.0**-24)):
                    for quantity in sorted(set(quantities) - set(stepped)):
                        about = {"arm": arm, "case": case, "dtype": dtype, "quantity": quantity}
                        made.append({**about, "value": u * draw.uniform()})
    return tables.table(made).to_pandas()


@pytest.mark.parametrize("key", list(load("quick").claims))
def test_figure(key, tmp_path):
    from tasks.figures.style import STAMP, save

    drawing = import_module(f"tasks.figures.{load('quick').claims[key].figure}")
    rows = table(key)
    for name in ("a.svg", "b.svg"):
        save(drawing.draw(rows, key), tmp_path / name, "quick")
    first = (tmp_path / "a.svg").read_text()
    assert first == (tmp_path / "b.svg").read_text()
    assert STAMP["quick"].split(":")[0] in first
    assert import_module(f"tasks.checks.{key}").ID in first
    assert len(first) < 80_000
    save(drawing.draw(rows, key), tmp_path / "paper.svg", "paper")
    assert STAMP["quick"].split(":")[0] not in (tmp_path / "paper.svg").read_text()
