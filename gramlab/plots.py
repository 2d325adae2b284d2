"""One page of figures from a gramlab table: against training steps if it has several, else against layers."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from gramlab.files import atomic

# panel title -> its quantities: the papers' figures for the user's own network
PANELS: dict[str, list[str]] = {
    "NFA: cosine of AGOP and WᵀW (paper B, Fig. 2)": ["nfa", "centered_nfa", "double_centered_nfa"],
    "Pearson correlation with WᵀW (paper C, Fig. 8)": ["pearson_fact", "pearson_agop", "pearson_enfa"],
    "Pearson correlation with WWᵀ (paper C, Fig. 10)": ["pearson_back_fact", "pearson_back_agop", "pearson_back_enfa"],
    "Target linearity (paper A, Fig. 4)": ["target_linearity"],
    "Surrogate (paper A, Fig. 4)": ["surrogate"],
    "Diagonal of WᵀW: summed VCS and AGOP (paper A, Fig. 7)": ["diagonal_virtual", "diagonal_agop"],
    "NC1 = tr S_W / tr S_B (paper D, Fig. 3)": ["nc1"],
    "‖∇L + λW‖ / ‖λW‖: 0 where FACT must hold": ["stationarity"],
    "Loss": ["loss"],
}
_LOGARITHMIC = {"surrogate", "nc1", "stationarity", "loss"}
_IN_LEGEND = 10  # layers; a legend of 50 would cover the panel and its title
_LONGEST = 28  # characters of a layer's name; longer ones would leave no room for the axes


def page(table: pa.Table, path: Path | str) -> Path:
    """Draw every panel that the table has numbers for into one PNG. Equal tables give equal bytes.

    Needs seaborn and matplotlib: ``pip install 'gramlab[figures]'``.

    Parameters
    ----------
    table : pyarrow.Table
        Written by ``gramlab.Recorder`` or ``gramlab probe`` (``gramlab.tables.read``).
    path : Path or str
        The PNG to write.

    Returns
    -------
    Path
        ``path``.

    Raises
    ------
    ValueError
        If the table has none of the quantities in ``PANELS``, or only one number of each.

    Examples
    --------
    >>> import tempfile
    >>> from gramlab import plots, tables
    >>> rows = [{"layer": layer, "quantity": "nfa", "value": value} for layer, value in (("0", 0.9), ("2", 0.7))]
    >>> plots.page(tables.table(rows), tempfile.mkdtemp() + "/run.png").name
    'run.png'
    """
    import matplotlib
    import seaborn
    from matplotlib.figure import Figure

    data = table.to_pandas()
    panels = {title: data[data.quantity.isin(names)] for title, names in PANELS.items()}
    over_steps = data.step.nunique() > 1
    if not over_steps:
        panels.pop("Loss", None)  # the loss belongs to no layer
    panels = {title: part for title, part in panels.items() if len(part) > 1}  # a single number is no figure
    if not panels:
        raise ValueError("the table has none of the quantities that are drawn, or only one number of each")
    order = list(dict.fromkeys(data.layer[data.quantity != "loss"]))  # a layer that is the whole model is called ""
    # the caller's matplotlib settings do not matter
    with matplotlib.rc_context(matplotlib.rcParamsDefault), seaborn.axes_style("whitegrid"):
        columns = min(3, len(panels))
        rows = -(-len(panels) // columns)
        figure = Figure(figsize=(5.2 * columns, 3.6 * rows), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, (title, part) in zip(grid, panels.items(), strict=False):
            _draw(axes, part, over_steps, order)
            axes.set_title(title, fontsize=10)
            if set(part.quantity) <= _LOGARITHMIC and (part.value > 0).all():
                axes.set_yscale("log")
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        path = Path(path)
        with atomic(path) as temporary:
            figure.savefig(temporary, format="png", dpi=110, metadata={"Software": None})
    return path


def _labels(layers: list[str]) -> dict[str, str]:
    """The layers' names as the page shows them, all different: without what long names share, and with an ellipsis."""
    parts = {layer: layer.split(".") for layer in layers if len(layer) > _LONGEST}
    shared = _shared_at_start(list(parts.values()))
    labels = {}
    for layer in layers:
        name = "…" + ".".join(parts[layer][shared:]) if shared and layer in parts else layer
        labels[layer] = _label(_shortened(name))
    if len(set(labels.values())) < len(layers):
        labels = {layer: f"{number}: {label}" for number, (layer, label) in enumerate(labels.items(), 1)}
    return labels


def _shared_at_start(names: list[list[str]]) -> int:
    """How many parts several names have in common at their start; at least one part is left of each."""
    if len(names) < 2:
        return 0
    most = min(map(len, names)) - 1
    return next((number for number in range(most) if len({parts[number] for parts in names}) > 1), most)


def _shortened(name: str) -> str:
    """A name with an ellipsis in its middle if it is too long: both of its ends tell layers apart."""
    if len(name) <= _LONGEST:
        return name
    end = _LONGEST // 2
    return f"{name[: _LONGEST - end - 1]}…{name[-end:]}"


def _label(layer: str) -> str:
    """A name as a legend shows it: matplotlib hides "" and labels that begin with _, and $ means TeX."""
    layer = layer.replace("$", r"\$")
    return f" {layer}" if layer.startswith("_") else layer or "(model)"


def _draw(axes: Any, part: Any, over_steps: bool, order: list[str]) -> None:
    import seaborn

    labels = _labels(order)
    several = part.quantity.nunique() > 1
    if over_steps:
        layers = [labels[layer] for layer in order if layer in set(part.layer)] or None
        part = part.assign(layer=[labels.get(layer, _label(layer)) for layer in part.layer])
        seaborn.lineplot(part, x="step", y="value", hue="layer" if layers else None, hue_order=layers,
                         palette="viridis" if layers else None, style="quantity" if several else None,
                         errorbar=None, ax=axes)  # fmt: skip
    else:
        part = part.assign(place=[order.index(layer) for layer in part.layer])
        seaborn.lineplot(part, x="place", y="value", hue="quantity" if several else None, marker="o",
                         palette="colorblind" if several else None, errorbar=None, ax=axes)  # fmt: skip
        axes.set_xticks(range(len(order)), [labels[layer] for layer in order], rotation=45, ha="right", fontsize=7)
        axes.set_xlabel("layer")
    if axes.get_legend():
        seaborn.move_legend(axes, "best", fontsize=7, title=None, frameon=False)
        if over_steps and layers and len(layers) > _IN_LEGEND:  # the colours of the others lie between
            named = {*layers[:: -(-len(layers) // _IN_LEGEND)], layers[-1]}
            handles, labels = axes.get_legend_handles_labels()
            kept = [(handle, label) for handle, label in zip(handles, labels, strict=True)
                    if label in named or label not in layers]  # fmt: skip
            axes.legend(*zip(*kept, strict=True), fontsize=7, frameon=False)
    axes.set_ylabel("")
