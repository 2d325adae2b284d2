"""With Adam too, surrogate and Target Linearity (lambda = 0) grow throughout training and with the layer's index.

"A consistent pattern for various optimizers" is judged by the rule of A.fig4, including its two laws of growth, but
without the levels, which the paper does not print for Adam.
"""

from tasks.papers.weight_gram.claims.shared.growth import draw as draw
from tasks.papers.weight_gram.claims.shared.growth import rule as rule

ID = "A.fig9"
KIND = "statistical"
TITLE = "Surrogate and Target Linearity grow under Adam too"
PRINTED = "“a consistent pattern”, Figure 9"
QUANTITIES = ("surrogate", "target_linearity")
