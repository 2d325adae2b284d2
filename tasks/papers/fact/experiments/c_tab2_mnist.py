"""C.tab2.MNIST: 5,000 and 60,000 digits of MNIST; the first layer after training."""

from tasks.papers.fact.experiments.shared.correlations import first_layer

measure = first_layer
