"""With Adam too, surrogate and Target Linearity (lambda = 0) grow throughout training and with the layer's index.

Of Figure 9 the paper says only that it shows “a consistent pattern for various optimizers”. We judge what Section 4.3
says of Figure 4 under gradient descent: that both quantities grow. The two laws of growth are said of gradient descent
alone, so under Adam they do not decide the claim. Target Linearity is that of the training set.
"""

from functools import partial

from tasks.judging.statement import Statement
from tasks.papers.weight_gram.claims.shared import growth
from tasks.papers.weight_gram.claims.shared.growth import draw as draw

ID = "A.fig9"
KIND = "statistical"
TITLE = "Surrogate and Target Linearity grow under Adam too"
PRINTED = "“a consistent pattern”, Figure 9"
MATH = growth.MATH
MATH_CORRECTED = growth.MATH_CORRECTED
CORRECTION = growth.CORRECTION
HYPOTHESES = (growth.FITTED,)
CONTROLS = growth.controls()
QUOTE = "the results show a consistent pattern for various optimizers"
STATEMENTS = (
    *(
        Statement(
            name=f"{name} {direction}",
            quote=QUOTE,
            place="Appendix B.5",
            rule=rule,
            reads=(quantity,),
            derived="tr(YᵀGY) of centred labels, over ‖W_l H_l‖²" if quantity == "surrogate" else "",
            rows=150,
            forms=("claim", "corrected") if quantity == "surrogate" else ("claim",),
        )
        for direction, rule in (("in training", growth.throughout), ("with depth", growth.with_layer))
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
            forms=("claim",),  # the corrected surrogate is bounded
        )
        for name, quantity, law in (
            ("surrogate", "surrogate", "exponential"),
            ("TL", "target_linearity", "logarithmic"),
        )
    ),
    growth.chance_statement(QUOTE, "Appendix B.5"),
)
