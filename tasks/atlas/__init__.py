"""The atlas: which law for the weights holds where. docs/atlas.md explains it."""
