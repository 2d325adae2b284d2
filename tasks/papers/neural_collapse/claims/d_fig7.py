"""In the last five hidden layers of an MLP most of the fall of NC1 is due to S V^T, and less to U and the ReLU.

W = U S V^T is a layer's weight. NC1 is tr Sigma_W / tr Sigma_B, the scatter within classes divided by that between
them. We measure a fall in log NC1, after training, and sum it over the layers. On each data set S V^T must take most of
it. The initial weights are small, because then the neural feature ansatz (NFA) holds. At the quick scale the images are
digits of 8 x 8 pixels. The paper says of Figure 2's MLP on MNIST that the ReLU does not lower NC1. We ask that U with
the ReLU raises it, because no test shows that NC1 stays exactly the same. The paper concludes that the AGOP lowers NC1
too. If the NFA holds, S V^T acts like AGOP^{1/4}, so we ask that AGOP^{1/4} times each layer's input has a lower NC1.
The controls are those of D.fig2.
"""

from tasks.papers.neural_collapse.claims.shared import denoising
from tasks.papers.neural_collapse.claims.shared.denoising import CONTROLS as CONTROLS
from tasks.papers.neural_collapse.claims.shared.denoising import draw as draw
from tasks.papers.neural_collapse.claims.shared.denoising import statements
from tasks.papers.neural_collapse.claims.shared.trained import INTERPOLATION, NFA

ID = "D.fig7"
KIND = "statistical"
TITLE = "Most of NC1's fall in an MLP is due to the right singular structure"
PRINTED = "“decreases mostly between steps (1) and (2)”, Section 5; Figure 7"
MATH = denoising.MATH
STATEMENTS = statements(7)
HYPOTHESES = (INTERPOLATION, NFA)
