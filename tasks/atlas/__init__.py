"""The atlas: which law of the weights holds for which networks. docs/atlas.md explains it."""
