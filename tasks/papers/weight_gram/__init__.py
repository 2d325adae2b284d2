"""Paper A: the weight Gram matrix and Target Linearity. Holds the numbers that both claims and experiments need."""

LETTER = "A"
TITLE = "The Weight Gram Matrix Captures Sequential Feature Linearization in Deep Networks"
ARXIV = "2605.06258"

VIRTUAL_STEP = 700.0  # A.fig1: the step of the virtual update in the authors' figure script; the paper prints no number
EPOCHS_TO_BEST = 5  # A.fig2: the whitened update reaches gradient descent's best test accuracy within these epochs
