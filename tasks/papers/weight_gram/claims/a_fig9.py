"""With Adam too, surrogate and Target Linearity (lambda = 0) grow throughout training and with the layer's index.

"A consistent pattern for various optimizers": judged by the rule of A.fig4, its laws of growth and all.
"""

from tasks.papers.weight_gram.claims.shared.a_fig4_figure import draw as draw
from tasks.papers.weight_gram.claims.shared.rules import growth as rule

__all__ = ["rule"]

ID = "A.fig9"
KIND = "statistical"
TITLE = "Surrogate and Target Linearity grow under Adam too"
PRINTED = "“a consistent pattern”, Figure 9"
QUANTITIES = ("surrogate", "target_linearity")
