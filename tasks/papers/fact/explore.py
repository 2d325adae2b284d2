"""Paper C to look at: FACT, the root of the AGOP and the weights' Gram matrix along training, by weight decay."""

import pandas as pd

from tasks.reporting.explore import Curve, Matrix, View, frames, seeds

EXPERIMENT = "c_decay"
MATRICES = {"gram": "WᵀW", "fact": "FACT", "root agop": "√AGOP"}
CURVES = {"fact": "FACT", "root agop": "√AGOP"}


def view(rows: pd.DataFrame) -> View | None:
    """The images of seed 0 and the correlations of all seeds, by weight decay; None where the table lacks them."""
    rows = rows[rows["arm"] == "claim"]
    images = rows[rows["quantity"].str.startswith("image/")]
    if images.empty:
        return None
    steps = sorted(images["step"].unique().tolist())
    cases = sorted(images["case"].unique(), key=_decay)
    options = {case.removeprefix("weight_decay="): rows[rows["case"] == case] for case in cases}
    last = rows[(rows["quantity"] == "pearson/fact") & (rows["step"] == steps[-1])]
    closest = last.groupby("case")["value"].mean().reindex(cases).idxmax().removeprefix("weight_decay=")
    return View(
        title="FACT and the root of the AGOP against WᵀW along training",
        text="A network of two hidden layers learns to classify images, with the weight decay λ that you pick. Each "
        "square is a matrix of the first layer between 16 patches of the image, four by four, row by row: its entries "
        "are means over pairs of pixels. Red entries are positive and blue entries negative; each image has the "
        "colours of its own largest entry. FACT equals WᵀW where the gradient of the loss with weight decay vanishes, "
        "so that we expect the two to be alike at the end of training and not before. The AGOP needs no such point. "
        "The curves are correlations with WᵀW over all entries.",
        experiment=EXPERIMENT,
        claims=["c_tab2", "c_fig3", "c_thm3_1"],
        slider="training step",
        values=steps,
        choice="weight decay λ",
        options=list(options),
        axis="correlation with WᵀW",
        start=closest,
        opens=f"The page opens with λ = {closest}, with which FACT comes closest to WᵀW, and so the networks to such a "
        "point. With a smaller λ the same training ends farther from one; pick it to see FACT fall behind √AGOP there.",
        matrices=[
            Matrix(label, {option: frames(of_case[of_case["quantity"] == f"image/{name}"], "step", steps)
                           for option, of_case in options.items()})
            for name, label in MATRICES.items()
        ],
        curves=[
            Curve(label, {option: seeds(of_case[of_case["quantity"] == f"pearson/{name}"], "step", steps)
                          for option, of_case in options.items()})
            for name, label in CURVES.items()
        ],
    )  # fmt: skip


def _decay(case: str) -> float:
    return float(case.removeprefix("weight_decay="))
