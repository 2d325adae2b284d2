"""Judge the atlas's table: which law wins which cell."""
