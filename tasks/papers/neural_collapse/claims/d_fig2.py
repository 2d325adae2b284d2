"""In the last five hidden layers of a ResNet most of the fall of NC1 is due to S V^T, and less to U and the ReLU.

W = U S V^T is a layer's weight. NC1 is tr Sigma_W / tr Sigma_B, the scatter within classes divided by that between
them. We measure a fall in log NC1, after training, and sum it over the layers. Figure 2 shows two networks: (A) an MLP
on MNIST, the first row of Figure 7 (D.fig7), and (B) a ResNet on CIFAR-10, the second row of Figure 8. This claim is
about B. At the quick scale the network is smaller, and the data are 512 images of four digits, 8 x 8 pixels each. The
learning rate falls to 0 there; in the paper it is constant.

The paper says of this figure's networks that the ReLU does not lower NC1. U alone leaves NC1 as it is (D.svd), so we
ask that U with the ReLU raises NC1. On CIFAR-10 this statement decides, and on digits it is ours. The paper concludes
that the AGOP lowers NC1 too. If the NFA holds, S V^T acts like AGOP^{1/4}, so we ask that AGOP^{1/4} times each layer's
input has a lower NC1. The controls are the network before training, labels that are shuffled only when NC1 is measured,
and random right singular vectors.
"""

from tasks.papers.neural_collapse.claims.shared import denoising
from tasks.papers.neural_collapse.claims.shared.denoising import CONTROLS as CONTROLS
from tasks.papers.neural_collapse.claims.shared.denoising import draw as draw
from tasks.papers.neural_collapse.claims.shared.denoising import statements
from tasks.papers.neural_collapse.claims.shared.trained import INTERPOLATION, NFA

ID = "D.fig2"
KIND = "statistical"
TITLE = "Most of NC1's fall in a ResNet is due to the right singular structure"
PRINTED = "“decreases mostly between steps (1) and (2)”; “the ReLU does not directly reduce NC1”, Section 5; Figure 2"
MATH = denoising.MATH
DATA_SETS = ("CIFAR-10",)  # those of the run that the claim is about
STATEMENTS = statements(2, DATA_SETS)
HYPOTHESES = (INTERPOLATION, NFA)
