"""Whitened against plain gradient descent (Figures 2 and 6), as printed and as in the authors' code."""

from collections.abc import Iterator

from tasks.measuring.run import Run

# the plain and the whitened update of each arm
ARMS = {"claim": ("original", "whitened"), "control: only the removed part": ("original", "complement")}
# the two updates to compare, by the suffix of the quantity, as printed and as in the authors' code
COMPARISONS = {
    "": ("original", "whitened"),
    ", momentum": ("original-momentum", "whitened-momentum"),
    ", ten steps": ("original", "whitened-ten-steps"),
}
LEAD_EPOCHS = 5  # the text: in so many epochs the whitened update reaches gradient descent's final accuracy


def whitening(run: Run) -> Iterator[dict]:
    """Rows: original/… and whitened/… losses and accuracies by case (data set, learning rate), epoch (x) and seed.

    The control trains on the part of the gradient that whitening removes. It may have fewer learning rates, because the
    rule needs only one rate at which the control is rejected.

    ``gap`` and ``lead`` compare the text with the authors' code in the report's table, at the learning rates that all
    of these variants have. ``gap`` is the difference of the final test accuracies, whitened less original. ``lead`` is
    the best test accuracy of the whitened update within LEAD_EPOCHS epochs less the original's best in all epochs.
    """
    for row in run.history:
        data_set, update, rate = _parts(row["case"])
        name = f"{'original' if update == 'original' else 'whitened'}/{row['quantity']}"
        for arm, updates in ARMS.items():
            if update in updates and rate in run.variants[f"{data_set} {updates[1]}"].cases:
                yield {**row, "arm": arm, "case": f"{data_set}, {rate}", "quantity": name}
    yield from _differences(run.history)


def _differences(history: list[dict]) -> Iterator[dict]:
    """The rows of ``gap`` and ``lead``."""
    curves: dict[tuple[str, int], list[dict]] = {}
    for row in sorted(history, key=lambda row: row["step"]):
        if row["quantity"] == "test_accuracy":
            curves.setdefault((row["case"], row["seed"]), []).append(row)
    for suffix, (original, whitened) in COMPARISONS.items():
        for (case, seed), curve in curves.items():
            data_set, update, rate = _parts(case)
            if update == whitened and (f"{data_set} whitened-momentum,{rate}", seed) in curves:
                plain = curves[f"{data_set} {original},{rate}", seed]
                early = max(row["value"] for row in curve if 0 < row["x"] <= LEAD_EPOCHS)
                best = max(row["value"] for row in plain if row["x"] > 0)
                columns = {**curve[-1], "arm": "claim", "case": f"{data_set}, {rate}"}
                yield {**columns, "quantity": f"gap{suffix}", "value": curve[-1]["value"] - plain[-1]["value"]}
                yield {**columns, "quantity": f"lead{suffix}", "value": early - best}


def _parts(case: str) -> tuple[str, str, str]:
    """Data set, update and learning rate of a case "DATA UPDATE,lr=RATE"."""
    variant, _, rate = case.partition(",")
    data_set, _, update = variant.rpartition(" ")
    return data_set, update, rate
