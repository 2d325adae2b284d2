"""Figures 10 to 12: the collapse of the last features, the NFA of each layer, and the training loss."""

from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.ranges import fisher_z
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, equals, positive
from tasks.judging.statement import Control, Statement
from tasks.judging.statistics import curves
from tasks.papers.neural_collapse.claims.shared.data_sets import SETS, on_each_data_set

PRINTED_UNIT = 0.01  # unit of the last printed digit of the NFA
RUNS = 3  # whose mean is printed
COLLAPSED = 0.1  # part of its value before training that a collapsed Sigma_W/Sigma_T keeps at most; the limit is ours
HIGH = 0.5  # an NFA above it is nearer to 1 than to 0; the limit is ours
CONSTANT_LOSS = 4 * 0.1 * 0.9  # squared error of the best constant for labels of ±1, ten classes of one size
COLLAPSE = r"\frac{\operatorname{tr} \Sigma_W}{\operatorname{tr} \Sigma_T} \text{ and the loss fall with } t"
CORRELATION = r"\rho\left( W_l^\top W_l,\; \sqrt{\text{AGOP}_l} \right)"
NOT_STEPS = ("case", "layer")
VERIFY = "we verify the NFA, DNC, and plot the training loss."


def controls(figure: int) -> dict[str, Control]:
    """The controls of a figure, an arm for each data set, since a control must be rejected on each.

    The multi-layer perceptron of Figure 10 is trained on random labels too, on the first data set of a scale.
    """
    described = {}
    for scale, data_sets in SETS.items():
        for data_set in data_sets:
            by_name = {
                "labels shuffled at the measure": Control(
                    text="The labels are shuffled before collapse and loss are computed, but not in training.",
                    has=("nc2/output", "null/within", "train_loss", "within"),
                    equal_quantities=("null/within",),
                    equal_because="The null of permuted labels is that of the same features.",
                    scales=(scale,),
                    cases=(data_set,),
                    data_set=data_set,
                    parts=NOT_STEPS,
                    parts_because="The loss on shuffled labels is measured at snapshots, the claim's at every epoch.",
                ),
                "the AGOP of the next layer": Control(
                    text="WᵀW of a layer is compared with the AGOP of the next layer of the same width, and the last "
                    "with the first.",
                    has=("nfa/mean", "nfa/null"),
                    equal_quantities=("nfa/null",),
                    equal_because="The null is that of the claim's layers in random directions.",
                    scales=(scale,),
                    cases=(data_set,),
                    data_set=data_set,
                    parts=NOT_STEPS,
                    parts_because="The networks are measured before training and at its end.",
                ),
            }
            if figure == 10 and data_set == data_sets[0]:
                by_name["trained on random labels"] = Control(
                    text="The networks are trained on random labels, and collapse is measured with the true ones.",
                    has=("nfa/mean", "train_loss", "within"),
                    scales=(scale,),
                    cases=(data_set,),
                    data_set=data_set,
                    parts_because="It has its own data set alone.",
                )
            described.update({f"{name}, {data_set}": control for name, control in by_name.items()})
    return described


