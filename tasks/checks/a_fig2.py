"""Training with the whitened gradient, which keeps the weight Gram's change and nothing else, matches gradient descent.

At every learning rate the final test accuracy is no worse, by more than one percentage point, than gradient descent's.
Here on MNIST (quick scale: 8 x 8 digits); the paper's SVHN, CIFAR-10 and CIFAR-100 are not judged.
"""

from tasks.rules.a import no_worse

ID = "A.fig2"
KIND = "statistical"
TITLE = "The whitened update trains as well as gradient descent"
PRINTED = "“matches or exceeds” on MNIST, Figure 2"
QUANTITIES = ("original/test_accuracy", "whitened/test_accuracy")
rule = no_worse
