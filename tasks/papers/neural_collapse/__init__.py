"""Paper D: AGOP and deep neural collapse."""

LETTER = "D"
TITLE = "Average gradient outer product as a mechanism for deep neural collapse"
ARXIV = "2402.13728"
