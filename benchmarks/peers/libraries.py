"""Jacobians by torch.func, regressions by scikit-learn, and the kernel machine of xRFM."""

import numpy as np
import torch
from torch import Tensor
from torch.func import jacrev, vmap

import gramlab
from gramlab.kernels.functions import Kernel, agop, predict
from gramlab.kernels.solve import dual
from peers.pair import Pair, Program, joined, network, number


def by_jacobians() -> tuple[Program, Program]:
    """All samples' Jacobians at each layer, 250 at a time."""
    model, x, layers = network(256, 256, 256, 10), torch.randn(1000, 256), (0, 2, 4)

    def ours() -> Tensor:
        m = gramlab.measure(model, x, quantities=["agop"])
        return joined([m[str(i)].agop for i in layers])

    def theirs() -> Tensor:
        agops = []
        for i in layers:
            total = torch.zeros(256, 256, dtype=torch.float64)
            for rows in x.split(250):
                with torch.no_grad():
                    J = vmap(jacrev(lambda h, i=i: model[i:](h)))(model[:i](rows)).flatten(0, 1)
                total += (J.T @ J).double()
            agops.append(total / len(x))
        return joined(agops)

    return ours, theirs


def by_ridge(dtype: torch.dtype, computed: torch.dtype) -> tuple[Program, Program]:
    """R² of a ridge regression with an intercept, of data in ``dtype`` that the peer takes in ``computed``."""
    from sklearn.linear_model import Ridge

    H = torch.randn(20_000, 256, dtype=dtype)
    Y = torch.nn.functional.one_hot(H[:, :10].argmax(1), 10).to(dtype)

    def ours() -> Tensor:
        return number(gramlab.target_linearity(H, Y, ridge=1.0, center=True))

    def theirs() -> Tensor:
        X, T = H.to(computed).numpy(), Y.to(computed).numpy()
        residual = T - Ridge(alpha=1.0, solver="cholesky").fit(X, T).predict(X)
        return number(1 - np.square(residual).sum() / np.square(T - T.mean(0)).sum())

    return ours, theirs


def by_corrcoef() -> tuple[Program, Program]:
    """The correlation of two matrices' entries."""
    A, B = torch.randn(784, 784, dtype=torch.float64), torch.randn(784, 784, dtype=torch.float64)
    B += A

    def theirs() -> Tensor:
        return number(np.corrcoef(A.numpy().ravel(), B.numpy().ravel())[0, 1])

    return lambda: number(gramlab.pearson(A, B)), theirs


def by_kernel_ridge() -> tuple[Program, Program]:
    """Predictions of a kernel regression without updates."""
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
    """Predictions after two updates of M by the AGOP, every system solved by Cholesky."""
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


REGRESSION = "n = 20,000, d = 256, 10 outputs, ridge 1, centred"
PAIRS = (
    Pair("torch.func", "torch", "`agop` of three layers, by `vmap(jacrev)`", "MLP 256-256-256-10, n = 1,000, float32",
         1e-5, by_jacobians, "torch"),
    Pair("scikit-learn", "sklearn", "`target_linearity`, by `Ridge`", f"{REGRESSION}, float64", 1e-12,
         lambda: by_ridge(torch.float64, torch.float64), "scikit-learn"),
    Pair("scikit-learn", "sklearn", "`target_linearity`, by `Ridge` with equal error: converted to float64",
         f"{REGRESSION}, float32", 1e-12, lambda: by_ridge(torch.float32, torch.float64), "scikit-learn"),
    Pair("scikit-learn", "sklearn", "`target_linearity` in float64, by `Ridge` in float32", f"{REGRESSION}, float32",
         1e-4, lambda: by_ridge(torch.float32, torch.float32), "scikit-learn"),
    Pair("numpy", "numpy", "`pearson`, by `corrcoef`", "two 784 × 784 matrices, float64", 1e-12, by_corrcoef, "numpy"),
    Pair("scikit-learn", "sklearn", "`RFM(update=None)`, by `KernelRidge`", "n = 2,000, d = 20, 3 outputs, float64",
         1e-8, by_kernel_ridge, "scikit-learn"),
    Pair("xRFM", "xrfm", "`RFM`'s steps: two AGOP updates, Cholesky", "n = 2,000, d = 50, float64", 1e-3, by_xrfm,
         "xrfm"),
)  # fmt: skip
