"""gramlab against the code of the papers' authors: one network and one data set through both.

    python -m benchmarks.authors FOLDER [--out reports/authors.json]

FOLDER holds your checkouts under their names: GramLin, centered_NFA, neural_collapse_rfm, recursive_feature_machines,
rfm-grokking, xRFM. This repository holds nothing of them. docs/authors.md says how to get them, and what came out.
"""
