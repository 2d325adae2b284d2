"""The commands of ``gramlab`` that only a clone has; pyproject.toml names them."""
