"""D.alg1: gramlab.DeepRFM by layer against Algorithm 1 written out: kernels entry by entry, Jacobians by autograd.

Each layer starts from DeepRFM's own output of the layer before, so that its error alone is measured. What is random in
it is tested as such: inner products of drawn features against the kernels that they are the features of.
"""

import warnings
from collections.abc import Iterator
from itertools import product

import numpy as np
import torch
from torch import Tensor

from gramlab import DeepRFM
from gramlab.kernels.solve import SingularKernel
from gramlab.streams import stream
from tasks.settings.simulation import Simulation

KINDS = tuple(product(("laplace", "gaussian"), ("relu", "fourier")))
DTYPES = (torch.float64, torch.float32)
BANDWIDTH, SCALE, CLASSES, LAYERS, WIDTH = 0.5, 0.05, 3, 2, 20
RAW, WHOLE, ZEROS = "control: data not normalised", "control: M instead of its root", "control: labels 0 and 1"
OTHER = "control: features of another kernel"


class Settings(Simulation):
    """Settings of this experiment."""


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: residuals of M, of the data after M^{1/2}, of features and of the last dual weights; drawn features."""
    for instance in range(settings.instances):
        for kernel, features in KINDS:
            for dtype in DTYPES:
                yield from compared(kernel, features, dtype, instance)
    for features in ("relu", "fourier"):
        yield from drawn(features, settings.instances)


def clusters(name: str, instance: int) -> tuple[np.ndarray, np.ndarray]:
    """15 points (n, d) of three classes, and their labels."""
    draw = stream("d_alg1", name, instance)
    y = np.arange(15) % CLASSES
    return 0.5 * (draw.normal(size=(15, 6)) + draw.normal(size=(CLASSES, 6))[y]), y


def compared(kernel: str, features: str, dtype: torch.dtype, instance: int) -> Iterator[dict]:
    """One fit, against each step of Algorithm 1."""
    name = str(dtype).removeprefix("torch.")
    X, y = clusters(f"{kernel}, {features}", instance)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SingularKernel)  # these kernels are regular: a larger ridge would be an error
        model = DeepRFM(LAYERS, kernel=kernel, bandwidth=BANDWIDTH, features=features, n_features=WIDTH, scale=SCALE,
                        seed=instance, dtype=name).fit(X, y)  # fmt: skip
    case = {"case": f"{kernel}, {features}", "dtype": name}
    codes = torch.from_numpy(np.where(y[:, None] == np.arange(CLASSES), 1.0, -1.0)).to(dtype)
    before = torch.from_numpy(X).to(dtype)
    for number, (layer, stages) in enumerate(zip(model.layers_, model.stages(X), strict=True), 1):
        data, projected, mapped = (torch.from_numpy(one) for one in stages)
        x = before / before.flip(1).square().sum(1, keepdim=True).sqrt()
        weight, shift = layer.weight, layer.shift
        assert layer.root is not None
        found = layer.root @ layer.root
        about = {**case, "layer": str(number)}
        inputs = {"claim": (x, codes), RAW: (before, codes), ZEROS: (x, (codes + 1) / 2)}
        for arm, (points, labels) in inputs.items():
            M, size, _ = written_out(points, labels, kernel)
            yield {**about, "arm": arm, "quantity": "alg1/agop", "value": float((found - M).norm()) / size}
            if arm == "claim":
                for name_of, root in ((arm, layer.root), (WHOLE, found)):
                    # by inner products, for which no root is needed: x^T M x
                    gap = float(((x @ root) @ (x @ root).mT - x @ M @ x.mT).norm()) / (float(x.norm()) ** 2 * size)
                    yield {**about, "arm": name_of, "quantity": "alg1/projected", "value": gap}
        # in another order of summing, so that it is a computation of its own
        z = projected.flip(1) @ weight.flip(1).mT
        right = z.clamp_min(0) if shift is None else (2 / WIDTH) ** 0.5 * torch.cos(z + shift)
        rounded = WIDTH * (float(projected.norm() * weight.norm()) + float(mapped.norm()))
        yield {**about, "arm": "claim", "quantity": "alg1/features", "value": float((mapped - right).norm()) / rounded}
        scaled = float((data - x).norm() / x.norm()) / x.shape[1]
        yield {**about, "arm": "claim", "quantity": "alg1/normalised", "value": scaled}
        before = mapped
    last = before / before.norm(dim=1, keepdim=True)
    _, _, (alpha, condition) = written_out(last, codes, kernel)
    gap = float((torch.from_numpy(model.dual_coef_) - alpha).norm() / alpha.norm()) / (len(alpha) * condition)
    yield {**case, "arm": "claim", "layer": "last", "quantity": "alg1/dual", "value": gap}


def written_out(x: Tensor, codes: Tensor, kernel: str) -> tuple[Tensor, float, tuple[Tensor, float]]:
    """M, a length for its round-off, and the dual weights with the kernel's condition."""

    def k(a: Tensor, b: Tensor) -> Tensor:
        square = (a - b).square().sum()
        return torch.exp(-square.sqrt() / BANDWIDTH) if kernel == "laplace" else torch.exp(-square / (2 * BANDWIDTH**2))

    n = len(x)
    K = torch.eye(n, dtype=x.dtype)
    for i, j in product(range(n), range(n)):
        if i != j:
            K[i, j] = k(x[i], x[j])
    alpha = torch.linalg.solve(K, codes)
    condition = float(torch.linalg.cond(K.double()))
    M, terms = x.new_zeros(x.shape[1], x.shape[1]), 0.0
    for i in range(n):
        p = x[i].clone().requires_grad_()  # Laplace's own center has no gradient and Gaussian's is 0: left out
        slopes = [torch.autograd.grad(k(p, x[j]), p)[0] if j != i else torch.zeros_like(p) for j in range(n)]
        J = torch.stack(slopes).mT @ alpha
        M += J @ J.mT / n
        terms += float(torch.stack(slopes).norm() * alpha.norm()) ** 2 / n
    return M, n * condition * terms, (alpha, condition)


def drawn(features: str, instances: int) -> Iterator[dict]:
    """Inner products of many features of two points, in standard errors from the kernel that they are drawn for."""
    for instance in range(10 * instances):
        X, y = clusters(f"drawn {features}", instance)
        scale = 0.5  # at which the Gaussian kernel's features would be far off
        model = DeepRFM(1, features=features, n_features=4000, scale=scale, agop=False, seed=instance).fit(X, y)
        x, _, mapped = next(iter(model.stages(X)))
        products = mapped[0] * mapped[1] * (len(mapped[0]) if features == "fourier" else 1)
        r = float(np.clip(x[0] @ x[1], -1, 1))
        arc = (np.sqrt(1 - r * r) + r * (np.pi - np.arccos(r))) / (2 * np.pi)
        laplace = float(np.exp(-scale * np.abs(x[0] - x[1]).sum()))
        gaussian = float(np.exp(-(scale**2) * ((x[0] - x[1]) ** 2).sum() / 2))
        expected = {"claim": arc, OTHER: r / 2} if features == "relu" else {"claim": laplace, OTHER: gaussian}
        error = float(products.std(ddof=1)) / len(products) ** 0.5
        for arm, value in expected.items():
            yield {"arm": arm, "case": features, "dtype": "float64", "seed": instance, "quantity": "alg1/away",
                   "value": (float(products.mean()) - value) / error}  # fmt: skip
