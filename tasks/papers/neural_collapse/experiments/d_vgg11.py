"""D.fig9, D.fig12: NC1 through the parts of the head of VGG-11, and the NFA, along training.

The initialisation is g = 0.3, on MNIST 0.2. VGG-11 is cut where the paper says; the authors' code cuts it before the
fourth max-pool and pools to 4 x 4. The quick scale has g = 0.6 on digits, 1,024 steps, and an eighth of the width.

The quick scale also multiplies the variances of the convolutions by 2.5, which keeps the size of the signal. Images
have 16 x 16 pixels, and He's rule by fan-out counts nine places, but the last two convolutions see only one. Without
the factor the signal falls to 0.02 at the head; ResNet-18 has 1.3. With a factor of 1.7 (signal 0.16) one of
three seeds with small initialisation trained (losses 0.74, 0.02, 0.25), and none at a learning rate of 0.1 (1, 0.75,
1). With 2.5 (signal 0.8) all three trained, and two at a rate of 0.06 (0.02, 0.20, 0.004).
"""

from tasks.papers.neural_collapse.experiments.shared.collapse import collapse as measure

__all__ = ["measure"]
