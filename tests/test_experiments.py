"""What experiments draw, at more instances than the quick scale has."""

import torch

from tasks.experiments.architectures import layers, random_case


def test_float32_holds_the_gradients_of_every_random_network():
    """Cubes of cubes once gave gradients of 1e22, whose products float32 does not hold (instance 17)."""
    for instance in range(20):
        for name, layer in layers(random_case(instance), torch.float32).items():
            shift = layer.weight_gradient.T @ layer.weight_gradient - layer.h_gradient @ layer.h_gradient.T
            assert shift.isfinite().all(), (instance, name)
            assert layer.roundoff() < float("inf")
