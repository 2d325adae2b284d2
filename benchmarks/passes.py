"""Time a measurement against the bare matrix products and against per-layer vmap(jacrev).

    python benchmarks/passes.py [--n 10000] [--threads 1] [--rounds 5] [--jacrev-rounds 1]

MLP 3072-1024-1024-1024-10, ReLU, float32. "floor" computes the same matrix products in a loop written for this network,
without checks and hooks.
"""

from itertools import pairwise

import torch
from timing import arguments, gap, race, show
from torch import nn
from torch.func import jacrev, vmap
from torch.nn import functional as F

import gramlab

LINEAR = (0, 2, 4, 6)


def network():
    torch.manual_seed(0)
    widths = (3072, 1024, 1024, 1024, 10)
    layers = [part for a, b in pairwise(widths) for part in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def forward_by_hand(model, x):
    h, inputs, masks = x, [], []
    for i in LINEAR:
        inputs.append(h)
        z = F.linear(h, model[i].weight.detach(), model[i].bias.detach())
        if i != LINEAR[-1]:
            masks.append((z > 0).to(z.dtype))
            h = z.relu()
    return z, inputs, masks


def agop_by_hand(model, x, batch):
    W = [model[i].weight.detach() for i in LINEAR]
    K = [torch.zeros(len(w), len(w), dtype=torch.float64) for w in W]
    for rows in x.split(batch):
        _, _, masks = forward_by_hand(model, rows)
        for o in range(10):
            g = torch.zeros(len(rows), 10)
            g[:, o] = 1
            for layer in (3, 2, 1, 0):
                K[layer] += g.T @ g
                if layer:
                    g = (g @ W[layer]) * masks[layer - 1]
    W = [w.double() for w in W]
    K = [k / len(x) for k in K]
    return [(w.T @ w, w.T @ (k @ w), k) for w, k in zip(W, K, strict=True)]


def fact_by_hand(model, x, y, decay, batch):
    """One forward and one backward pass of autograd with weight gradients, and the k × k products of eNFA."""
    parameters = [model[i].weight for i in LINEAR]
    G = [torch.zeros(w.shape, dtype=torch.float64) for w in parameters]
    E = [torch.zeros(len(w), len(w), dtype=torch.float64) for w in parameters]
    for rows, labels in zip(x.split(batch), y.split(batch), strict=True):
        h, outputs = rows, []
        for i in LINEAR:
            outputs.append(model[i](h))
            h = outputs[-1].relu()
        loss = F.cross_entropy(outputs[-1], labels, reduction="sum")
        gradients = torch.autograd.grad(loss, [*outputs, *parameters])
        for k in range(4):
            E[k] += gradients[k].T @ gradients[k]
            G[k] += gradients[4 + k]
    products = []
    for w, g, e in zip(parameters, G, E, strict=True):
        W = w.detach().double()
        products.append((W.T @ g / (-decay * len(x)), W @ g.T / (-decay * len(x)), W.T @ (e @ W) / len(x)))
    return products


def by_jacrev(model, x, chunk):
    """The obvious program: for each layer the Jacobians of all samples, in chunks that fit into memory."""
    products = []
    for i in LINEAR:
        agop = ptk = 0.0
        for rows in x.split(chunk):
            with torch.no_grad():
                h = model[:i](rows)
                z = model[i](h)
                J = vmap(jacrev(lambda v, i=i: model[i:](v)))(h).flatten(0, 1)
                agop = agop + (J.T @ J).double()
                J = vmap(jacrev(lambda v, i=i: model[i + 1 :](v)))(z).flatten(0, 1)
                ptk = ptk + (J.T @ J).double()
        W = model[i].weight.detach().double()
        products.append((W.T @ W, agop / len(x), ptk / len(x)))
    return products


def main():
    options = arguments(__doc__, n=10_000, threads=1, rounds=5, jacrev_rounds=1, batch=2500)
    model = network()
    x, y = torch.randn(options.n, 3072), torch.randint(0, 10, (options.n,))
    decay, results = 1e-3, {}

    def ours():
        m = gramlab.measure(model, x, quantities=("gram", "agop", "ptk"), batch_size=options.batch)
        results["ours"] = [(m[str(i)].gram, m[str(i)].agop, m[str(i)].ptk) for i in LINEAR]

    def floor():
        results["floor"] = agop_by_hand(model, x, options.batch)

    def jacobians():
        results["jacrev"] = by_jacrev(model, x, 250)

    title = f"gram, agop, ptk of every layer, n = {options.n}, {options.threads} threads"
    show(title, race({"gramlab": ours, "floor": floor}, options.rounds), [("gramlab", "floor")])
    both = race({"gramlab": ours, "vmap(jacrev)": jacobians}, options.jacrev_rounds, warm=False)
    show("the same against vmap(jacrev), chunks of 250", both, [("vmap(jacrev)", "gramlab")])
    for name in sorted(results.keys() - {"ours"}):
        pairs = zip(results["ours"], results[name], strict=True)
        worst = max(gap(a, b) for mine, theirs in pairs for a, b in zip(mine, theirs, strict=True))
        print(f"  largest difference from {name}: {worst:.1e}")

    def ours_of_loss():
        m = gramlab.measure(
            model, x, y, loss="cross_entropy", weight_decay=decay, quantities=("fact", "back_fact", "enfa"),
            batch_size=options.batch,
        )  # fmt: skip
        results["ours"] = [(m[str(i)].fact, m[str(i)].back_fact, m[str(i)].enfa) for i in LINEAR]

    def floor_of_loss():
        results["floor"] = fact_by_hand(model, x, y, decay, options.batch)

    seconds = race({"gramlab": ours_of_loss, "forward + backward + products": floor_of_loss}, options.rounds)
    show("fact, back_fact, enfa of every layer", seconds, [("gramlab", "forward + backward + products")])
    pairs = zip(results["ours"], results["floor"], strict=True)
    worst = max(gap(a, b) for mine, theirs in pairs for a, b in zip(mine, theirs, strict=True))
    print(f"  largest difference: {worst:.1e}")


if __name__ == "__main__":
    main()
