"""Compare the measures with the code of the papers' authors: time and values.

    python benchmarks/authors_timing.py --gramlin DIR --centered-nfa DIR --collapse DIR [--threads 1] [--rounds 5]

DIR are your copies of cth127/GramLin (paper A), dmbeaglehole/centered_NFA (B) and dmbeaglehole/neural_collapse_rfm (D).
They have no licence, so this repository holds nothing of them. Paper C has no public code. This program takes functions
out of these files by name and runs them unchanged, on the CPU and without progress bars. Where an author's definition
differs by a constant, the constant is divided out, and the function here says so.
"""

import argparse
import ast
from pathlib import Path

import torch
from timing import gap, race, show
from torch import nn
from torch.func import jacrev, vmap

import gramlab


def take(path, names, more_names):
    """The named functions and classes of a file, defined in a separate namespace."""
    tree = ast.parse(Path(path).read_text())
    definitions = [part for part in tree.body if getattr(part, "name", None) in names]
    space = {"torch": torch, "nn": nn, "jacrev": jacrev, "vmap": vmap} | more_names
    exec(compile(ast.Module(body=definitions, type_ignores=[]), str(path), "exec"), space)
    return [space[name] for name in names]


def compare(title, ours, theirs, rounds, agree=gap):
    results = {}
    acts = {"gramlab": lambda: results.update(ours=ours()), "authors": lambda: results.update(theirs=theirs())}
    show(title, race(acts, rounds), [("authors", "gramlab")])
    print(f"  difference {agree(results['ours'], results['theirs']):.1e}")


def apart(a, b):
    return abs(a - b)


def virtual_shift(folder, rounds):
    """Paper A: the virtual covariance shift of the input, one batch (their loss is a mean over the batch)."""
    (compute_vc,) = take(folder / "src/vc.py", ["compute_vc"], {"tqdm": lambda batches, desc: batches})
    model = nn.Sequential(nn.Linear(3072, 256), nn.GELU(), nn.Linear(256, 10))
    x, y = torch.randn(1000, 3072), torch.randint(0, 10, (1000,))

    def ours():
        m = gramlab.measure(model, x, y, loss="cross_entropy", layers="0", quantities=["virtual_shift"])
        return m["0"].virtual_shift(0.05)

    def theirs():
        return compute_vc(model, [(x, y)], nn.CrossEntropyLoss(), 0.05, device="cpu", categorize=False)

    compare("A: virtual covariance shift of the input, 3072 pixels, n = 1000, float32", ours, theirs, rounds)
    model, x = model.double(), x.double()
    print(f"  in float64: {gap(ours(), theirs()):.1e}")


def linearity(folder, rounds):
    """Paper A: target linearity and surrogate of one layer (theirs is the mean over outputs, ours the sum)."""
    theirs_linearity, theirs_surrogate = take(folder / "src/metric.py", ["target_linearity", "surrogate"], {})
    for dtype in (torch.float64, torch.float32):
        H, W = torch.randn(20_000, 256, dtype=dtype), torch.randn(256, 256, dtype=dtype) / 16
        Y = nn.functional.one_hot((H[:, :10] + torch.randn(20_000, 10)).argmax(1), 10).to(dtype)
        Y = Y - Y.mean(0)
        compare(
            f"A: target linearity, n = 20000, d = 256, {dtype}",
            lambda H=H, Y=Y: gramlab.target_linearity(H, Y),
            lambda H=H, Y=Y: theirs_linearity(Y, H),
            rounds,
            apart,
        )
    H, Y = H[:8000], Y[:8000]
    compare(
        "A: surrogate, n = 8000, d = 256, float32",
        lambda: torch.tensor(gramlab.surrogate(H, W, Y) / 10),
        lambda: torch.tensor(theirs_surrogate(Y, H, W, 256)[0]),
        rounds,
    )


def kernels(folder, rounds):
    """Paper B: the pre-activation tangent kernels of all hidden layers, and the NFA from them (theirs has no 1/n)."""
    MLP, get_MLP, Activation = take(folder / "MLP/models.py", ["MLP", "get_MLP", "Activation"], {"F": nn.functional})
    del MLP
    get_Ks, mat_cov = take(folder / "MLP/utils.py", ["get_Ks", "mat_cov"], {})
    model = get_MLP(784, 10, 256, 1.0, 3)
    del Activation
    X = torch.randn(2048, 784)
    names = ["layers.0", "layers.2", "layers.4"]

    def ours():
        m = gramlab.measure(model, X, quantities=["ptk"], layers=names, batch_size=1024)
        return torch.stack([m[name].ptk for name in names])

    def theirs():
        return get_Ks(model, X, 3, 256) / len(X)

    compare("B: PTK of every hidden layer, MLP 784-256-256-256-10, n = 2048", ours, theirs, rounds)
    K, W = ours()[0], model.layers[0].weight.detach().double()
    A, B = W.T @ K @ W, W.T @ W
    compare(
        "B: the correlation of two 784 x 784 matrices, float64",
        lambda: gramlab.pearson(A, B),
        lambda: mat_cov(A, B),
        rounds,
        apart,
    )


def collapse(folder, rounds):
    """Paper D: AGOP at a layer's input (theirs has no 1/n), and class variances (theirs are whole matrices)."""
    (measure_agop,) = take(folder / "nc_nn.py", ["measure_agop"], {})
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    X = torch.randn(500, 784)

    def ours():
        return gramlab.measure(model, X, quantities=["agop"], layers="0")["0"].agop

    compare("D: AGOP of an MLP's input, 784-512-512-10, n = 500", ours, lambda: measure_agop(model, X) / len(X), rounds)
    n, classes = 200, 10
    (get_class_variance,) = take(folder / "nc_nn.py", ["get_class_variance"], {"NUM_CLASSES": classes, "n": n})
    labels = torch.arange(classes).repeat_interleave(n)
    H = torch.randn(classes * n, 512) + 2 * torch.randn(classes, 512)[labels]
    hot = nn.functional.one_hot(labels, classes)

    def theirs():
        between, within, _, _ = get_class_variance(H, hot)
        return float(within.trace() / between.trace())

    compare("D: NC1, n = 2000, d = 512", lambda: gramlab.neural_collapse(H, labels).nc1, theirs, rounds, apart)


def main():
    parser = argparse.ArgumentParser()
    for name in ("--gramlin", "--centered-nfa", "--collapse"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    torch.Tensor.cuda = lambda self, *_, **__: self
    if options.gramlin:
        virtual_shift(options.gramlin, options.rounds)
        linearity(options.gramlin, options.rounds)
    if options.centered_nfa:
        kernels(options.centered_nfa, options.rounds)
    if options.collapse:
        collapse(options.collapse, options.rounds)


if __name__ == "__main__":
    main()
