"""Paper B to look at: the centered NFA, predicted and observed, as the balance of the data turns."""

import pandas as pd

from tasks.reporting.explore import Curve, View, seeds

EXPERIMENT = "b_fig3"
ARMS = {
    "corrected: X₁ scaled by d⁻⁰·⁸": "corrected",
    "as printed: X₁ of scale 1": "claim",
    "control: first-order term alone": "control: first-order term alone, corrected",
}
NAMES = {"predicted": "predicted", "observed": "observed"}


def view(rows: pd.DataFrame) -> View | None:
    """Both curves by arm; None where the table lacks them."""
    rows = rows[rows["quantity"].isin([f"fig3/{name}" for name in NAMES])]
    arms = {option: rows[rows["arm"] == arm] for option, arm in ARMS.items() if (rows["arm"] == arm).any()}
    if not arms:
        return None
    balances = sorted(rows["x"].unique().tolist())

    def curve(name: str) -> dict[str, list[list[float | None]]]:
        return {option: seeds(of_arm[of_arm["quantity"] == f"fig3/{name}"], "x", balances)
                for option, of_arm in arms.items()}  # fmt: skip

    return View(
        title="The centered NFA, predicted and observed, as the balance of the data turns",
        text="One quadratic network sees data sets of different balance γ. The paper says that the data turn against "
        "the alignment as γ falls. The centered NFA is the correlation of the second derivatives of the neural "
        "feature matrix and the AGOP. Random matrix theory predicts it from the data and from moments of other "
        "networks. Pick the data as printed, the data as we correct them, or the control, which predicts "
        "from the first-order term alone.",
        experiment=EXPERIMENT,
        claims=["b_fig3"],
        slider="balance γ",
        values=balances,
        choice="data and prediction",
        options=list(arms),
        axis="centered NFA",
        curves=[Curve(label, curve(name)) for name, label in NAMES.items()],
    )
