"""The last features of an MLP collapse while its loss falls; with a small initialisation the NFA holds at the end.

On each data set S_W/S_T falls (S_B/S_T, which is 1 minus it, rises), and so does the loss. The NFA is the Pearson
correlation of W^T W with the square root of the AGOP, averaged over the five layers. It must exceed that of random
matrices of the same spectra; beside it stand its rise in training and, on MNIST itself, the printed level.
"""

from tasks.papers.neural_collapse.claims.shared.last_features import draw as draw
from tasks.papers.neural_collapse.claims.shared.last_features import printed_nfa, statements
from tasks.papers.neural_collapse.claims.shared.trained import INTERPOLATION

ID = "D.fig10"
KIND = "statistical"
TITLE = "The NFA and the collapse of the last features of an MLP"
NFA, DEVIATION = 0.74, 0.13  # at the end of training, over layers and seeds
PRINTED_FOR = "MNIST"  # data set
PRINTED = f"NFA {NFA} ± {DEVIATION} (MLP, MNIST), Section 5; Figure 10"
MATH = (
    r"\frac{\operatorname{tr} \Sigma_W}{\operatorname{tr} \Sigma_T} \text{ and the loss fall with } t",
    (
        r"\rho\left( W_l^\top W_l,\; \sqrt{\text{AGOP}_l} \right) = 0.74 \pm 0.13 \quad\text{at the end, "
        r"mean over layers}"
    ),
)
STATEMENTS = (*statements(10), printed_nfa(NFA, DEVIATION, PRINTED_FOR, "MLP"))
HYPOTHESES = (INTERPOLATION,)
