"""C.tab2.CIFAR10: CIFAR-10 at two weight decays; the first layer after training."""

from tasks.papers.fact.experiments.shared.correlations import first_layer

measure = first_layer
