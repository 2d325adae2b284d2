"""Measurements and layers that several experiments of this paper share."""
