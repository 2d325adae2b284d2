"""Data sets: real images, a user's own images, and the papers' synthetic targets.

``prepare`` makes a DataSet from a source's name; ``DataSet.save`` and ``DataSet.load`` keep it in one
safetensors file, ``save_sets`` several. Images are stored as integers with the factor that brings them to [0, 1].
"""

from gramlab.data.dataset import DataError, DataSet, save_sets
from gramlab.data.select import Select, random_labels, with_random_labels
from gramlab.data.sources import SOURCES, options_of, prepare

__all__ = ["SOURCES", "DataError", "DataSet", "Select", "options_of", "prepare", "random_labels", "save_sets",
           "with_random_labels"]  # fmt: skip
