"""Training a convolutional network with the whitened gradient matches gradient descent.

On SVHN, CIFAR-10 and CIFAR-100 the final test accuracy is at most one percentage point below that of SGD with momentum.
The paper names no margin; this one is ours. Quick scale: 8 x 8 digits in place of CIFAR-10 only.
"""

from tasks.papers.weight_gram.claims.shared.whitening import QUANTITIES as QUANTITIES
from tasks.papers.weight_gram.claims.shared.whitening import draw as draw
from tasks.papers.weight_gram.claims.shared.whitening import rule as rule

ID = "A.fig6"
KIND = "statistical"
TITLE = "The whitened update trains a convolutional network as well"
PRINTED = "“negligible difference”, Figure 6"