def statements(figure: int) -> tuple[Statement, ...]:
    """The statements about the networks of a figure, on each of its data sets."""
    place = f"Appendix D; Figure {figure}"
    return (
        Statement(
            name="the last features collapse",
            quote=VERIFY,
            place=place,
            rule=lambda rows: on_each_data_set(rows, collapse),
            reads=("within",),
            rows=20,
        ),
        Statement(
            name="the loss falls",
            quote="The third column is the train loss of the neural network.",
            place=place,
            rule=lambda rows: on_each_data_set(rows, loss_falls),
            reads=("train_loss",),
            rows=20,
        ),
        Statement(
            name="the NFA arises in training",
            quote="neural networks will automatically contain AGOP structure in the Gram matrix of the weights in all "
            "layers of the neural network, where the AGOP at each layer acts on the sub-network and feature vectors at "
            "that layer. … In Figures 10, 11, and 12, we verify the NFA, DNC, and plot the training loss. … In the "
            "second column we plot the development of the NFA, where correlation is measured between W_lᵀW_l and the "
            "square root of the AGOP with respect to the inputs at layer l",
            place=f"Section 3; Appendix D; Figure {figure}",
            rule=lambda rows: on_each_data_set(rows, nfa_rises),
            reads=("nfa/mean",),
            rows=20,
        ),
        Statement(  # no figure shows it, and it names neither the layers nor an amount: this is one reading
            name="NC2 falls at the last layer above all",
            quote="Unlike DNC1, we have observed a strong DNC2 progression only in the very last layer.",
            place="Section 5",
            rule=lambda rows: on_each_data_set(rows, nc2_falls_at_the_last),
            reads=("nc2/output",),
            kind="ours",
            rows=50,
        ),
        Statement(  # the asserted statement is about the mean over layers; "in all layers" is sharper
            name="the NFA rises in every layer",
            quote="neural networks will automatically contain AGOP structure in the Gram matrix of the weights in all "
            "layers of the neural network",
            place="Section 3",
            rule=lambda rows: on_each_data_set(rows, nfa_rises_in_every_layer),
            reads=("nfa",),
            kind="ours",
            rows=50,
        ),
        Statement(  # an untrained network passes this too: its AGOP is made of the same weights
            name="the NFA is not trivial",
            quote="These results are in a regime where the NFA holds with high correlation, with ResNet and MLP having "
            "NFA correlations at the end of training (averaged over all layers and seeds) of 0.74 ± 0.17 and 0.74 ± "
            "0.13 on CIFAR-10 and MNIST, respectively (see Appendix D for values across all architectures and "
            "datasets). Thus, S_lV_lᵀ should project into a similar space as the AGOP. We note that the matrix "
            "quantities involved are high-dimensional, and the trivial correlation between two i.i.d. uniform "
            "eigenvectors of dimension d concentrates within ±O(d^{-1/2}).",
            place=f"Section 5; Figure {figure}",
            rule=lambda rows: on_each_data_set(rows, nfa_holds),
            reads=("nfa", "null/nfa", "nfa/mean", "nfa/null"),
            kind="ours",
            printed="trivial correlation at most 0.04, of eigenvectors at width 512",
            rows=5,
        ),
        Statement(
            name="the collapse is beyond chance",
            quote=VERIFY,
            place=place,
            rule=lambda rows: on_each_data_set(rows, collapse_beyond_chance),
            reads=("within", "null/within"),
            kind="ours",
            rows=5,
        ),
    )


def printed_nfa(nfa: float, deviation: float, data_set: str, network: str) -> Statement:
    """The printed level of the NFA, for the data set that it is printed for."""
    return Statement(
        name=f"level of the NFA on {data_set}",
        quote="NFA correlations at the end of training (averaged over all layers and seeds)",
        place="Section 5",
        rule=lambda rows: level(rows.where(case=data_set), nfa),
        reads=("nfa/mean",),
        kind="printed level",
        printed=f"{nfa} ± {deviation} ({network}, {data_set})",
        rows=20,
        scales=("paper",),
        unreduced=True,
    )


def collapse(rows: Rows) -> Finding:
    """After training Sigma_W/Sigma_T is below a tenth of its value before; Sigma_B/Sigma_T is 1 minus it."""
    within = curves(rows, "seed")
    measured = f"training takes Σ_W/Σ_T from {within[:, 0].mean():.2g} to {within[:, -1].mean():.2g}"
    label = f"{COLLAPSED:g} times Σ_W/Σ_T before training minus Σ_W/Σ_T after it"
    return replace(positive(COLLAPSED * within[:, 0] - within[:, -1], label), measured=measured)


def collapse_beyond_chance(rows: Rows) -> Finding:
    """After training Sigma_W/Sigma_T is below the 2.5 % quantile of permuted labels."""
    within, null = (curves(rows.where(quantity=name), "seed")[..., -1] for name in ("within", "null/within"))
    finding = positive(null - within, "Σ_W/Σ_T of permuted labels (2.5 % quantile) minus that of the classes")
    return replace(finding, measured=f"Σ_W/Σ_T is {within.mean():.2g}, and with permuted labels {null.mean():.2g}")


def loss_falls(rows: Rows) -> Finding:
    """The training loss falls in training, and below the loss of the best constant, which needs no learning."""
    loss = curves(rows, "seed")
    finding = all_of(
        fall=positive(loss[:, 0] - loss[:, -1], "fall of the training loss"),
        below=positive(
            CONSTANT_LOSS - loss[:, -1],
            f"{CONSTANT_LOSS:g} (the best constant's loss for ten classes) minus the last loss",
        ),
    )
    return replace(
        finding, measured=f"training takes the loss from {loss[:, 0].mean():.2g} to {loss[:, -1].mean():.2g}"
    )


