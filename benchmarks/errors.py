"""Write docs/errors.md: the measured error of every quantity by precision and batch size.

    python benchmarks/errors.py [--check]

The reference is each definition computed from per-sample Jacobians (``vmap(jacrev)``) in float64, at the weights and
data of the lower precision, so that only the arithmetic differs. It shares no code with gramlab.
"""

import argparse
import copy
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.func import jacrev, vmap
from torch.nn import functional as F

import gramlab

PAGE = Path(__file__).parents[1] / "docs/errors.md"
N, DECAY, LR = 1024, 0.01, 0.1
DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
BATCHES = (1, 64, 1024)


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(48, 64), nn.GELU(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 5))


def truth(model, initial, x, y):
    """{layer: {quantity: matrix}} of a network in float64."""

    def outer(a, b):
        return torch.einsum("n...i,n...j->ij", a, b)

    n, found = len(x), {}
    model.requires_grad_(False)
    initial.requires_grad_(False)
    for name in ("0", "2", "4"):
        i = int(name)
        W, W0 = model[i].weight, initial[i].weight
        h = model[:i](x).detach()
        z, z0 = model[i](h).detach(), initial[: i + 1](x).detach()
        J_h = vmap(jacrev(lambda v, i=i: model[i:](v)))(h)
        J_z = vmap(jacrev(lambda v, i=i: model[i + 1 :](v)))(z)
        J_0 = vmap(jacrev(lambda v, i=i: initial[i + 1 :](v)))(z0)
        g_h = vmap(jacrev(lambda v, t, i=i: F.cross_entropy(model[i:](v), t)))(h, y)
        g_z = vmap(jacrev(lambda v, t, i=i: F.cross_entropy(model[i + 1 :](v), t)))(z, y)
        K, K_bar, M, step = outer(J_z, J_z) / n, outer(J_z - J_0, J_z - J_0) / n, W - W0, -LR * g_h / n
        found[name] = {
            "gram": W.T @ W,
            "back_gram": W @ W.T,
            "agop": outer(J_h, J_h) / n,
            "ptk": K,
            "enfa": outer(g_h, g_h) / n,
            "back_enfa": outer(g_z, g_z) / n,
            "weight_gradient": outer(g_z, h) / n,
            "fact": -outer(g_h, h) / (n * DECAY),
            "back_fact": -outer(h @ W.T, g_z) / (n * DECAY),
            "virtual_shift": outer(step, h + step) + outer(h, step),
            "centered_gram": M.T @ M,
            "centered_agop": M.T @ K @ M,
            "centered_ptk": K_bar,
            "double_centered_agop": M.T @ K_bar @ M,
            "ptk_centered_agop": W0.T @ K_bar @ W0,
        }
    return found


def errors():
    """{quantity: {(dtype, batch): largest normwise error over the layers}}."""
    found = {}
    for dtype in DTYPES:
        torch.manual_seed(1)
        initial = network().to(dtype)
        model = copy.deepcopy(initial)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.2 * torch.randn_like(parameter))
        x, y = torch.randn(N, 48).to(dtype), torch.randint(0, 5, (N,))
        wanted = truth(copy.deepcopy(model).double(), copy.deepcopy(initial).double(), x.double(), y)
        for batch in BATCHES:
            m = gramlab.measure(
                model, x, y, loss="cross_entropy", weight_decay=DECAY, batch_size=batch, initial=initial
            )
            for name, quantities in wanted.items():
                for quantity, exact in quantities.items():
                    layer = m[name]
                    got = layer.virtual_shift(LR) if quantity == "virtual_shift" else getattr(layer, quantity)
                    size = float(exact.norm())
                    # the output layer's Jacobian never moves: its centred kernel is exactly zero
                    gap = float((got - exact).norm()) / size if size else float(got.norm())
                    cells = found.setdefault(quantity, {})
                    cells[dtype, batch] = max(cells.get((dtype, batch), 0.0), gap)
    return found


def conditioned():
    """Rows of (condition number, gramlab's error, the printed inverse's) for a target of known linearity 10/11."""
    rng = np.random.default_rng(5)
    U = np.linalg.qr(np.hstack([np.ones((2000, 1)), rng.standard_normal((2000, 11))]))[0][:, 1:]
    V = np.linalg.qr(rng.standard_normal((10, 10)))[0]
    Y = U @ np.ones(11)
    rows = []
    for condition in (1e0, 1e2, 1e4, 1e6, 1e8, 1e10):
        H = U[:, :10] * np.geomspace(1, 1 / condition, 10) @ V.T
        fitted = H @ np.linalg.inv(H.T @ H) @ H.T @ Y
        printed = 1 - np.sum((Y - fitted) ** 2) / np.sum((Y - Y.mean()) ** 2)
        rows.append((condition, abs(gramlab.target_linearity(H, Y) - 10 / 11), abs(printed - 10 / 11)))
    return rows


def page():
    found = errors()
    heads = [(dtype, batch) for dtype in DTYPES for batch in BATCHES]
    names = {dtype: str(dtype).removeprefix("torch.") for dtype in DTYPES}
    lines = [
        "# Errors of the measures",
        "",
        "Written by `python benchmarks/errors.py`; do not edit. Normwise relative error ‖found − true‖ / ‖true‖, the",
        f"largest over the layers of an MLP 48-64-64-5 (GELU, tanh; n = {N}; the initial weights 0.2 away), against",
        "per-sample Jacobians in float64 at the same weights and data. `gram` and its like are computed from the",
        "weights alone, in float64: they are exact for the weights that a network has. Columns: dtype, batch size.",
        "",
        "| quantity | " + " | ".join(f"{names[d]}, {b}" for d, b in heads) + " |",
        "| --- |" + " --- |" * len(heads),
    ]
    lines += [
        f"| `{quantity}` | " + " | ".join(f"{cells[head]:.0e}" for head in heads) + " |"
        for quantity, cells in found.items()
    ]
    lines += [
        "",
        "## Target linearity and the condition of the features",
        "",
        "Features of a given condition number, a target whose linearity is 10/11 by construction, n = 2000, float64.",
        "Rounding the features themselves already moves their least direction by 1e-16 times the condition number.",
        "",
        "| condition number | `target_linearity` | the printed inverse |",
        "| --- | --- | --- |",
    ]
    lines += [f"| {condition:.0e} | {ours:.0e} | {printed:.0e} |" for condition, ours, printed in conditioned()]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="only print")
    options = parser.parse_args()
    text = page()
    if options.check:
        print(text)
    else:
        PAGE.write_text(text)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
