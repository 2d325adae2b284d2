"""Measures of any ``torch.nn.Module``: feature matrices of its layers, and comparisons of matrices and features."""