def nc2_falls_at_the_last(rows: Rows) -> Finding:
    """After training NC2 falls from the output of the last but one hidden layer to the last's, and more than before.

    The paper speaks of the metrics' "progression through the layers". It names no amount for "strong".
    """
    nc2 = curves(rows, "seed", "layer")[..., -1]  # layers in order
    fall = nc2[:, :-1] - nc2[:, 1:]
    finding = all_of(
        fall=positive(fall[:, -1], "fall of NC2 at the last hidden layer"),
        above=positive(
            fall[:, -1] - fall[:, :-1].max(1),
            "fall of NC2 at the last hidden layer minus the largest fall at an earlier layer",
        ),
    )
    return replace(finding, measured=f"from the first hidden layer to the last, NC2 after training is {_means(nc2)}")


def nfa_holds(rows: Rows) -> Finding:
    """After training, the NFA of every layer and their mean exceed what random matrices of the same spectra reach."""
    nfa, null = (curves(rows.where(quantity=name), "seed", "layer")[..., -1] for name in ("nfa", "null/nfa"))
    mean, null_of_mean = (curves(rows.where(quantity=f"nfa/{name}"), "seed")[..., -1] for name in ("mean", "null"))
    label = "Fisher's z of the NFA minus that of its null's 97.5 % quantile"
    above = fisher_z(nfa) - fisher_z(null)
    every = in_every_layer(above, label)
    finding = all_of(mean=positive(fisher_z(mean) - fisher_z(null_of_mean), label), **every.parts)
    measured = f"from the first layer to the last, the NFA is {_means(nfa)}, and by chance {_means(null)}"
    return replace(finding, measured=measured)


def nfa_rises_in_every_layer(rows: Rows) -> Finding:
    """The NFA of every layer is higher after training than before."""
    nfa = curves(rows, "seed", "layer")
    rise = nfa[..., -1] - nfa[..., 0]
    finding = in_every_layer(rise, "rise of the layer's NFA in training")
    return replace(finding, measured=f"from the first layer to the last, the NFA rises by {_means(rise)}")


def in_every_layer(values: np.ndarray, label: str) -> Finding:
    """The mean over seeds of the values (seeds, layers) is above 0 in every layer."""
    return all_of(**{f"layer {number}": positive(of_layer, label) for number, of_layer in enumerate(values.T, 1)})


def _means(values: np.ndarray) -> str:
    """The mean over seeds in each layer."""
    return ", ".join(f"{mean:.2f}" for mean in values.mean(0))


def nfa_rises(rows: Rows) -> Finding:
    """The mean NFA over layers is higher after training than before, and then nearer to 1 than to 0."""
    nfa = curves(rows, "seed")
    measured = f"training takes the mean NFA from {nfa[:, 0].mean():.2f} to {nfa[:, -1].mean():.2f}"
    finding = all_of(
        rise=positive(nfa[:, -1] - nfa[:, 0], "mean NFA after training minus that before it"),
        high=positive(nfa[:, -1] - HIGH, f"mean NFA after training minus {HIGH:g}"),
    )
    return replace(finding, measured=measured)


