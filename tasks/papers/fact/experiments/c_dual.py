"""Kernel machines at their optimum: C.lemF.1, C.lemF.2, C.prop5.1.

A kernel is g(s), where s is the squared distance or the inner product under M; its dual weights are
alpha = (K + r I)⁻¹ y for each reading of the ridge r. FACT and AGOP come from automatic differentiation of the loss and
of f at each sample, the other sides from the printed sums. Residuals are divided by (n + d), the system's condition
number, and the norms of the terms.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gramlab.kernels.functions import Kernel, fact
from gramlab.streams import stream
from tasks.papers.fact.experiments.shared.matrices import root
from tasks.settings.simulation import Simulation

Function = Callable[[Tensor], Tensor]
SHAPES = {"tall": (24, 4, 2), "wide": (7, 12, 1), "many outputs": (15, 6, 8), "two samples": (2, 3, 1)}  # n, d, c
POSITIVE, NUMBERS = "positive numbers", (4, 1, 1)  # samples of one coordinate, which is positive
LIBRARY = ("laplace", "gaussian", "exponential", "polynomial", "quadratic")
# inner-product kernels k and their k′. The power series of those in PSD have no negative coefficient, so that they are
# kernels in every dimension
PSD: dict[str, tuple[Function, Function]] = {
    "exp(t)": (torch.exp, torch.exp),
    "t^2": (torch.square, lambda t: 2 * t),
    "(t + 1)^3": (lambda t: (t + 1) ** 3, lambda t: 3 * (t + 1) ** 2),
    "1 / (8 - t)": (lambda t: 1 / (8 - t), lambda t: 1 / (8 - t) ** 2),
}
FALLING: dict[str, tuple[Function, Function]] = {
    "exp(-t)": (lambda t: torch.exp(-t), lambda t: -torch.exp(-t)),
    "1 / (1 + exp(t))": (lambda t: torch.sigmoid(-t), lambda t: -torch.sigmoid(t) * torch.sigmoid(-t)),
    "-t": (lambda t: -t, lambda t: -torch.ones_like(t)),
}
# functions that fall and yet are kernels on positive numbers: 1/(x M x') is a product of a function of x and one of x'
FALLING_KERNELS: dict[str, tuple[Function, Function]] = {"1 / t": (lambda t: 1 / t, lambda t: -1 / t.square())}
RISING: dict[str, tuple[Function, Function]] = {
    "tanh(t)": (torch.tanh, lambda t: 1 / torch.cosh(t) ** 2),
    "arctan(3t)": (lambda t: torch.atan(3 * t), lambda t: 3 / (1 + 9 * t * t)),
}
GAUSSIAN: tuple[Function, Function] = (lambda s: torch.exp(-s / 2), lambda s: -torch.exp(-s / 2) / 2)


@dataclass
class Machine:
    """A kernel machine: samples x (n, d), targets y (n, c), features M (d, d), the ridge lambda, the kernel g(s)."""

    case: str
    x: Tensor
    y: Tensor
    M: Tensor
    ridge: float
    g: Function
    radial: bool = False

    def to(self, dtype: torch.dtype) -> "Machine":
        return Machine(self.case, self.x.to(dtype), self.y.to(dtype), self.M.to(dtype), self.ridge, self.g, self.radial)

    def pairs(self, x: Tensor) -> Tensor:
        """The squared distance or the inner product of each row of x and each sample."""
        if not self.radial:
            return x @ self.M @ self.x.T
        differences = x[:, None] - self.x
        return torch.einsum("ija,ab,ijb->ij", differences, self.M, differences)

    def dual(self, diagonal: float) -> tuple[Tensor, float]:
        """(K + diagonal I)⁻¹ y, and the condition number of that matrix."""
        K = self.g(self.pairs(self.x)) + diagonal * torch.eye(len(self.x), dtype=self.x.dtype)
        return torch.linalg.solve(K, self.y), float(torch.linalg.cond(K))

    def values(self, x: Tensor, alpha: Tensor) -> Tensor:
        """f(x)."""
        return self.g(self.pairs(x)) @ alpha

    def fact(self, alpha: Tensor) -> Tensor:
        """-(1/(n lambda)) sum_i grad_x loss(f(x), y_i) x_i^T at x = x_i, where the loss is 1/2 ||f - y||^2."""
        x = self.x.clone().requires_grad_()
        loss = (self.values(x, alpha) - self.y).square().sum() / 2
        return -torch.autograd.grad(loss, x)[0].T @ self.x / (len(self.x) * self.ridge)

    def agop(self, alpha: Tensor) -> Tensor:
        """(1/n) times the sum over samples of the outer products of f's gradients."""
        x = self.x.clone().requires_grad_()
        f = self.values(x, alpha)
        gradients = [torch.autograd.grad(f[:, output].sum(), x, retain_graph=True)[0] for output in range(f.shape[1])]
        return sum(G.T @ G for G in gradients) / len(self.x)  # type: ignore[return-value]


class Settings(Simulation):
    """``instances`` counts machines of each kernel and shape."""


def measure(settings: Settings) -> Iterator[dict]:
    """Rows of the three claims."""
    for instance in range(settings.instances):
        for shape in SHAPES:
            for name in LIBRARY:
                yield from lemmas(name, shape, instance)
            for name, (k, slope) in {**PSD, **FALLING, **RISING}.items():
                yield from proposition(random_machine(name, shape, instance, k), slope, name)
            radial = random_machine("radial", shape, instance, GAUSSIAN[0], radial=True)
            yield from proposition(radial, GAUSSIAN[1], "radial")
        for name, (k, slope) in FALLING_KERNELS.items():
            yield from proposition(random_machine(name, POSITIVE, instance, k), slope, name)


