"""A.fig4: surrogate and Target Linearity of every hidden layer along training by SGD, and of random features.

Four hidden layers of 256 GELU units, SGD 0.005, 100 epochs. The batch size is not printed and comes from the authors'
code, which trains with a learning rate of 0.0005 and a momentum of 0.8 (see a_differences).

The variants "momentum" have the momentum 0.95 of the authors' code for Figure 12.

Quick scale: 1438 digits give 90 steps an epoch instead of CIFAR-10's 782, and there are fewer epochs, so the steps are
larger. Without momentum the rate is 20 times the printed one. With momentum it is the printed one: a constant gradient
moves the weights by 1/(1 - 0.95) = 20 times the rate, so this is as fast.
"""

from tasks.papers.weight_gram.experiments.shared.growth import growth as measure

__all__ = ["measure"]
