"""Lazy: the features stay, and with them the linear predictor that the network chases. Rich: they move.

Lazy is the widest network of A.fig8, rich the narrowest: the rich one's features move further, relative to their norm,
and so does its y_OLS; the lazy one's features are effectively fixed, moving by less than a tenth of their norm.
"""

from dataclasses import replace

from tasks.judge import Finding, Rows, by_number, every, positive

ID = "A.fig3"
KIND = "statistical"
TITLE = "Lazy: a fixed target; rich: a moving one"
PRINTED = "a drawing, Figure 3: “effectively fixed” features; “a moving target”"
CORRECTION = "Outputs divided by the root of the width, as for A.fig8."
QUANTITIES = ("movement/target", "movement/features")


def rule(rows: Rows) -> Finding:
    """Per seed, after training: narrowest minus widest, and how far the widest one's features have moved."""
    _, target = by_number(rows.where(quantity="movement/target"))
    _, features = by_number(rows.where(quantity="movement/features"))
    found = every(
        rich_target_moves_more=positive(target[:, 0, -1] - target[:, -1, -1], "movement of y_OLS, rich minus lazy"),
        rich_features_move_more=positive(features[:, 0, -1] - features[:, -1, -1], "movement of H, rich minus lazy"),
        lazy_features_stay=positive(0.1 - features[:, -1, -1], "0.1 minus the movement of the lazy one's H"),
    )
    ends = (features.mean(0)[0, -1], features.mean(0)[-1, -1])
    return replace(found, measured=f"features move by {ends[0]:.2f} (rich), {ends[1]:.2f} (lazy) of their norm")
