"""Papers C and D: kernels, solvers and AGOP updates of the authors' recursive feature machines."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

import gramlab
from benchmarks.authors.checkout import Checkout
from benchmarks.authors.comparison import Comparison, Functions
from benchmarks.authors.subject import CLASSES, Subject, network
from gramlab.kernels.functions import Kernel, agop, gradients
from gramlab.kernels.solve import dual
from gramlab.kernels.updates import next_features

BANDWIDTH, RIDGE = 2.5, 1e-3
PER_CLASS = 20  # samples
DIAGONAL = 1e-6  # the rest after a division by distances of a sample to itself, which are √round-off there

SELF = "A sample's distance to itself is the root of round-off, where ours is 0."


class Problem:
    """A kernel regression of the labels, and features M that are not the identity."""

    def __init__(self, subject: Subject, name: str, bandwidth: float = BANDWIDTH, ridge: float = RIDGE):
        self.x, labels = subject.few(PER_CLASS)
        self.y = nn.functional.one_hot(labels, CLASSES).double()
        W = subject.weights[0]
        self.M = W.T @ W
        self.kernel = Kernel(name, bandwidth)
        self.alpha, _ = dual(lambda: self.kernel.matrix(self.x, None, self.M), self.y, ridge)
        self.names = ("gramlab.kernels.functions.Kernel", "gramlab.kernels.updates.next_features")

    def features(self, centered: bool = True) -> Tensor:
        """The next features by gramlab."""
        return next_features("agop", self.kernel, self.x, self.alpha, self.M, centered=centered)


def grokking(checkout: Checkout, subject: Subject) -> Iterator[Comparison]:
    """Paper C's modular arithmetic: kernels, their solution, the update of M, and the AGOP of a network."""
    distances = vars(checkout.take("models/__init__.py", "euclidean_distances", "euclidean_distances_M"))
    for name, path, kernel, update in (
        ("laplace", "models/laplace_kernel.py", "laplacian_M", "laplacian_M_update"),
        ("gaussian", "models/gaussian_kernel.py", "gaussian_M", "gaussian_M_update"),
    ):
        problem = Problem(subject, name)
        x, M, alpha = problem.x, problem.M, problem.alpha
        taken = vars(checkout.take(path, kernel, update, "get_grads", **distances))
        theirs, ours = taken[kernel](x, x.clone(), BANDWIDTH, M), problem.kernel.matrix(x, x.clone(), M)
        laplace = (SELF, with_diagonal(ours, theirs)) if name == "laplace" else ()
        yield Functions(checkout, f"{path}: {kernel}", problem.names[0]).compare(
            f"{name} kernel under M = WᵀW", theirs, ours, *laplace
        )
        updated = taken[update](x, x, BANDWIDTH, M, alpha, centering=True)
        updated = updated[0] if isinstance(updated, tuple) else updated
        yield Functions(checkout, f"{path}: {update}", problem.names[1]).compare(
            f"next M of the {name} machine, centred gradients", updated, problem.features(), allowed=DIAGONAL
        )
        yield from solution(checkout, problem, name, taken[kernel])
    yield from quadratic(checkout, subject)
    yield from of_network(checkout, subject)


def with_diagonal(ours: Tensor, theirs: Tensor) -> Tensor:
    """Our kernel with the diagonal of theirs."""
    mixed = ours.clone()
    mixed.diagonal().copy_(theirs.diagonal())
    return mixed


def solution(checkout: Checkout, problem: Problem, name: str, kernel) -> Iterator[Comparison]:
    """The dual weights with a ridge."""
    modules = {f"{name}_kernel": type("module", (), {kernel.__name__: staticmethod(kernel)})}
    solve = checkout.take("train_kernel.py", "solve", **modules).solve
    theirs, _, _ = solve(problem.x, problem.y, problem.M, BANDWIDTH, 2, name, ridge=RIDGE)
    yield Functions(checkout, "train_kernel.py: solve", "gramlab.kernels.solve.dual").compare(
        f"dual weights, {name}", theirs, problem.alpha, allowed=DIAGONAL
    )


def quadratic(checkout: Checkout, subject: Subject) -> Iterator[Comparison]:
    """The quadratic kernel, which theirs multiplies by 3."""
    problem, path = Problem(subject, "quadratic", 1.0, ridge=1.0), "models/quadratic_kernel.py"
    taken = checkout.take(path, "quadratic_M", "quad_M_update")
    ours, features = problem.kernel.matrix(problem.x, None, problem.M), problem.features()
    yield Functions(checkout, f"{path}: quadratic_M", problem.names[0]).compare(
        "quadratic kernel under M = WᵀW",
        taken.quadratic_M(problem.x, problem.x, problem.M), ours, "Their kernel has a factor of 3.", 3 * ours,
    )  # fmt: skip
    updated, _ = taken.quad_M_update(problem.x, problem.x, problem.alpha.T, problem.M)
    # the square is the AGOP; in directions without gradients its root would be the root of round-off
    exact = agop(problem.kernel, problem.x, problem.x, problem.alpha, problem.M, centered=True, hold=False)
    yield Functions(checkout, f"{path}: quad_M_update", problem.names[1]).compare(
        "square of the quadratic machine's next M",
        updated @ updated, features @ features,
        "The factor of 3 of their kernel, squared; ours is summed over pairs of samples, where squares cancel and half "
        "of the digits are left.",
        9 * exact,
    )  # fmt: skip


