"""The iterative solvers against the direct one."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from gramlab.files import BadInput
from gramlab.kernels.functions import Kernel
from gramlab.kernels.iterative import dual_iterative, dual_refined
from gramlab.kernels.solve import SingularKernel, dual
from gramlab.streams import stream


def drawn(name, **shapes):
    return (torch.from_numpy(stream(name, purpose).normal(size=shape)) for purpose, shape in shapes.items())


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_conjugate_gradients_find_the_direct_solution(name):
    x, y = drawn("iterative", x=(300, 5), y=(300, 3))
    y[:, 2] = 0
    kernel = Kernel(name, 2.0)
    M = torch.diag(torch.arange(1.0, 6.0, dtype=torch.float64))
    direct, _ = dual(lambda: kernel.matrix(x, None, M), y, 0.1)
    alpha, steps = dual_iterative(kernel, x, y, 0.1, M, rank=100, tolerance=1e-10)
    assert float((alpha - direct).norm() / direct.norm()) < 1e-7
    plain = dual_iterative(kernel, x, y, 0.1, M, rank=1, tolerance=1e-10)[1]
    assert steps < plain  # the preconditioner saves steps


def test_an_unsolvable_system_raises():
    (x,) = drawn("iterative", x=(200, 5))
    with pytest.raises(ValueError, match="ridge"):
        dual_iterative(Kernel(), x, x[:, :1], 0.0)
    with pytest.raises(ArithmeticError, match="after 1 steps"):
        dual_iterative(Kernel("laplace", 0.5), x, x[:, :1], 1e-6, rank=5, steps=1)


@pytest.mark.parametrize("solve", [dual_iterative, dual_refined])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_targets_that_are_not_finite_are_refused(solve, value):
    """No alpha solves them, least of all zeros."""
    x, y = drawn("targets", x=(30, 3), y=(30, 2))
    y[4, 1] = value
    with pytest.raises(ArithmeticError, match="the targets are not finite"):
        solve(Kernel(), x, y, 0.1)


@pytest.mark.parametrize(("name", "bandwidth", "condition"), [("laplace", 2.0, 500), ("gaussian", 3.0, 1e9)])
def test_refinement_of_a_float32_factor_finds_the_float64_solution(name, bandwidth, condition):
    x, y = drawn("refined", x=(600, 8), y=(600, 3))
    kernel, M = Kernel(name, bandwidth), torch.arange(1.0, 9.0, dtype=torch.float64) / 8
    direct, _ = dual(lambda: kernel.matrix(x, None, M), y)
    assert torch.linalg.cond(kernel.matrix(x, None, M)) > condition  # the Gaussian's is singular in float32
    alpha, used = dual_refined(kernel, x, y, 0.0, M)
    assert used == 0
    assert float((alpha - direct).norm() / direct.norm()) < 1e-8
    assert float((kernel.matrix(x, None, M) @ alpha - y).norm() / y.norm()) < 1e-8


def test_refinement_warns_about_a_matrix_singular_in_float64():
    x, y = drawn("refined", x=(40, 3), y=(40, 3))
    x = torch.cat([x, x])
    y = torch.cat([y, -y])  # no function fits both
    kernel = Kernel("laplace", 1.0)
    with pytest.warns(SingularKernel, match="singular at ridge 0"):
        _, used = dual_refined(kernel, x, y, steps=50)
    assert used > 0
    with pytest.raises(ValueError, match="ridge"):
        dual_refined(kernel, x, y, -1.0)
    with pytest.raises(ArithmeticError, match="not finite"):
        dual_refined(kernel, x.where(x < 1, float("nan")), y)
    with pytest.raises(ArithmeticError, match="not finite"):
        dual_refined(kernel, x, y * 1e200, steps=5)  # the norm overflows


RESIDENT = """
import sys
import torch
from gramlab.kernels.functions import Kernel, agop
from gramlab.kernels.iterative import dual_iterative

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))

def solved(n):
    x = torch.randn(n, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    alpha, _ = dual_iterative(Kernel("laplace", 10.0), x, x[:, :1].sin(), 1.0, rank=50, tolerance=1e-2)
    agop(Kernel("laplace", 10.0), x, x, alpha)

torch.set_num_threads(1)
solved(100)
before = peak()
solved(int(sys.argv[1]))
print(peak() - before)
"""


def test_it_never_takes_the_memory_of_a_kernel_matrix():
    """Memory of the process: freed blocks that cannot be reused count too."""
    n = 7000
    done = subprocess.run([sys.executable, "-c", RESIDENT, str(n)], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 0.4 * n * n * 8 / 2**20


def test_a_ridge_is_one_number_in_whatever_array():
    """The solution is torch.linalg's."""
    x, y = drawn("ridge", x=(30, 3), y=(30, 2))
    kernel = Kernel("laplace", 2.0)
    K = kernel.matrix(x)
    expected = torch.linalg.solve(K + 0.5 * torch.eye(30, dtype=K.dtype), y)
    solvers = (
        lambda ridge: dual(lambda: K.clone(), y, ridge)[0],
        lambda ridge: dual_refined(kernel, x, y, ridge)[0],
        lambda ridge: dual_iterative(kernel, x, y, ridge, rank=10, tolerance=1e-12)[0],
    )
    for solve in solvers:
        for ridge in (0.5, torch.tensor(0.5), torch.tensor([0.5]), np.array([0.5]), np.float32(0.5)):
            torch.testing.assert_close(solve(ridge), expected, rtol=0, atol=1e-9)
        for ridge in (torch.tensor([0.5, 1.0]), np.array([0.5, 1.0]), "0.5", None):
            with pytest.raises(BadInput, match=r"^ridge must be a"):
                solve(ridge)
