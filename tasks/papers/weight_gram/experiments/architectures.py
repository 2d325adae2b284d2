"""Exact identities of one layer, on random networks and on standard architectures (A.eq1, A.eq2, A.thm1, B.prop2).

Automatic differentiation computes each side from its definition: gradients with respect to a layer's input h flow
through this layer alone (a copy of h feeds it), gradients of the weights come from the unchanged network.
``gramlab.measures`` uses these identities, so the experiment does not use it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from tasks.measuring.counterexamples import Arrays, array, smallest
from tasks.measuring.layer_graph import layer_calls
from tasks.papers.weight_gram.experiments.shared.random_networks import (
    Case,
    dead_case,
    random_case,
    standard_cases,
    trained_case,
)
from tasks.settings.simulation import Simulation

GAMMAS = [2.0**-power for power in range(21)]  # step sizes for the O(gamma^2) claims
DTYPES = (torch.float64, torch.float32)
ANOTHER, PLUS = "control: another layer", "control: minus turned into plus"


class Settings(Simulation):
    """``instances`` counts the random networks."""


@dataclass
class Layer:
    """One layer of a case in one precision: W (k, d), grad_W L, the input h (d, N), grad_h L, and grad_z L (k, N)."""

    weight: Tensor
    weight_gradient: Tensor
    h: Tensor
    h_gradient: Tensor
    z_gradient: Tensor
    convolution: bool = False

    def roundoff(self) -> float:
        """The size that round-off of W^T grad_z h^T is compared with: inner lengths times norms of the factors."""
        k, n = self.z_gradient.shape
        return (k + n) * float(self.weight.norm() * self.z_gradient.norm() * self.h.norm())


def layers(case: Case, dtype: torch.dtype) -> dict[str, Layer]:
    """All measured layers of the case at its weights, by name."""
    model, x = case.model.to(dtype), case.x.to(dtype)
    weights = {name: model.get_parameter(f"{name}.weight") for name in case.layers}
    gradients = torch.autograd.grad(case.loss(model, x), list(weights.values()))
    measured = {}
    for (name, weight), gradient in zip(weights.items(), gradients, strict=True):
        with layer_calls(model.get_submodule(name)) as calls:
            loss = case.loss(model, x)
        h, z = calls[-1]
        h_gradient, z_gradient = torch.autograd.grad(loss, [h, z])
        measured[name] = Layer(weight.detach().flatten(1), gradient.flatten(1), h.detach(), h_gradient, z_gradient,
                               isinstance(model.get_submodule(name), nn.Conv2d))  # fmt: skip
    model.double()
    return measured


def measure(settings: Settings) -> Iterator[dict]:
    """Rows of all four claims on every case."""
    yield from adversaries()
    random = [random_case(instance) for instance in range(settings.instances)]
    trained = [trained_case(instance) for instance in range(3)]
    for case in [*random, *trained, dead_case(), *standard_cases()]:
        for dtype in DTYPES:
            yield from identities(case, dtype)
        if not case.tied and case.x.ndim == 2:
            yield from _alignment(case)


def adversaries() -> Iterator[dict]:
    """The smallest ReLU networks and batches that violate A (1), (2), Theorem 1 or B.prop2, by hypothesis."""

    def network(instance: dict) -> Case:
        U, V, w, x, y = (array(instance[name]) for name in ("U", "V", "w", "x", "y"))
        weights = [U, V, w[None]]
        linear = [nn.Linear(W.shape[1], W.shape[0], bias=False).double() for W in weights]
        for module, W in zip(linear, weights, strict=True):
            module.weight.data = torch.from_numpy(W)
        model = nn.Sequential(linear[0], nn.ReLU(), linear[1], nn.ReLU(), linear[2])
        return Case("", model, torch.from_numpy(x), torch.from_numpy(y), ["0", "2"])

    def residuals(instance: dict) -> list[dict]:
        rows = [row for dtype in DTYPES for row in identities(network(instance), dtype)]
        return [row for row in rows if row["quantity"].endswith("/residual")]

    def slopes(instance: dict) -> list[dict]:
        """The remainders of (2) in layers with a gradient above round-off, and the distance of their slope from 2."""
        rows: list[dict] = []
        for name, layer in layers(network(instance), torch.float64).items():
            if float(layer.weight_gradient.norm()) <= 1e-9 * float(layer.z_gradient.norm() * layer.h.norm()):
                continue
            for arm, sign in (("claim", -1), (PLUS, +1)):
                columns = {"arm": arm, "case": "", "layer": name, "dtype": "float64"}
                remainders = [{**columns, **row} for row in _equation_2(layer, sign)]
                # the entries are integers, so at the larger steps round-off is negligible beside the remainder
                steps, sizes = (np.log2([row[key] for row in remainders[:10]]) for key in ("x", "value"))
                slope = float(np.polyfit(steps, sizes, 1)[0])
                rows += [*remainders, {**columns, "quantity": "eq2/slope", "value": abs(slope - 2)}]
        return rows

    def alignments(instance: dict) -> list[dict]:
        return [*_alignment(network(instance))]

    instances = Arrays(U=(0, 0), V=(0, 0), w=(0,), x=(1, 0), y=(1, 2))
    for name in ("eq1", "thm1"):
        yield from smallest(name, ["claim", ANOTHER], instances, residuals)
    yield from smallest("eq2", ["claim", PLUS], instances, slopes)
    yield from smallest("prop2", ["claim", ANOTHER], instances, alignments)


def identities(case: Case, dtype: torch.dtype) -> Iterator[dict]:
    """Rows of A (1), (2) and Theorem 1 for every measured layer, in one precision."""
    measured = layers(case, dtype)
    for name, layer in measured.items():
        columns = {"case": case.name, "layer": name, "dtype": str(dtype).removeprefix("torch.")}
        # the control needs another layer of the same shapes with another input
        alike = [other for key, other in measured.items() if key != name and other.h.shape == layer.h.shape
                 and other.weight.shape == layer.weight.shape and not torch.equal(other.h, layer.h)]  # fmt: skip
        arms = [("control: one use of a tied weight" if case.tied else "claim", layer)]
        if alike and not case.tied:
            arms.append((ANOTHER, alike[0]))
        for arm, other in arms:
            for row in _equation_1(layer, other):
                yield {"arm": arm, **columns, **row}
            if not case.tied:
                for row in _gram_steps(layer, other, arm != "claim", dtype):
                    yield {"arm": arm, **columns, **row}
        if not case.tied and dtype == torch.float64:
            for row in _equation_2(layer, +1):
                yield {"arm": PLUS, **columns, **row}


def _equation_1(layer: Layer, other: Layer) -> Iterator[dict]:
    """A (1): grad_h f h^T against W^T grad_W f."""
    left, right = layer.h_gradient @ layer.h.T, layer.weight.T @ other.weight_gradient
    quantity = "eq1/convolution" if layer.convolution else "eq1/residual"
    yield {"quantity": quantity, "value": _relative(left - right, layer.roundoff())}


def _gram_steps(layer: Layer, other: Layer, control: bool, dtype: torch.dtype) -> Iterator[dict]:
    """A (2) and Theorem 1: the Gram of the updated weight against both right sides, and Theorem 1's exact residual."""
    W, G = layer.weight, layer.weight_gradient
    h, g = other.h, layer.h_gradient
    residual = G.T @ G - g @ g.T
    gamma = GAMMAS[2]
    stepped, virtual = W - gamma * G, h - gamma * g
    shift, vcs = stepped.T @ stepped - W.T @ W, virtual @ virtual.T - h @ h.T
    size = (len(W) + h.shape[1]) * float(stepped.norm() ** 2 + W.norm() ** 2 + virtual.norm() ** 2 + h.norm() ** 2)
    yield {"quantity": "thm1/residual", "value": _relative(shift - vcs - gamma**2 * residual, size)}
    if dtype != torch.float64:
        return
    for gamma in GAMMAS:
        stepped, virtual = W - gamma * G, h - gamma * g
        shift, vcs = stepped.T @ stepped - W.T @ W, virtual @ virtual.T - h @ h.T
        yield from _remainder("thm1", gamma, shift - vcs)
    if not control:
        yield from _equation_2(layer, -1)


