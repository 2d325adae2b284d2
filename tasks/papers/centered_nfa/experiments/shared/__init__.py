"""Measurements and instances that several experiments of this paper share."""
