"""gramlab beside other programs that compute the same numbers: agreement first, then the ratio of CPU times.

    python benchmarks/compare.py [--peers FOLDER ...] [--rounds 5] [--out FILE]

A folder holds packages that the environment lacks (``pip install --no-deps --target FOLDER xrfm``); a peer that is not
there is named with what installs it. On one thread; the candidates take turns, and a ratio is taken within each round:
above 1 the peer takes longer. A pair whose numbers do not agree is not timed, and the program ends with an error.
"""

import argparse
import importlib.util
import json
import statistics
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from timing import gap, race
from torch import Tensor, nn
from torch.func import jacrev, vmap

import gramlab
from gramlab.kernels.functions import Kernel, agop, predict
from gramlab.kernels.solve import dual

Program = Callable[[], Tensor]  # returns the numbers that must agree


@dataclass(frozen=True)
class Pair:
    """One comparison: the module that the peer needs, what installs it, and what both compute to which agreement."""

    peer: str
    module: str
    install: str
    quantity: str
    tolerance: float
    programs: Callable[[], tuple[Program, Program]]


@dataclass(frozen=True)
class Result:
    peer: str
    quantity: str
    difference: float
    ratios: list[float]

    def __str__(self) -> str:
        low, high = min(self.ratios), max(self.ratios)
        times = f"{statistics.median(self.ratios):.2f} ({low:.2f} to {high:.2f})"
        return f"| {self.peer} | {self.quantity} | {self.difference:.0e} | {times} |"


def network(*widths: int) -> nn.Sequential:
    torch.manual_seed(0)
    layers = [part for a, b in pairwise(widths) for part in (nn.Linear(a, b), nn.GELU())]
    return nn.Sequential(*layers[:-1])


def joined(matrices: list[Tensor]) -> Tensor:
    return torch.cat([matrix.double().flatten() for matrix in matrices])


def by_jacobians() -> tuple[Program, Program]:
    model, x, layers = network(256, 256, 256, 10), torch.randn(1000, 256), (0, 2, 4)

    def ours() -> Tensor:
        m = gramlab.measure(model, x, quantities=["agop"])
        return joined([m[str(i)].agop for i in layers])

    def theirs() -> Tensor:
        found = []
        for i in layers:
            total = torch.zeros(256, 256, dtype=torch.float64)
            for rows in x.split(250):
                with torch.no_grad():
                    J = vmap(jacrev(lambda h, i=i: model[i:](h)))(model[:i](rows)).flatten(0, 1)
                total += (J.T @ J).double()
            found.append(total / len(x))
        return joined(found)

    return ours, theirs


def by_curvlinops() -> tuple[Program, Program]:
    from curvlinops import KFACLinearOperator

    model, x, layers = network(256, 256, 256, 10), torch.randn(4000, 256), (0, 2, 4)
    y = torch.randint(0, 10, (4000,))
    weights = [model[i].weight for i in layers]

    def ours() -> Tensor:
        m = gramlab.measure(model, x, y, loss="cross_entropy", quantities=["enfa"])
        return joined([m[str(i)].enfa for i in layers])

    def theirs() -> Tensor:
        loss = nn.CrossEntropyLoss(reduction="sum")
        operator = KFACLinearOperator(model, loss, list(model.parameters()), [(x, y)], fisher_type="empirical",
                                      check_deterministic=False)  # fmt: skip
        operator.compute_kronecker_factors()
        K = [operator._gradient_covariances[str(i)].double() / len(x) for i in layers]
        return joined([W.detach().double().T @ k @ W.detach().double() for W, k in zip(weights, K, strict=True)])

    return ours, theirs


def by_ridge() -> tuple[Program, Program]:
    from sklearn.linear_model import Ridge

    H = torch.randn(20_000, 256, dtype=torch.float64)
    Y = torch.nn.functional.one_hot(H[:, :10].argmax(1), 10).double()

    def ours() -> Tensor:
        return torch.tensor(gramlab.target_linearity(H, Y, ridge=1.0, center=True), dtype=torch.float64)

    def theirs() -> Tensor:
        X, T = H.numpy(), Y.numpy()
        residual = T - Ridge(alpha=1.0, solver="cholesky").fit(X, T).predict(X)
        return torch.tensor(1 - np.square(residual).sum() / np.square(T - T.mean(0)).sum())

    return ours, theirs