def random_machine(name: str, shape: str, instance: int, g: Function, radial: bool = False) -> Machine:
    """Random samples, targets, features (of rank one in every third instance) and ridge."""
    draw = stream("c_dual", name, shape, instance)
    n, d, c = NUMBERS if shape == POSITIVE else SHAPES[shape]
    root = draw.normal(size=(1 if instance % 3 == 2 else d, d)) / d**0.5
    x, y = draw.normal(size=(n, d)), draw.normal(size=(n, c))
    x = np.exp(x) if shape == POSITIVE else x
    ridge = 10.0 ** draw.uniform(-1, 0) / n
    M = torch.from_numpy(root.T @ root)
    M /= 2 * torch.linalg.matrix_norm(M, 2)
    return Machine(f"{name}, {shape}, {instance}", torch.from_numpy(x), torch.from_numpy(y), M, ridge, g, radial)


def lemmas(name: str, shape: str, instance: int) -> Iterator[dict]:
    """C.lemF.1, FACT through the dual weights, and C.lemF.2, alpha_i = -loss'_i / (n lambda)."""
    kernel = Kernel(name, 1.5)
    g: dict[str, Function] = {
        # Laplace's kernel has no gradient at distance 0, and nothing is differentiated there
        "laplace": lambda s: torch.exp(-torch.sqrt(torch.where(s > 0, s, 1)) * (s > 0) / 1.5),
        "gaussian": lambda s: torch.exp(-s / (2 * 1.5**2)),
        "exponential": lambda t: torch.exp(t / 1.5**2),
        "polynomial": lambda t: (t / 1.5**2 + 1) ** 3,
        "quadratic": lambda t: (t / 1.5**2) ** 2,
    }
    double = random_machine(name, shape, instance, g[name], kernel.radial)
    n, d = double.x.shape
    for dtype in (torch.float64, torch.float32):
        machine = double.to(dtype)
        labels = {"case": machine.case, "dtype": str(dtype).removeprefix("torch.")}
        for arm, diagonal in (("claim", n * machine.ridge), ("control: ridge lambda", machine.ridge)):
            alpha, condition = machine.dual(diagonal)
            left, right = machine.fact(alpha), fact(kernel, machine.x, alpha, machine.M)
            size = (n + d) * condition * _fact_terms(kernel, machine, alpha)
            yield {**labels, "arm": arm, "quantity": "lemF1/residual", "value": float((left - right).norm()) / size}
        readings = {"claim": 1.0, "corrected": float(n), "control: ridge 2 n lambda": 2.0 * n}
        for arm, times in readings.items():
            alpha, condition = machine.dual(times * machine.ridge)
            slopes = machine.values(machine.x, alpha) - machine.y
            size = (n + d) * condition * float(alpha.norm())
            residual = float((alpha + slopes / (n * machine.ridge)).norm())
            yield {**labels, "arm": arm, "quantity": "lemF2/residual", "value": residual / size}


def _fact_terms(kernel: Kernel, machine: Machine, alpha: Tensor) -> float:
    """The sum of the norms of FACT's terms."""
    slopes = kernel.slopes(machine.x, machine.x, machine.M).abs() * float(torch.linalg.matrix_norm(machine.M, 2))
    norms, weights = machine.x.norm(dim=1), alpha.norm(dim=1)
    reach = 2 * (norms[:, None] + norms) if kernel.radial else norms.expand(len(norms), -1)
    return float(((slopes * reach) @ weights) @ (weights * norms))


def proposition(double: Machine, slope: Function, name: str) -> Iterator[dict]:
    """C.prop5.1: both printed sums against autograd, the update of M, and FACT M^T's negative eigenvalues."""
    falling = {**FALLING, **FALLING_KERNELS}
    arms = ["claim"] if name in falling else ["claim", "corrected"]
    psd_arms = {**dict.fromkeys(PSD, "corrected"), **dict.fromkeys(falling, "claim")}
    if name in RISING or name == "radial":
        arms = [f"control: {'k merely rising' if name in RISING else 'radial kernel'}"]
    n, d = double.x.shape
    for dtype in (torch.float64, torch.float32):
        machine = double.to(dtype)
        alpha, condition = machine.dual(n * machine.ridge)
        slopes = slope(machine.pairs(machine.x))  # k'(x_i^T M x_j)
        sizes = slopes.abs()
        products, features = alpha @ alpha.T, machine.x @ machine.M
        tau = slopes.T @ slopes / n
        labels = {"case": machine.case, "dtype": str(dtype).removeprefix("torch.")}
        norms = float(torch.linalg.matrix_norm(machine.M, 2)) * machine.x.norm(dim=1) * alpha.norm(dim=1)
        fact_m = machine.fact(alpha) @ machine.M.T
        size, agop_size = condition * float(norms @ sizes @ norms), float((sizes @ norms).square().mean())
        sides = {
            "agop": (machine.agop(alpha), features.T @ (tau * products) @ features, agop_size),
            "fact": (fact_m, features.T @ (slopes * products) @ features, size),
            "update": (fact_m, root(fact_m), size),  # equal where FACT M is positive semi-definite
        }
        for arm in arms:
            for quantity, (left, right, scale) in sides.items():
                residual = float((left - right).norm()) / ((n + d) * scale)
                yield {**labels, "arm": arm, "quantity": f"prop51/{quantity}", "value": residual}
        if dtype == torch.float64:
            least = float(torch.linalg.eigvalsh((fact_m + fact_m.T) / 2)[0])
            arm = psd_arms.get(name, arms[0])
            negative = max(0.0, -least) / float(fact_m.norm())
            yield {**labels, "arm": arm, "quantity": "prop51/negative", "value": negative}
