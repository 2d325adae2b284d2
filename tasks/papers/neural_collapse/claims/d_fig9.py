"""In the last five hidden layers of VGG-11 most of the fall of NC1 is due to S V^T, and less to U and the ReLU.

W = U S V^T is a layer's weight. NC1 is tr Sigma_W / tr Sigma_B, the scatter within classes divided by that between
them. We measure a fall in log NC1, after training, and sum it over the layers. On each data set S V^T must take most of
it. The paper's initial weights are small, because then the neural feature ansatz (NFA) holds. We also measure the
correlation of W^T W with the root of the AGOP. At the quick scale the data are 512 images of four digits, enlarged to
16 x 16 pixels, and the network is smaller. The initial weights are not small there: Xavier's gain g is 0.6. The paper
has 0.3 (MNIST: 0.2), and torch's default is 0.58. The paper says of Figure 2's networks that the ReLU does not lower
NC1. A statement of ours asks that U with the ReLU raises NC1 here. The paper concludes that the AGOP lowers NC1 too. If
the NFA holds, S V^T acts like AGOP^{1/4}, so we ask that AGOP^{1/4} times each layer's input has a lower NC1. The
controls are those of D.fig2.
"""

from tasks.papers.neural_collapse.claims.shared import denoising
from tasks.papers.neural_collapse.claims.shared.denoising import CONTROLS as CONTROLS
from tasks.papers.neural_collapse.claims.shared.denoising import draw as draw
from tasks.papers.neural_collapse.claims.shared.denoising import statements
from tasks.papers.neural_collapse.claims.shared.trained import INTERPOLATION, NFA

ID = "D.fig9"
KIND = "statistical"
TITLE = "Most of NC1's fall in VGG-11 is due to the right singular structure"
PRINTED = "“decreases mostly between steps (1) and (2)”, Section 5; Figure 9"
MATH = denoising.MATH
STATEMENTS = statements(9)
HYPOTHESES = (INTERPOLATION, NFA)