def _equation_2(layer: Layer, sign: int) -> Iterator[dict]:
    """A (2): the remainder of W^T W - gamma (grad_h h^T + h grad_h^T); the control adds where it subtracts."""
    W, G = layer.weight, layer.weight_gradient
    cross = layer.h_gradient @ layer.h.T
    for gamma in GAMMAS:
        stepped = W - gamma * G
        remainder = stepped.T @ stepped - (W.T @ W + sign * gamma * (cross + cross.T))
        yield from _remainder("eq2", gamma, remainder)


def _relative(difference: Tensor, size: float) -> float:
    # in a dead layer the factors and so both sides are 0; there the difference is absolute
    return float(difference.norm()) / (size or 1.0)


def _remainder(name: str, gamma: float, remainder: Tensor) -> Iterator[dict]:
    # a remainder of 0, as in a dead layer, has no slope
    if remainder.any():
        yield {"quantity": f"{name}/remainder", "x": gamma, "value": float(remainder.norm())}


def _alignment(case: Case) -> Iterator[dict]:
    """B, Proposition 2: rho(F, AGOP) with the AGOP from gradients at h, against rho(W^T W, W^T K W)."""
    for dtype in DTYPES:
        model, x = case.model.to(dtype), case.x.to(dtype)
        kernels: dict[str, tuple[Tensor, Tensor, Tensor]] = {}  # by layer W, the AGOP and K
        for name in case.layers:
            with layer_calls(model.get_submodule(name)) as calls:
                outputs = model(x)
            (h, z), agop, K = calls[0], torch.zeros(()), torch.zeros(())
            for output in outputs.flatten(1).unbind(1):
                h_gradient, z_gradient = torch.autograd.grad(output.sum(), [h, z], retain_graph=True)
                agop, K = agop + h_gradient @ h_gradient.T, K + z_gradient @ z_gradient.T
            kernels[name] = (model.get_parameter(f"{name}.weight").detach(), agop, K)
        for name, (W, agop, K) in kernels.items():
            others = [other for key, (_, _, other) in kernels.items() if key != name and other.shape == K.shape]
            for arm, kernel in [("claim", K), *((ANOTHER, other) for other in others[:1])]:
                if _degenerate(W.T @ kernel @ W) or _degenerate(agop):
                    continue  # the AGOP of a dead layer is 0 and has no correlation
                gap = abs(_cosine(W.T @ W, agop) - _cosine(W.T @ W, W.T @ kernel @ W))
                yield {"arm": arm, "case": case.name, "layer": name, "dtype": str(dtype).removeprefix("torch."),
                       "quantity": "prop2/residual", "value": gap / (len(W) + len(case.x))}  # fmt: skip
    case.model.double()


def _cosine(a: Tensor, b: Tensor) -> float:
    # in the precision of its arguments, unlike gramlab.cosine, so that the error of float32 shows
    return float((a * b).sum() / (a.norm() * b.norm()))


def _degenerate(a: Tensor) -> bool:
    return not np.isfinite(float(a.norm())) or float(a.norm()) == 0.0
