"""Whether learned features help: the test error of a network against its kernel frozen at initialisation."""

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap
from torch.nn import functional as F

from gramlab.data import DataSet
from gramlab.nets.models import samples_for

RIDGES = tuple(10.0**power for power in range(-8, 3))  # relative to the mean eigenvalue; leave-one-out chooses


def kernel_error(model: nn.Module, data: DataSet) -> float:
    """Test error of ridge regression with the tangent kernel of a network, K = (1/c) Σ_c J_c(x) J_c(x')ᵀ.

    The regression learns the targets (one-hot for classes), as training would with fixed features. All outputs share
    one ridge, with the smallest leave-one-out error on the training samples.

    Parameters
    ----------
    model : nn.Module
        The network at initialisation, in float64.
    data : DataSet

    Returns
    -------
    float
        See `error_on_test`.
    """
    x_train, x_test = (samples_for(model, data.scaled(x, torch.float64)) for x in (data.x_train, data.x_test))
    J_train, J_test = tangents(model, x_train), tangents(model, x_test)
    c = J_train.shape[1]
    K, K_test = (J.flatten(1) @ J_train.flatten(1).mT / c for J in (J_train, J_test))
    y = F.one_hot(data.y_train, data.classes).double() if data.classes else data.y_train.double().reshape(len(K), -1)
    mean = y.mean(0)
    values, vectors = torch.linalg.eigh(K)
    coefficients = vectors.mT @ (y - mean)
    best: tuple[float, Tensor] | None = None
    for ridge in RIDGES:
        inverse = 1 / (values.clamp_min(0.0) + ridge * values.mean())
        alpha = (vectors * inverse) @ coefficients
        left_out = alpha / ((vectors.square() * inverse).sum(1))[:, None]  # y_i minus the prediction without sample i
        error = float(left_out.square().mean())
        if best is None or error < best[0]:
            best = error, alpha
    assert best is not None
    return error_on_test(K_test @ best[1] + mean, data)


def tangents(model: nn.Module, x: Tensor) -> Tensor:
    """∂f/∂θ of every sample and output, (n, c, parameters)."""
    parameters = {name: value.detach() for name, value in model.named_parameters()}
    jacobian = jacrev(lambda values, sample: functional_call(model, values, (sample[None],))[0])
    parts = []
    for samples in x.split(64):
        jacobians = vmap(jacobian, in_dims=(None, 0))(parameters, samples)
        parts.append(torch.cat([value.flatten(2) for value in jacobians.values()], 2))
    return torch.cat(parts)


def error_on_test(outputs: Tensor, data: DataSet) -> float:
    """The share of misclassified test samples; for numbers the mean squared error over their variance."""
    if data.classes:
        return float((outputs.argmax(1) != data.y_test).double().mean())
    y = data.y_test.double().reshape(outputs.shape)
    return float((outputs - y).square().mean() / (y - y.mean(0)).square().mean())