def level(rows: Rows, printed: float) -> Finding:
    """The mean NFA over layers after training equals the printed number."""
    return equals(curves(rows, "seed")[..., -1], printed, PRINTED_UNIT, RUNS)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the paper's three panels, a row for each data set, with the NFA of the controls after training."""
    cases = rows.loc[rows["arm"] == "claim", "case"].unique()
    figure, grid = style.panels(claim, columns=3, rows=len(cases), height=2.3 * len(cases) + 0.8)
    for panels, case in zip(grid, cases, strict=True):
        comparable = case == getattr(claim, "PRINTED_FOR", "") and style.are_of_paper_scale(rows)
        printed = (claim.NFA, claim.DEVIATION) if comparable else None
        of_case = rows[(rows["case"] == case) & (rows["arm"] == "claim")]
        _draw_one(panels, of_case, 21 // len(cases) + 4, printed)
        null = of_case.loc[of_case["quantity"] == "nfa/null", "value"].mean()
        _draw_controls(panels[1], rows[(rows["case"] == case) & (rows["quantity"] == "nfa/mean")], null)
        panels[0].set_ylabel(f"{case}\nfraction of tr Σ_T, last layer")
        for axes in panels:
            axes.xaxis.get_major_locator().set_params(nbins=5)
            axes.minorticks_off()
            axes.set_xlabel("epoch")
    style.note(figure, style.meaning_of_lines(rows, "mean (left and right: geometric)"))
    return figure


SIGNS = {"X": "✗", "P": "+", "v": "▾", "d": "◆"}  # of a control's mark


def _draw_controls(axes: Axes, rows: pd.DataFrame, null: float) -> None:
    """The mean NFA over layers after training, of each control that has its own: a mark for each seed.

    Their names stand above that of the line of the null, which is below all layers.
    """
    names = []
    claim_rows = rows[(rows["arm"] == "claim") & (rows["x"] == rows["x"].max())].sort_values("seed")["value"].to_numpy()
    for arm, mark in zip(style.controls(rows), "XPvd", strict=False):
        last = rows[(rows["arm"] == arm) & (rows["x"] == rows.loc[rows["arm"] == arm, "x"].max())].sort_values("seed")
        if len(last) == len(claim_rows) and np.allclose(last["value"], claim_rows):
            continue  # this control breaks another quantity
        axes.plot(last["x"], last["value"], mark, color=style.CONTROL, markersize=4, alpha=0.7, clip_on=False)
        names.append((f"{SIGNS[mark]} {arm.removeprefix('control: ').rpartition(',')[0]}", style.CONTROL))
    low, high = axes.get_ylim()
    above = (null - low) / (high - low) + 0.075
    style.name_lines(axes, [("controls, mean over layers", style.CONTROL), *names], x=0.03, y=above)


def _draw_one(panels: Any, rows: pd.DataFrame, points: int, printed: tuple[float, float] | None) -> None:
    """Draw the traces, the NFA and the loss of one data set."""
    traces, nfa, loss = panels
    null = rows.loc[rows["quantity"] == "nfa/null", "value"].mean()
    least = rows.loc[rows["quantity"] == "within", "value"].min()
    chance = rows.loc[rows["quantity"] == "null/within", "value"]
    rows = style.thinned(rows, points)
    for axes in (traces, loss):
        axes.set_yscale("log")
    for quantity, color in (("within", style.BLUE), ("between", style.GREEN)):
        style.seeds(traces, rows[rows["quantity"] == quantity], "x", color)
    above = [("Σ_B / Σ_T", style.GREEN)]
    if len(chance):
        traces.axhline(chance.mean(), color=style.GUIDE, linestyle=":", linewidth=1.2)
        above.append(("dotted: permuted\nlabels, 2.5 %", style.GUIDE))
    style.name_lines(traces, above, y=0.9)
    style.name_lines(traces, [("Σ_W / Σ_T", style.BLUE)], x=0.03)
    style.seeds(loss, rows[rows["quantity"] == "train_loss"], "x", style.CLAIM)
    layers = rows[rows["quantity"] == "nfa"]
    style.layers(nfa, layers)
    nfa.axhline(null, color=style.GUIDE, linestyle="--", linewidth=1.2)
    nfa.annotate("97.5 % of random matrices", (0.03, null), (0, 2), xycoords=nfa.get_yaxis_transform(),
                 textcoords="offset points", fontsize=style.SMALL + 0.5,
                 color=style.legible(style.GUIDE, 4.5))  # fmt: skip
    if printed:
        mean, deviation = printed
        nfa.axhspan(mean - deviation, mean + deviation, color=style.PRINTED, alpha=0.06, linewidth=0)
        nfa.axhline(mean, color=style.PRINTED, linewidth=0.8, linestyle="-.")
        nfa.annotate(f"printed {mean} ± {deviation}", (0.97, mean), (0, 2), ha="right", fontsize=style.SMALL + 0.5,
                     xycoords=nfa.get_yaxis_transform(), textcoords="offset points")  # fmt: skip
    traces.set(ylim=(least / 2, 1.3))
    lowest = rows.loc[rows["quantity"] == "nfa", "value"].min()
    nfa.set(ylabel="Pearson of WᵀW and √AGOP", ylim=(min(0, lowest), 1.02))
    final = layers[layers["x"] == layers["x"].max()].groupby("layer")["value"].mean()
    style.label_ends(nfa, [(float(value), f"layer {layer}", color) for (layer, value), color
                           in zip(final.items(), style.layer_colors(len(final)), strict=True)], x=1.05)  # fmt: skip
    loss.set(ylabel="training loss")
