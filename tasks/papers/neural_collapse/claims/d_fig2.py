"""In the last five hidden layers of a ResNet most of the fall of NC1 is due to S V^T, and less to U and the ReLU.

W = U S V^T is a layer's weight, NC1 is tr Sigma_W / tr Sigma_B, and a fall is that of log NC1 after training, summed
over the layers. Figure 2 shows an MLP on MNIST (A), which is the first row of Figure 7 (D.fig7), and a ResNet on
CIFAR-10 (B), the second row of Figure 8. This claim is about B. At the quick scale the data are 512 images of four
digits, 8 x 8 pixels each, the network is smaller, and the learning rate falls to 0; it is constant in the paper. The
paper says of this figure's networks that the ReLU does not lower NC1. We ask that U with the ReLU raises NC1; U alone
leaves NC1 as it is (D.svd). On CIFAR-10 this statement decides, and on digits it is ours. The paper concludes that the
AGOP lowers NC1 too. If the NFA holds, S V^T acts like AGOP^{1/4}, so we ask that AGOP^{1/4} times each layer's input
has a lower NC1. The controls are the network before training, labels that are shuffled only when NC1 is measured, and
random right singular vectors.
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
