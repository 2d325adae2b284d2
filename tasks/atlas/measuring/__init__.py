"""Train the networks of a cell and score the laws on them."""
