"""The code of the papers' authors, and rfm-grokking, whose modular arithmetic paper C repeats. Paper C has no code.

The repositories of papers A, B and D have no licence, so this project holds nothing of them: functions are taken out of
their files by name and run unchanged, on the CPU. Where an author's definition differs by a constant, the constant is
divided out, and the function here says so.
"""

from functools import partial

import torch
from authors.checkout import Checkout
from torch import Tensor, nn
from torch.func import jacrev, vmap

import gramlab
from gramlab.kernels.functions import Kernel
from gramlab.kernels.updates import next_features
from peers.pair import Pair, Program, joined, network, number


def virtual_shift(checkout: Checkout) -> tuple[Program, Program]:
    """Paper A. One batch, since their loss is a mean over the batch. In float32 theirs loses all digits."""
    compute_vc = checkout.take("src/vc.py", "compute_vc", tqdm=lambda batches, desc: batches, nn=nn).compute_vc
    model = network(3072, 256, 10).double()
    x, y = torch.randn(1000, 3072, dtype=torch.float64), torch.randint(0, 10, (1000,))

    def ours() -> Tensor:
        m = gramlab.measure(model, x, y, loss="cross_entropy", layers="0", quantities=["virtual_shift"])
        return m["0"].virtual_shift(0.05)

    def theirs() -> Tensor:
        return compute_vc(model, [(x, y)], nn.CrossEntropyLoss(), 0.05, device="cpu", categorize=False)

    return ours, theirs


def linearity(checkout: Checkout, dtype: torch.dtype, computed: torch.dtype) -> tuple[Program, Program]:
    """Paper A, of data in ``dtype`` that their function takes in ``computed``."""
    function = checkout.take("src/metric.py", "target_linearity", nn=nn).target_linearity
    H = torch.randn(20_000, 256, dtype=dtype)
    Y = nn.functional.one_hot((H[:, :10] + torch.randn(20_000, 10)).argmax(1), 10).to(dtype)
    Y = Y - Y.mean(0)
    return lambda: number(gramlab.target_linearity(H, Y)), lambda: number(function(Y.to(computed), H.to(computed)))


def surrogate(checkout: Checkout) -> tuple[Program, Program]:
    """Paper A. Theirs is the mean over outputs, ours the sum."""
    function = checkout.take("src/metric.py", "surrogate", nn=nn).surrogate
    H, W, Y = torch.randn(8000, 256), torch.randn(256, 256) / 16, torch.randn(8000, 10)
    return lambda: number(gramlab.surrogate(H, W, Y) / 10), lambda: number(function(Y, H, W, 256)[0])


def tangent_kernels(checkout: Checkout) -> tuple[Program, Program]:
    """Paper B: of all hidden layers. Theirs has no 1/n."""
    models = checkout.take("MLP/models.py", "MLP", "get_MLP", "Activation", F=nn.functional, nn=nn)
    get_Ks = checkout.take("MLP/utils.py", "get_Ks", nn=nn, jacrev=jacrev, vmap=vmap).get_Ks
    model, X = models.get_MLP(784, 10, 256, 1.0, 3), torch.randn(2048, 784)
    names = ["layers.0", "layers.2", "layers.4"]

    def ours() -> Tensor:
        m = gramlab.measure(model, X, quantities=["ptk"], layers=names, batch_size=1024)
        return joined([m[name].ptk for name in names])

    return ours, lambda: joined(list(get_Ks(model, X, 3, 256))) / len(X)


def correlation(checkout: Checkout) -> tuple[Program, Program]:
    """Paper B: of two matrices."""
    mat_cov = checkout.take("MLP/utils.py", "mat_cov", nn=nn).mat_cov
    A = torch.randn(784, 784, dtype=torch.float64)
    B = A + torch.randn(784, 784, dtype=torch.float64)
    return lambda: number(gramlab.pearson(A, B)), lambda: number(mat_cov(A, B))


