"""Paper B: the centered NFA and its random-matrix prediction."""

LETTER = "B"
TITLE = (
    "Gradient descent induces alignment between weights and the pre-activation tangents for deep non-linear networks"
)
ARXIV = "2402.05271"