def by_kernel_ridge() -> tuple[Program, Program]:
    from sklearn.kernel_ridge import KernelRidge

    x, z = torch.randn(2000, 20, dtype=torch.float64).numpy(), torch.randn(500, 20, dtype=torch.float64).numpy()
    y = np.sin(x[:, :3])

    def ours() -> Tensor:
        machine = gramlab.RFM(kernel="gaussian", bandwidth=5.0, ridge=0.1, update=None, dtype="float64")
        return torch.from_numpy(machine.fit(x, y).predict(z))

    def theirs() -> Tensor:
        return torch.from_numpy(KernelRidge(alpha=0.1, kernel="rbf", gamma=1 / 50).fit(x, y).predict(z))

    return ours, theirs


def by_xrfm() -> tuple[Program, Program]:
    from xrfm.rfm_src.recursive_feature_machine import RFM

    x, z = torch.randn(2000, 50, dtype=torch.float64), torch.randn(500, 50, dtype=torch.float64)
    y, y_z = (part[:, :1].tanh() * part[:, 1:2] for part in (x, z))

    def ours() -> Tensor:
        kernel, M = Kernel("laplace", 10.0), torch.eye(50, dtype=x.dtype)
        for _ in range(2):
            M = agop(kernel, x, x, dual(lambda: kernel.matrix(x, None, M), y, 1e-2)[0], M)  # noqa: B023
            M /= M.max()
        return predict(kernel, z, x, dual(lambda: kernel.matrix(x, None, M), y, 1e-2)[0], M)

    def theirs() -> Tensor:
        machine = RFM("laplace", iters=2, bandwidth=10.0, device="cpu", verbose=False, solver="cholesky")
        machine.fit((x, y), (z, y_z), iters=2, reg=1e-2, return_best_params=False, early_stop_rfm=False,
                    total_points_to_sample=len(x), verbose=False, solver="cholesky")  # fmt: skip
        return torch.as_tensor(machine.predict(z))

    return ours, theirs


PAIRS = (
    Pair("torch.func", "torch", "torch", "`agop` of three layers, by `vmap(jacrev)`", 1e-5, by_jacobians),
    Pair("curvlinops", "curvlinops", "curvlinops-for-pytorch", "`enfa` from KFAC's covariances", 1e-5, by_curvlinops),
    Pair("scikit-learn", "sklearn", "scikit-learn", "`target_linearity`, by `Ridge`", 1e-10, by_ridge),
    Pair("scikit-learn", "sklearn", "scikit-learn", "`RFM(update=None)`, by `KernelRidge`", 1e-8, by_kernel_ridge),
    Pair("xRFM", "xrfm", "xrfm", "two AGOP updates, Cholesky", 1e-3, by_xrfm),
)


def measure(pair: Pair, rounds: int) -> Result:
    """Raises ArithmeticError if the programs do not agree."""
    ours, theirs = pair.programs()
    difference = gap(ours(), theirs())
    if not difference <= pair.tolerance:
        raise ArithmeticError(f"{pair.peer}, {pair.quantity}: the numbers differ by {difference:.1e}")
    seconds = race({"gramlab": ours, "peer": theirs}, rounds)
    ratios = [b / a for a, b in zip(seconds["gramlab"], seconds["peer"], strict=True)]
    return Result(pair.peer, pair.quantity, difference, ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    sys.path.extend(options.peers)
    torch.set_num_threads(1)
    print(
        "| peer | quantity | largest relative difference | time of the peer / of gramlab |\n| --- | --- | --- | --- |"
    )
    results = []
    for pair in PAIRS:
        if importlib.util.find_spec(pair.module) is None:
            print(f"| {pair.peer} | {pair.quantity} | not installed: pip install {pair.install} | |")
            continue
        results.append(measure(pair, options.rounds))
        print(results[-1], flush=True)
    if options.out:
        options.out.write_text(json.dumps([asdict(result) for result in results], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
