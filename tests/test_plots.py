"""The page of a recorded table."""

import pytest
from matplotlib.figure import Figure

from gramlab import plots, tables


@pytest.mark.parametrize("names", [["_conv_stem", "_blocks.0._expand_conv", "_fc"], ["", "fc"], ["$$", r"a$\frac$"]])
@pytest.mark.parametrize("quantities", [["nfa"], ["nfa", "centered_nfa"]])
def test_every_layer_is_in_the_legend(names, quantities, tmp_path, monkeypatch):
    """matplotlib leaves out labels that are empty or begin with an underscore, and reads dollar signs as TeX."""
    legends, save = [], Figure.savefig

    def spy(figure, *arguments, **options):
        legends.extend([text.get_text() for text in axes.get_legend().get_texts()] for axes in figure.axes)
        assert not any(axes.get_legend().get_frame_on() for axes in figure.axes)
        return save(figure, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", spy)
    rows = [
        {"layer": name, "quantity": quantity, "step": step, "value": 0.1 * step}
        for name in names
        for quantity in quantities
        for step in (1, 2, 3)
    ]
    plots.page(tables.table(rows), tmp_path / "page.png")
    (legend,) = legends
    assert {name or "(model)" for name in names} <= {label.strip().replace(r"\$", "$") for label in legend}


@pytest.mark.parametrize("quantities", [["nfa"], ["nfa", "centered_nfa"]])
def test_the_legend_of_many_layers_lies_within_its_panel(quantities, tmp_path, monkeypatch):
    boxes, save = [], Figure.savefig

    def spy(figure, *arguments, **options):
        save(figure, *arguments, **options)
        (axes,) = figure.axes
        labels = {text.get_text() for text in axes.get_legend().get_texts()}
        boxes.append((axes.get_legend().get_window_extent(), axes.get_window_extent(), labels, len(axes.lines)))

    monkeypatch.setattr(Figure, "savefig", spy)
    rows = [
        {"layer": f"layers.{number}", "quantity": quantity, "step": step, "value": number + 0.1 * step}
        for number in range(50)
        for quantity in quantities
        for step in (1, 2, 3)
    ]
    plots.page(tables.table(rows), tmp_path / "page.png")
    ((legend, panel, labels, lines),) = boxes
    assert panel.y0 <= legend.y0 < legend.y1 <= panel.y1
    assert {"layers.0", "layers.25", "layers.49"} <= labels
    assert lines >= 50 * len(quantities), "every layer is drawn"
    assert set(quantities) <= labels or len(quantities) == 1


LONG = "base_model.model.model.layers.{}.self_attn.a_block_of_a_long_name.q_proj.lora_adapter_of_a_long_name.default"
NAMES = {
    "long": [LONG.format(number) for number in range(4)],
    "long and short": ["fc", *(LONG.format(number) for number in range(3))],
    "a long one": ["fc", LONG.format(0)],
    "without dots": [f"{'a' * 40}{number}{'b' * 40}" for number in range(3)],
    "with dollars": [f"model.{'$' * 40}.{number}" for number in range(3)],
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("steps", [(0,), (0, 1, 2)])
def test_long_names_leave_room_for_the_axes_and_stay_different(steps, names, tmp_path, monkeypatch):
    seen, save = [], Figure.savefig

    def spy(figure, *arguments, **options):
        save(figure, *arguments, **options)
        (axes,) = figure.axes
        size = axes.get_window_extent().size / figure.bbox.size
        labels = axes.get_legend().get_texts() if len(steps) > 1 else axes.get_xticklabels()
        seen.append((size, [label.get_text() for label in labels], axes.lines))

    monkeypatch.setattr(Figure, "savefig", spy)
    rows = [
        {"layer": name, "quantity": "nfa", "step": step, "value": 0.1 * number + step}
        for number, name in enumerate(names)
        for step in steps
    ]
    plots.page(tables.table(rows), tmp_path / "page.png")
    ((size, labels, lines),) = seen
    assert min(size) > 0.4
    assert len(set(labels)) == len(labels) == len(names)
    assert len(steps) == 1 or sum(len(line.get_xdata()) == len(steps) for line in lines) == len(names)
    for name, label in zip(names, labels, strict=True):
        assert "…" in label or label == name
        assert label.replace("\\", "").endswith(name.rpartition(".")[-1][-8:])


def test_losses_of_one_step_are_no_figure(tmp_path):
    rows = [{"quantity": "loss", "seed": seed, "value": 1.0} for seed in (0, 1)]
    with pytest.raises(ValueError, match="none of the quantities that are drawn"):
        plots.page(tables.table(rows), tmp_path / "page.png")
