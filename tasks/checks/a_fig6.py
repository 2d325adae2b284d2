"""Training a convolutional network with the whitened gradient matches gradient descent.

The final test accuracy is no worse, by more than one percentage point, than that of SGD with momentum. Here on CIFAR-10
(quick scale: 8 x 8 digits); the paper's figure has SVHN and CIFAR-100 too.
"""

from tasks.rules.a import no_worse

ID = "A.fig6"
KIND = "statistical"
TITLE = "The whitened update trains a convolutional network as well"
PRINTED = "“negligible difference”, Figure 6"
QUANTITIES = ("original/test_accuracy", "whitened/test_accuracy")
rule = no_worse
