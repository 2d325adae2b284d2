"""C.tab2: 1,000 and 2,000 digits of MNIST; the first layer after training.

The paper does not print the scale of the pixels or the factor of the loss. No reading comes near the print at n = 1K:
in a direction that no sample has (a fifth of the pixels are 0 in all samples), W only decays. In 3,200 steps it decays
to exp(-0.1/2 x 3200 x 0.0001 / (1 - 0.9)) = 0.85 of its initial value. So for any loss and depth W^T W keeps an initial
part that FACT lacks. With pixels in [0, 1] or standardised, mean or sum over classes, and 2 or 3 hidden layers (one
seed each) FACT is at -.23 to .40, symmetric FACT .45 to .67, root AGOP .31 to .75, root eNFA .30 to .65; with 1,000
epochs, which the text does not say, they are at .64, .77, .70 and .66. Here pixels are in [0, 1], the loss is torch's
mean, and the depth is as in Appendix C.
"""

from tasks.papers.fact.experiments.shared.correlations import first_layer

measure = first_layer
