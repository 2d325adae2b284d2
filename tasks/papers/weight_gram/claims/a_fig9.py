"""Under Adam too, the surrogate and Target Linearity (TL, lambda = 0) grow in training and with the layer's index.

Section 4.3 says of Figure 4, under gradient descent, that both quantities grow throughout training, and that the
results under Adam are analogous. Appendix B.5 says that Figure 9 shows “a consistent pattern for various optimizers”.
The paper states the two laws of growth for gradient descent alone, so under Adam they do not decide the claim. TL is
that of the training set. The paper prints no learning rate for Adam. At the paper scale we take the rate of the
authors' code, 0.0005. Whether TL grows throughout training may depend on the rate. The paper says that the networks of
Figure 4 fit; we ask the same of these networks.
"""

from dataclasses import replace
from functools import partial

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.judging.statement import Statement
from tasks.papers.weight_gram.claims.shared import growth
from tasks.papers.weight_gram.claims.shared.growth import draw as draw

ID = "A.fig9"
KIND = "statistical"
TITLE = "Surrogate and Target Linearity grow under Adam too"
PRINTED = "“a consistent pattern”, Figure 9"
MATH = growth.MATH
MATH_CORRECTED = growth.MATH_CORRECTED
CORRECTS = "a measure"
CORRECTION = growth.CORRECTION
HYPOTHESES = (
    replace(
        growth.FITTED,
        text=f"The training accuracy exceeds {growth.LEAST_TRAIN_ACCURACY:g} after training. Section 6 says this of "
        "Figure 4's networks under gradient descent; it says nothing of those of Figure 9.",
    ),
)
UNPRINTED = "at a learning rate of Adam that the paper does not print"
CONTROLS = growth.CONTROLS


def throughout(rows: Rows) -> Finding:
    """Every layer's measure rises from epoch to epoch."""
    finding = growth.throughout(rows)
    return replace(finding, measured=f"{finding.measured}, {UNPRINTED}")


QUOTE = "the results show a consistent pattern for various optimizers"
QUOTES = {"in training": "Both quantities grow throughout training", "with depth": "both increase with layer index"}
STATEMENTS = (
    *(
        Statement(
            name=f"{name} {direction}",
            quote=QUOTES[direction],
            place="Section 4.3, on Figure 4; “Analogous results for the Adam optimizer” are Figure 9",
            rule=rule,
            reads=(quantity,),
            derived="tr(YᵀGY) of centred labels, divided by ‖W_l H_l‖²" if quantity == "surrogate" else "",
            rows=150,
            forms=("claim", "corrected") if quantity == "surrogate" else ("claim",),
        )
        for direction, rule in (("in training", throughout), ("with depth", growth.with_layer))
        for name, quantity in (("surrogate", "surrogate"), ("TL", "target_linearity"))
    ),
    *(
        Statement(
            name=f"{name} {law}",
            quote=QUOTE,
            place="Appendix B.5",
            rule=partial(growth.follows, law=law),
            reads=(quantity,),
            kind="ours",
            rows=150,
            forms=("claim",),  # the normalised surrogate has an upper bound
        )
        for name, quantity, law in (
            ("surrogate", "surrogate", "exponential"),
            ("TL", "target_linearity", "logarithmic"),
        )
    ),
    growth.chance_statement(QUOTE, "Appendix B.5"),
)