def of_network(checkout: Checkout, subject: Subject) -> Iterator[Comparison]:
    """The AGOP of a network of two layers by their three functions."""
    weights = (subject.weights[0], subject.weights[2])
    model = network(weights)
    x, labels = subject.few(PER_CLASS)
    ours = gramlab.measure(model, x, quantities=["agop"], layers="0")["0"].agop
    available = {"F": nn.functional}
    theirs = checkout.take("models/neural_nets.py", "OneLayerFCN", **available).OneLayerFCN(
        32, 32, 2, n_classes=CLASSES
    )
    theirs.fc1.weight.data, theirs.out.weight.data = (weight.clone() for weight in weights)
    taken = checkout.take("agop_utils.py", "calc_batch_agop", "calc_full_agops_exact", "_calc_batch_agops")
    config = type("Config", (), {"device": "cpu", "act_fn": "relu", "prime": CLASSES, "model": "OneLayerFCN"})
    half = len(x) // 2
    batches = [(x[:half], labels[:half]), (x[half:], labels[half:])]
    name, quantity = "LayerMeasures.agop", "AGOP of a ReLU network of two layers"
    yield Functions(checkout, "agop_utils.py: calc_batch_agop", name).compare(
        quantity, taken.calc_batch_agop(theirs, x, torch.zeros_like(x), "cpu", config)[0], ours
    )
    yield Functions(checkout, "agop_utils.py: calc_full_agops_exact", name).compare(
        quantity, taken.calc_full_agops_exact(theirs, batches, config), ours
    )
    empty = [torch.zeros_like(x)] * 6
    yield Functions(checkout, "agop_utils.py: _calc_batch_agops", name).broken(
        quantity,
        lambda: taken._calc_batch_agops(theirs, x, *empty, "cpu", config), ours,
        "It gives the network more arguments than the network takes.",
    )  # fmt: skip


def xrfm(checkout: Checkout, subject: Subject) -> Iterator[Comparison]:
    """xRFM: the Laplace kernel, the AGOP, and matrix powers."""
    path = "xrfm/rfm_src/kernels.py"
    taken = checkout.take(path, "Kernel", "LaplaceKernel", "LightLaplaceKernel", "get_sub_matrix")
    problem = Problem(subject, "laplace")
    x, M, alpha, n = problem.x, problem.M, problem.alpha, len(problem.x)
    kernel = problem.kernel.matrix(x, x.clone(), M)
    root = gramlab.psd_power(M, 0.5)
    dense, light = taken.LaplaceKernel(BANDWIDTH, 1.0), taken.LightLaplaceKernel(BANDWIDTH, 1.0)
    for name, theirs, mat in (("LaplaceKernel", dense, root), ("LightLaplaceKernel", light, M)):
        values = theirs.get_kernel_matrix(x, x.clone(), mat)
        yield Functions(checkout, f"{path}: {name}", problem.names[0]).compare(
            "Laplace kernel under M = WᵀW", values, kernel, SELF, with_diagonal(kernel, values)
        )
        ours = agop(problem.kernel, x, x, alpha, M)
        yield Functions(checkout, f"{path}: {name}.get_agop", "gramlab.kernels.functions.agop").compare(
            "AGOP of the machine",
            theirs.get_agop(x, x, alpha.T, mat), ours, "They sum over the samples where ours averages.", ours * n,
            DIAGONAL,
        )  # fmt: skip
        J = gradients(problem.kernel, x, x, alpha, M).flatten(0, 1)
        J = J - J.mean(0)
        theirs_centered = f"{path}: {name}.get_agop(center_grads=True)"
        yield Functions(checkout, theirs_centered, "gramlab.kernels.functions.agop(centered)").compare(
            "AGOP of centred gradients",
            theirs.get_agop(x, x, alpha.T, mat, center_grads=True),
            agop(problem.kernel, x, x, alpha, M, centered=True),
            "They sum over the samples, and subtract one mean over samples and outputs; ours subtracts each "
            "output's mean, as rfm-grokking does.",
            J.T @ J, DIAGONAL,
        )  # fmt: skip
    power = checkout.take("xrfm/rfm_src/utils.py", "stable_matrix_power").stable_matrix_power
    G = agop(problem.kernel, x, x, alpha, M)
    shifted = G + 1e-8 * torch.eye(len(G), dtype=G.dtype)
    yield Functions(checkout, "xrfm/rfm_src/utils.py: stable_matrix_power", "gramlab.psd_power").compare(
        "root of the AGOP",
        power(G.clone(), 0.5, verbose=False), gramlab.psd_power(G, 0.5), "They add 1e-8 to the diagonal.",
        gramlab.psd_power(shifted, 0.5),
    )  # fmt: skip
