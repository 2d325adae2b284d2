"""Paper A: the weight Gram matrix and Target Linearity."""

LETTER = "A"
TITLE = "The Weight Gram Matrix Captures Sequential Feature Linearization in Deep Networks"
ARXIV = "2605.06258"
