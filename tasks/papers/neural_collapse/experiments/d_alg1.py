"""D.alg1: gramlab.DeepRFM against Algorithm 1 written out, layer by layer.

The reference computes kernels entry by entry and Jacobians by autograd. Each layer starts from DeepRFM's output of the
layer before, so that the residual shows the error of this layer alone. The inner products of random features must be
the values of their kernel.
"""

import warnings
from collections.abc import Iterator
from itertools import product

import numpy as np
import torch
from torch import Tensor

from gramlab import DeepRFM
from gramlab.kernels.deep import DeepLayer
from gramlab.kernels.solve import SingularKernel
from gramlab.streams import stream
from tasks.settings.simulation import Simulation


class Settings(Simulation):
    """``instances`` counts data sets for each kernel, kind of features and precision."""


KINDS = tuple(product(("laplace", "gaussian"), ("relu", "fourier")))
DTYPES = (torch.float64, torch.float32)
BANDWIDTH, SCALE, CLASSES, LAYERS, WIDTH = 0.5, 0.05, 3, 2, 20
RIDGE = 1e-3  # of the control on the last coefficients
RAW, WHOLE, ZEROS = "control: data not normalised", "control: M instead of its root", "control: labels 0 and 1"
OTHER = "control: features of another kernel"
COORDINATES, UNPROJECTED = "control: coordinates normalised", "control: features of the data before the root"
RIDGED = "control: a ridge in the last machine"


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: residuals of M, of the data after M^{1/2}, of features and of the last dual weights; random features.

    M is compared with the printed sum over samples (``claim``) and with the mean over them (``corrected``).
    """
    for instance in range(settings.instances):
        for kernel, features in KINDS:
            for dtype in DTYPES:
                name = str(dtype).removeprefix("torch.")
                rows = fitted(kernel, features, dtype, instance)
                labels = {"case": f"{kernel}, {features}", "dtype": name, "seed": instance}
                yield from ({**labels, **row} for row in rows)
    for features in ("relu", "fourier"):
        yield from random_features(features, settings.instances)


def clusters(name: str, instance: int) -> tuple[np.ndarray, np.ndarray]:
    """15 points (n, d) of three classes, and their labels."""
    draw = stream("d_alg1", name, instance)
    y = np.arange(15) % CLASSES
    return 0.5 * (draw.normal(size=(15, 6)) + draw.normal(size=(CLASSES, 6))[y]), y


def fitted(kernel: str, features: str, dtype: torch.dtype, instance: int) -> Iterator[dict]:
    """Rows of one fitted DeepRFM, compared with each step of Algorithm 1."""
    X, y = clusters(f"{kernel}, {features}", instance)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SingularKernel)  # these kernels are regular, so a larger ridge is an error
        model = DeepRFM(LAYERS, kernel=kernel, bandwidth=BANDWIDTH, features=features, n_features=WIDTH, scale=SCALE,
                        seed=instance, dtype=str(dtype).removeprefix("torch.")).fit(X, y)  # fmt: skip
    codes = torch.from_numpy(np.where(y[:, None] == np.arange(CLASSES), 1.0, -1.0)).to(dtype)
    before = torch.from_numpy(X).to(dtype)
    for number, (layer, stages) in enumerate(zip(model.layers_, model.stages(X), strict=True), 1):
        data, projected, mapped = (torch.from_numpy(stage) for stage in stages)
        for row in compared(layer, kernel, before, codes, data, projected, mapped):
            yield {"layer": str(number), **row}
        before = mapped
    last = before / before.norm(dim=1, keepdim=True)
    K = kernel_matrix(last, kernel)
    size = len(K) * float(torch.linalg.cond(K.double()))
    for arm, ridge in (("claim", 0.0), (RIDGED, RIDGE)):
        alpha = torch.linalg.solve(K + ridge * torch.eye(len(K), dtype=dtype), codes)
        gap = float((torch.from_numpy(model.dual_coef_) - alpha).norm() / alpha.norm()) / size
        yield {"arm": arm, "layer": "last", "quantity": "alg1/dual", "value": gap}


def compared(
    layer: DeepLayer, kernel: str, before: Tensor, codes: Tensor, data: Tensor, projected: Tensor, mapped: Tensor
) -> Iterator[dict]:
    """Rows of a layer. It normalises ``before`` to ``data``; M^{1/2} gives ``projected`` and Phi gives ``mapped``."""
    assert layer.root is not None
    x = before / before.flip(1).square().sum(1, keepdim=True).sqrt()
    agop = layer.root @ layer.root
    inputs = {"corrected": (x, codes), RAW: (before, codes), ZEROS: (x, (codes + 1) / 2)}
    for arm, (points, labels) in inputs.items():
        M, size = reference_agop(points, labels, kernel)
        yield {"arm": arm, "quantity": "alg1/agop", "value": float((agop - M).norm()) / size}
        if arm == "corrected":
            n = len(x)  # the printed sum and its round-off are n times those of the mean
            yield {"arm": "claim", "quantity": "alg1/agop", "value": float((agop - n * M).norm()) / (n * size)}
            for root_arm, root in (("claim", layer.root), (WHOLE, agop)):
                # compares the inner products x^T M x, which need no root
                gap = float(((x @ root) @ (x @ root).mT - x @ M @ x.mT).norm()) / (float(x.norm()) ** 2 * size)
                yield {"arm": root_arm, "quantity": "alg1/projected", "value": gap}
    for arm, inputs_of_map in (("claim", projected), (UNPROJECTED, x)):
        # summed in another order, so that it is an independent computation
        z = inputs_of_map.flip(1) @ layer.weight.flip(1).mT
        expected = z.clamp_min(0) if layer.shift is None else (2 / WIDTH) ** 0.5 * torch.cos(z + layer.shift)
        round_off = WIDTH * (float(inputs_of_map.norm() * layer.weight.norm()) + float(mapped.norm()))
        yield {"arm": arm, "quantity": "alg1/features", "value": float((mapped - expected).norm()) / round_off}
    scaled = before / before.norm(dim=0).clamp_min(torch.finfo(before.dtype).tiny)
    for arm, normalised in (("claim", x), (COORDINATES, scaled)):
        residual = float((data - normalised).norm() / normalised.norm()) / x.shape[1]
        yield {"arm": arm, "quantity": "alg1/normalised", "value": residual}


def kernel_value(a: Tensor, b: Tensor, kernel: str) -> Tensor:
    """The kernel of two points."""
    square = (a - b).square().sum()
    return torch.exp(-square.sqrt() / BANDWIDTH) if kernel == "laplace" else torch.exp(-square / (2 * BANDWIDTH**2))


def kernel_matrix(x: Tensor, kernel: str) -> Tensor:
    """The kernel matrix (n, n), entry by entry."""
    K = torch.eye(len(x), dtype=x.dtype)
    for i, j in product(range(len(x)), range(len(x))):
        if i != j:
            K[i, j] = kernel_value(x[i], x[j], kernel)
    return K


def reference_agop(x: Tensor, codes: Tensor, kernel: str) -> tuple[Tensor, float]:
    """M by the definition in Section 3.3, the mean over samples, and the size of its round-off."""
    n, K = len(x), kernel_matrix(x, kernel)
    alpha = torch.linalg.solve(K, codes)
    condition = float(torch.linalg.cond(K.double()))
    M, terms = x.new_zeros(x.shape[1], x.shape[1]), 0.0
    for i in range(n):
        # without i = j, where the Laplace kernel has no gradient and that of the Gaussian kernel is 0
        p = x[i].clone().requires_grad_()
        gradients = [
            torch.autograd.grad(kernel_value(p, x[j], kernel), p)[0] if j != i else torch.zeros_like(p)
            for j in range(n)
        ]
        J = torch.stack(gradients).mT @ alpha
        M += J @ J.mT / n
        terms += float(torch.stack(gradients).norm() * alpha.norm()) ** 2 / n
    return M, n * condition * terms


def random_features(features: str, instances: int) -> Iterator[dict]:
    """Rows: the inner product of two points' random features, in standard errors from the kernel's value."""
    for instance in range(10 * instances):
        X, y = clusters(f"drawn {features}", instance)
        scale = 0.5  # where the Gaussian kernel differs much from the Laplace kernel
        model = DeepRFM(1, features=features, n_features=4000, scale=scale, agop=False, seed=instance).fit(X, y)
        x, _, mapped = next(iter(model.stages(X)))
        products = mapped[0] * mapped[1] * (len(mapped[0]) if features == "fourier" else 1)
        r = float(np.clip(x[0] @ x[1], -1, 1))
        arc_cosine = (np.sqrt(1 - r * r) + r * (np.pi - np.arccos(r))) / (2 * np.pi)
        laplace = float(np.exp(-scale * np.abs(x[0] - x[1]).sum()))
        gaussian = float(np.exp(-(scale**2) * ((x[0] - x[1]) ** 2).sum() / 2))
        expected = {"claim": arc_cosine, OTHER: r / 2} if features == "relu" else {"claim": laplace, OTHER: gaussian}
        error = float(products.std(ddof=1)) / len(products) ** 0.5
        for arm, value in expected.items():
            yield {"arm": arm, "case": features, "dtype": "float64", "seed": instance, "quantity": "alg1/away",
                   "value": (float(products.mean()) - value) / error}  # fmt: skip
