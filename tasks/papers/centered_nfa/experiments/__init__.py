"""Experiments of this paper: one file holds the settings of an experiment and what it measures."""
