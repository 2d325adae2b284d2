"""The atlas's stages: one for each group of cells.yaml; what is judged needs all of them."""

import sys
import typing
from pathlib import Path

import pytest
import yaml

from flows.graph import Graph
from flows.nodes import stage
from flows.recorder import in_run_cache
from flows.reproduce import reproduce
from tasks import chart
from tasks.atlas import cells
from tasks.atlas.cells import all_cells

ROOT = Path(__file__).resolve().parents[2]


def test_the_whole_needs_every_group_of_cells():
    graph = Graph(ROOT, "atlas")
    content = yaml.safe_load((ROOT / "pipeline/atlas/cells.yaml").read_text())
    assert graph.needs["chart@whole"] == {f"cells@{name}" for name in ["slice", *content["stages"]]}
    assert graph.needs["chart@slice"] == {"cells@slice"}


def test_cells_are_named_once_and_measured_twelve_times():
    cells = all_cells()
    content = yaml.safe_load((ROOT / "pipeline/atlas/cells.yaml").read_text())
    assert len(cells) == sum(len(of) for of in [content["slice"], *content["stages"].values()])
    assert {len(cell.snapshots) for cell in cells.values() if not cell.answer} == {12}
    optimizers = {(cell.group, cell.optimizer, cell.weight_decay > 0) for cell in cells.values() if not cell.answer}
    groups = {cell.group for cell in cells.values() if not cell.answer}
    assert len(optimizers) == len(groups) * 11 == 88
    assert not any(name == "adamw" and not decays for _, name, decays in optimizers)


def test_a_cell_with_decay_differs_from_its_twin_in_decay_and_steps_alone():
    """So that the map's rows compare training with decay and without; AdamW's twin is Adam."""
    cells = [cell for cell in all_cells().values() if not cell.answer]
    twins = {(cell.group, cell.optimizer): cell for cell in cells if not cell.weight_decay}
    for cell in (cell for cell in cells if cell.weight_decay):
        twin = twins[cell.group, "adam" if cell.optimizer == "adamw" else cell.optimizer]
        assert (cell.lr, cell.shared) == (twin.lr, twin.shared), cell.name
        assert cell.last_step >= twin.last_step == twin.shared.steps, cell.name


def test_nodes_take_stages_of_every_scale():
    scales = {path.name for path in (ROOT / "pipeline").iterdir() if any(path.rglob("dvc.yaml"))}
    for flow in (stage, reproduce):
        assert set(typing.get_args(typing.get_type_hints(flow.fn)["scale"])) == scales
    stage.validate_parameters({"names": ["cells@mlp_chain"], "scale": "atlas", "commit": "0", "inputs": {}})


def test_nodes_measure_cells_and_the_coordinator_judges_them():
    """reports/atlas.json is no output, so whoever runs chart@whole has it, and DVC's cache must not replace the run."""
    graph = Graph(ROOT, "atlas")
    on_nodes = {name for name, stage in graph.stages.items() if in_run_cache(stage)}
    assert on_nodes == {name for name in graph.stages if name.startswith("cells@")}
    assert all(out.persist for out in graph.stages["chart@whole"].outs)


@pytest.mark.parametrize(("part", "targets"), [("slice", "cells@slice"), ("whole", "--scale atlas cells")])
def test_without_tables_a_chart_says_which_stages_must_run(tmp_path, monkeypatch, capsys, part, targets):
    monkeypatch.setattr(sys, "argv", ["chart", part])
    monkeypatch.setattr(chart, "ROOT", tmp_path)
    monkeypatch.setattr(cells, "cells_folder", lambda: tmp_path / "data/atlas")
    with pytest.raises(SystemExit) as ending:
        chart.main()
    line = f"data/atlas/scores has no table of cells; type `python -m flows {targets}` first"
    assert (ending.value.code, capsys.readouterr().err) == (1, f"chart@{part}: {line}\n")
    *options, target = targets.split()
    assert all(name.startswith("cells@") for name in Graph(ROOT, options[-1] if options else "quick").select([target]))
