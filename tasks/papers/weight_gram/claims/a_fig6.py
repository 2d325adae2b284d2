"""Training a convolutional network with the whitened gradient gives the same test accuracy as gradient descent.

We compare a network's best test accuracy over the epochs. We read “negligible” as: within 0.01. The paper does not say
on which data sets it trained these networks. We take the colour images of Section 2: SVHN, CIFAR-10 and CIFAR-100.
"""

from functools import partial

from tasks.judging.statement import Control, Statement
from tasks.papers.weight_gram.claims.shared import whitening

ID = "A.fig6"
KIND = "statistical"
TITLE = "The whitened update trains a convolutional network as well as gradient descent"
PRINTED = "“negligible difference”, Figure 6"
MATH = (
    r"W^+ = U V^\top (W - \gamma G), \quad W (W - \gamma G)^\top = U S V^\top",
    r"\max_t \text{accuracy}_t(\text{whitened}) \approx \max_t \text{accuracy}_t(\text{gradient descent})",
)
CONTROLS = {
    "only the removed part": Control(
        text="The networks train with the part of the gradient that whitening removes, in place of the whitened "
        "gradient.",
        equal_quantities=("original/test_accuracy",),
        equal_because="The control replaces the whitened update alone; gradient descent is the same run.",
    ),
}
STATEMENTS = (
    Statement(
        name="negligible difference",
        quote="negligible difference between original SGD and Gram-whitened SGD, similar to fully connected neural "
        "network case",
        place="Appendix B.2",
        rule=whitening.negligible,
        reads=whitening.READS,
        rows=50,
    ),
)

draw = partial(whitening.draw, margin=whitening.MARGIN)
