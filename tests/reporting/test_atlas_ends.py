"""Where the atlas's cells with decay end, and how the pages count it."""

import json
import re

import pytest

from tasks.atlas.cells import all_cells
from tasks.atlas.measuring.standstill import OTHER_REST
from tasks.reporting.atlas.findings import findings
from tasks.reporting.atlas.standing import ELSEWHERE, end_of
from tasks.reporting.site import atlas
from tasks.reporting.site.atlas import Place, ends
from tasks.reporting.site.pages import Renderer
from tasks.settings import ROOT

FAR, NEAR = 0.3, 0.1
CELLS = [  # optimizer, decay, distances: at every step, of the mean gradient, from the optimizer's own rest
    ("sgd", 0.1, NEAR, FAR, None, "critical"),
    ("adam", 0.1, FAR, NEAR, None, "kink"),
    ("momentum", 0.1, FAR, FAR, None, "moving"),
    ("adamw", 0.1, FAR, NEAR, FAR, "moving"),
    ("muon", 0.1, FAR, FAR, NEAR, "elsewhere"),
    ("whitened", 0.1, FAR, FAR, NEAR, "elsewhere"),
    ("whitened", 0.1, NEAR, NEAR, NEAR, "critical"),
    ("adam", 0.0, None, None, None, None),
]


def test_the_report_and_the_measurements_name_the_same_optimizers():
    assert set(ELSEWHERE) == set(OTHER_REST)


def judged(optimizer, decay, distance, averaged, rest):
    names = ("stationarity", "averaged_stationarity", "distance_from_rest")
    numbers = zip(names, (distance, averaged, rest), strict=True)
    return {"optimizer": optimizer, "weight_decay": decay, "facts": {name: x for name, x in numbers if x is not None}}


@pytest.mark.parametrize(("optimizer", "decay", "distance", "averaged", "rest", "end"), CELLS)
def test_the_end_of_a_cell(optimizer, decay, distance, averaged, rest, end):
    assert end_of(judged(optimizer, decay, distance, averaged, rest)) == end


def test_an_atlas_without_the_distances_says_that_its_cells_move():
    assert end_of({"optimizer": "muon", "weight_decay": 0.1, "facts": {"stationarity": FAR}}) == "moving"


def test_ends_are_counted_by_where_an_optimizer_rests():
    cell = all_cells()["mlp_images_adam"]
    grid = [Place("", cell.model_copy(update={"optimizer": row[0]}), judged(*row[:5])) for row in CELLS]
    assert ends(grid) == {"yes": 2, "no": 5, "gradient": 3, "critical": 1, "kink": 1, "others": 4, "elsewhere": 2,
                          "limit": 0.1}  # fmt: skip


def test_the_pages_tell_where_cells_end(monkeypatch):
    """A cell that ends on kinks and a cell that rests elsewhere are marked on the map, and counted."""
    result = json.loads((ROOT / "reports" / "atlas.json").read_text(encoding="utf-8"))
    for cell in result["cells"].values():
        for name in ("averaged_stationarity", "distance_from_rest"):
            cell["facts"].pop(name, None)
        cell["facts"] |= {"stationarity": FAR} if cell["weight_decay"] else {}
    result["cells"]["mlp_chain_adam_decay"]["facts"]["averaged_stationarity"] = 0.01
    result["cells"]["mlp_chain_muon_decay"]["facts"]["distance_from_rest"] = 0.02
    monkeypatch.setattr(atlas, "read", lambda path: result if path == ROOT / "reports" / "atlas.json" else None)
    content, renderer = atlas.content(), Renderer({})
    text = renderer("atlas.md", sentences=findings(result, ""), **content)
    assert "0 of their 24 cells with decay end at one, and 1 on kinks" in text
    assert "1 of their 24 cells are at rest" in text
    parts = renderer.environment.get_template("atlas_parts.html").make_module(content)
    table = re.sub(r"<[^<>]*>", "|", str(parts.map(("forward", "change"), "")))
    counts = [table.count(words) for words in ("|on kinks|", "|at another point of rest|", "|not at a critical point|")]
    assert counts == [1, 1, 46]
