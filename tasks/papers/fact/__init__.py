"""Paper C: FACT and FACT-RFM."""

LETTER = "C"
TITLE = "FACT: the Features At Convergence Theorem for neural networks"
ARXIV = "2507.05644"
