"""Kernel machines that learn features: kernels, their gradients and solves, and recursive feature machines."""
