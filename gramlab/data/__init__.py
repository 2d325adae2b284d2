"""Data sets: real images, a user's own images, and the papers' synthetic targets.

`prepare` makes a `DataSet` from the name of a source. `DataSet.save` and `save_sets` write one or several to a
safetensors file, `DataSet.load` reads one. Images are stored as integers, with the factor that scales them to [0, 1].
"""

from gramlab.data.dataset import DataError, DataSet, save_sets
from gramlab.data.sources import SOURCES, options_of, prepare
from gramlab.data.subset import Subset
from gramlab.data.transforms import random_labels, standardized, with_random_labels

__all__ = ["SOURCES", "DataError", "DataSet", "Subset", "options_of", "prepare", "random_labels", "save_sets",
           "standardized", "with_random_labels"]  # fmt: skip
