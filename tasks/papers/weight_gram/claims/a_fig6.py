"""Training a convolutional network with the whitened gradient matches gradient descent.

The final test accuracy is no worse, by more than one percentage point (a margin of ours), than that of SGD with
momentum, on SVHN, CIFAR-10 and CIFAR-100 (quick scale: 8 x 8 digits in CIFAR-10's place alone).
"""

from tasks.papers.weight_gram.claims.shared.a_fig2_figure import draw as draw
from tasks.papers.weight_gram.claims.shared.rules import no_worse

ID = "A.fig6"
KIND = "statistical"
TITLE = "The whitened update trains a convolutional network as well"
PRINTED = "“negligible difference”, Figure 6"
QUANTITIES = ("original/test_accuracy", "whitened/test_accuracy")
rule = no_worse