def agop_of_inputs(checkout: Checkout) -> tuple[Program, Program]:
    """Paper D. Theirs has no 1/n."""
    function = checkout.take("nc_nn.py", "measure_agop", nn=nn, jacrev=jacrev, vmap=vmap).measure_agop
    model, X = network(784, 512, 512, 10, activation=nn.ReLU), torch.randn(500, 784)

    def ours() -> Tensor:
        return gramlab.measure(model, X, quantities=["agop"], layers="0")["0"].agop

    return ours, lambda: function(model, X) / len(X)


def collapse(checkout: Checkout) -> tuple[Program, Program]:
    """Paper D: NC1. Theirs are whole matrices, of which the traces are taken."""
    n, classes = 200, 10
    function = checkout.take("nc_nn.py", "get_class_variance", nn=nn, NUM_CLASSES=classes, n=n).get_class_variance
    labels = torch.arange(classes).repeat_interleave(n)
    H = torch.randn(classes * n, 512) + 2 * torch.randn(classes, 512)[labels]
    hot = nn.functional.one_hot(labels, classes)

    def theirs() -> Tensor:
        between, within, _, _ = function(H, hot)
        return number(within.trace() / between.trace())

    return lambda: number(gramlab.neural_collapse(H, labels).nc1), theirs


def kernel_update(checkout: Checkout) -> tuple[Program, Program]:
    """A kernel machine for modular arithmetic: the next M from centred gradients."""
    distances = vars(checkout.take("models/__init__.py", "euclidean_distances", "euclidean_distances_M"))
    taken = checkout.take("models/gaussian_kernel.py", "gaussian_M", "gaussian_M_update", "get_grads", **distances)
    x, alpha = torch.randn(1000, 100, dtype=torch.float64), torch.randn(1000, 5, dtype=torch.float64)
    W = torch.randn(100, 100, dtype=torch.float64) / 10
    kernel, M = Kernel("gaussian", 10.0), W.T @ W

    def theirs() -> Tensor:
        features = taken.gaussian_M_update(x, x, 10.0, M, alpha, centering=True)
        return features[0] if isinstance(features, tuple) else features

    return lambda: next_features("agop", kernel, x, alpha, M, centered=True), theirs


def _pair(paper: str, repository: str, quantity: str, size: str, tolerance: float, programs) -> Pair:
    return Pair(f"authors of paper {paper}", repository, quantity, size, tolerance, programs, checkout=True)


REGRESSION = "n = 20,000, d = 256, 10 outputs"
PAIRS = (
    _pair("A", "GramLin", "virtual covariance shift of the input, by `compute_vc`",
          "MLP 3072-256-10, n = 1,000, float64", 1e-6, virtual_shift),
    _pair("A", "GramLin", "`target_linearity`", f"{REGRESSION}, float64", 1e-10,
          partial(linearity, dtype=torch.float64, computed=torch.float64)),
    _pair("A", "GramLin", "`target_linearity` with equal error: converted to float64", f"{REGRESSION}, float32", 1e-10,
          partial(linearity, dtype=torch.float32, computed=torch.float64)),
    _pair("A", "GramLin", "`target_linearity` in float64, by theirs in float32", f"{REGRESSION}, float32", 1e-3,
          partial(linearity, dtype=torch.float32, computed=torch.float32)),
    _pair("A", "GramLin", "`surrogate`", "n = 8,000, d = 256, float32", 1e-5, surrogate),
    _pair("B", "centered_NFA", "`ptk` of three layers, by `get_Ks`", "MLP 784-256-256-256-10, n = 2,048, float32",
          1e-5, tangent_kernels),
    _pair("B", "centered_NFA", "`pearson`, by `mat_cov`", "two 784 × 784 matrices, float64", 1e-10, correlation),
    Pair("rfm-grokking", "rfm-grokking", "the next M of a Gaussian kernel machine, by `gaussian_M_update`",
         "n = 1,000, d = 100, 5 outputs, float64", 1e-6, kernel_update, checkout=True),
    _pair("D", "neural_collapse_rfm", "`agop` of the input, by `measure_agop`", "MLP 784-512-512-10, n = 500, float32",
          1e-5, agop_of_inputs),
    _pair("D", "neural_collapse_rfm", "NC1, by `get_class_variance`", "n = 2,000, d = 512, float32", 1e-4, collapse),
)  # fmt: skip
