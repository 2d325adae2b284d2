"""Claims of this paper: one file holds a statement, its printed numbers, its rule and its figure."""
