"""A.fig6: a CNN's test accuracy along training by SGD, by its whitened update, and by the removed part.

Three convolutions of 16 channels with 2 x 2 kernels, SGD 0.01 with momentum 0.95, 20 epochs; the batch size is that of
the authors' code. Neither Appendix B.2 nor the caption names the data sets: we take those of Section 2 in colour.
"""

from tasks.papers.weight_gram.experiments.shared.whitening import whitening as measure

__all__ = ["measure"]
