"""The whitened step of paper A, B.1, against its definition; the orthogonal factor against SVD."""

import math

import pytest
import torch

import gramlab
from gramlab.nets import NetError
from gramlab.nets.polar import METHODS, _polynomials, orthogonal_factor, same_gram

EXACT = [method for method in METHODS if method != "ten-steps"]
SHAPES = {"wide": (6, 40), "square": (12, 12), "tall": (40, 6), "row": (1, 7), "column": (7, 1)}


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def random_orthogonal(k, seed):
    return torch.linalg.qr(normal(k, k, seed=seed)).Q


def with_spectrum(values, seed=0):
    k = len(values)
    return random_orthogonal(k, seed) @ torch.diag(torch.tensor(values).double()) @ random_orthogonal(k, seed + 1)


def gram_error(moved, target):
    moved, target = moved.double(), target.double()
    return float((moved.mT @ moved - target.mT @ target).norm() / (target.mT @ target).norm())


@pytest.mark.parametrize("method", EXACT)
@pytest.mark.parametrize(("dtype", "bound"), [(torch.float64, 1e-13), (torch.float32, 1e-5)])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_gram_is_exactly_that_of_the_gradient_step(shape, dtype, bound, method):
    W = normal(*shape, dtype=dtype)
    target = W - 0.3 * normal(*shape, seed=1, dtype=dtype)
    assert gram_error(same_gram(W, target, method), target) < bound


@pytest.mark.parametrize("method", EXACT)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_no_other_matrix_with_that_gram_is_closer(shape, method):
    """Every such matrix is O target with orthogonal O. (The control: random ones, and ones close to the best.)"""
    W, G = normal(*shape), normal(*shape, seed=1)
    target = W - 0.3 * G
    moved = same_gram(W, target, method)
    best = float((moved - W).norm())
    for seed in range(20):
        Q = random_orthogonal(shape[0], seed) if shape[0] > 1 else torch.tensor([[-1.0]]).double()
        assert float((Q @ target - W).norm()) >= best - 1e-12
        skew = normal(shape[0], shape[0], seed=seed)
        near = torch.linalg.matrix_exp(1e-3 * (skew - skew.T))
        assert gram_error(near @ moved, target) < 1e-13
        assert float((near @ moved - W).norm()) >= best - 1e-12
    # W (W^+)^T is symmetric and psd exactly at the minimum (the polar decomposition's characterization)
    product = W @ moved.T
    torch.testing.assert_close(product, product.T, rtol=0, atol=1e-12)
    assert torch.linalg.eigvalsh(product).min() > -1e-12


@pytest.mark.parametrize(("dtype", "bound"), [(torch.float64, 1e-12), (torch.float32, 3e-4)])
@pytest.mark.parametrize("condition", [1.0, 1e2, 1e4])
def test_newton_schulz_finds_the_factor_of_svd(dtype, bound, condition):
    """The factor's own conditioning is that of A: the bound on the difference grows with it, of orthonormality not."""
    A = with_spectrum(torch.logspace(0, -math.log10(condition), 40).tolist()).to(dtype)
    U, _, Vh = torch.linalg.svd(A.double())
    found = orthogonal_factor(A).double()
    assert float((found - U @ Vh).norm()) < bound * condition ** (0.5 if dtype == torch.float32 else 1)
    assert float((found @ found.T - torch.eye(40)).norm()) < 40 * 8 * torch.finfo(dtype).eps


def test_the_factor_of_a_stack_is_each_ones_factor():
    A = torch.stack([with_spectrum([1.0, 0.5, 0.1]), 1e-9 * with_spectrum([3.0, 3.0, 2.0], 5), normal(3, 3)])
    for method in METHODS:
        stacked = orthogonal_factor(A, method)
        for one, alone in zip(stacked, A, strict=True):
            torch.testing.assert_close(one, orthogonal_factor(alone, method), rtol=0, atol=1e-12)


def test_each_polynomial_is_the_best_of_its_kind():
    """The first for [low, 1] against a least-squares fit weighted towards the minimax one; the last leaves nothing."""
    low = 0.6  # below 0.5 they are the best for a little more than [low, 1]
    x = torch.linspace(low, 1, 2001, dtype=torch.float64)
    a, b, c = _polynomials(low)[0]
    values = a * x + b * x**3 + c * x**5
    middle = float(values.max() + values.min()) / 2
    error = float((values / middle - 1).abs().max())  # undoes the scaling to at most 1
    powers, weight = torch.stack([x, x**3, x**5], 1), torch.ones_like(x)
    for _ in range(1000):  # Lawson's iteration converges to the minimax polynomial
        root = weight.sqrt()[:, None]
        fit = torch.linalg.lstsq(powers * root, root).solution
        residual = (powers @ fit - 1).abs().flatten()
        weight = weight * residual
        weight /= weight.sum()
    assert error == pytest.approx(float(residual.max()), rel=2e-3)
    for low in (1e-14, 1e-6, 0.3, 0.999999999):
        x = torch.cat(
            [torch.logspace(math.log10(low), 0, 2000).double(), torch.linspace(0.999, 1 + 1e-9, 2000).double()]
        )
        x = x.clamp_min(low)
        for a, b, c in _polynomials(low):
            x = a * x + b * x**3 + c * x**5
        assert float((x - 1).abs().max()) < 1e-13


@pytest.mark.parametrize("shape", [(6, 40), (12, 12), (40, 6)])
def test_ten_steps_act_on_singular_values(shape):
    """By each value's own iteration; the smallest of a square matrix stay below 1, and the Gram lacks that."""
    W = normal(*shape)
    target = W - 0.3 * normal(*shape, seed=1)
    U, S, Vh = torch.linalg.svd(W @ target.T)
    reached = S / S.norm()
    for _ in range(10):
        reached = reached * (15 - 10 * reached**2 + 3 * reached**4) / 8
    moved = same_gram(W, target, "ten-steps")
    torch.testing.assert_close(moved, U @ torch.diag(reached) @ Vh @ target, rtol=0, atol=1e-9)
    lost = target.T @ Vh.T @ torch.diag(1 - reached**2) @ Vh @ target
    torch.testing.assert_close(target.T @ target - moved.T @ moved, lost, rtol=0, atol=1e-9)


def test_rank_deficient_weights():
    """W of rank 2: with svd the Gram is exact; newton-schulz keeps what W target^T reaches, and says so."""
    W = normal(6, 2) @ normal(2, 9, seed=1)
    target = W - 0.3 * normal(6, 9, seed=2)
    assert gram_error(same_gram(W, target, "svd"), target) < 1e-13
    product = W @ target.T
    U, _, Vh = torch.linalg.svd(product)
    reached = (U[:, :2] @ Vh[:2]) @ target
    moved = same_gram(W, target, "newton-schulz")
    # beside the directions that S has, round-off of S may give others, of any length below 1
    lost = moved - reached
    torch.testing.assert_close(U[:, :2].T @ lost, torch.zeros(2, 9).double(), rtol=0, atol=1e-9)
    assert torch.isfinite(moved).all()
    zero = same_gram(torch.zeros(3, 4).double(), normal(3, 4), "newton-schulz")
    assert torch.isfinite(zero).all()


@pytest.mark.parametrize("method", EXACT)
def test_the_optimizer_takes_the_defined_step(method):
    """Dense and convolutional weights by B.1, biases by SGD, with momentum and decay, against a loop over svd."""
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 3, 2), torch.nn.Flatten(), torch.nn.Linear(12, 5)).double()
    x, y = normal(9, 1, 3, 3), normal(9, 5, seed=1)
    ours = [parameter.detach().clone() for parameter in model.parameters()]
    buffers = [torch.zeros_like(parameter) for parameter in ours]
    steps = gramlab.WhitenedSGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01, method=method)
    for _ in range(4):
        steps.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        for index, parameter in enumerate(model.parameters()):
            buffers[index] = 0.9 * buffers[index] + parameter.grad + 0.01 * ours[index]
            target = ours[index] - 0.1 * buffers[index]
            if parameter.ndim > 1:
                matrix, flat = ours[index].reshape(len(target), -1), target.reshape(len(target), -1)
                U, _, Vh = torch.linalg.svd(matrix @ flat.T)
                target = (U @ Vh @ flat).reshape(target.shape)
            ours[index] = target
        steps.step()
        for parameter, mine in zip(model.parameters(), ours, strict=True):
            torch.testing.assert_close(parameter.detach(), mine, rtol=0, atol=1e-11)


def test_a_stack_moves_as_its_members_do():
    stack = torch.nn.Parameter(torch.stack([normal(4, 6, seed=seed) for seed in range(3)]))
    alone = [torch.nn.Parameter(one.detach().clone()) for one in stack]
    stack.grad = torch.stack([normal(4, 6, seed=seed + 9) for seed in range(3)])
    gramlab.WhitenedSGD([stack], lr=0.2, stacked=True).step()
    for index, one in enumerate(alone):
        one.grad = normal(4, 6, seed=index + 9)
        gramlab.WhitenedSGD([one], lr=0.2).step()
        torch.testing.assert_close(stack[index], one, rtol=0, atol=1e-13)


def test_whitened_and_complement_split_the_gradient():
    """Delta + Delta' = G; the Gram after lr * Delta' differs from W's at second order only, after lr * Delta at first.

    And Delta' solves the text's linear problem, argmin ||G - Delta'|| subject to W^T Delta' + Delta'^T W = 0, to
    first order: its residual W^T Delta' + Delta'^T W falls with lr.
    """
    W, G = normal(5, 8), normal(5, 8, seed=1)
    rates, changed, kept, residual = [2.0**-k for k in range(4, 12)], [], [], []
    for lr in rates:
        moves = []
        for complement in (False, True):
            parameter = torch.nn.Parameter(W.clone())
            parameter.grad = G.clone()
            gramlab.WhitenedSGD([parameter], lr=lr, method="svd", complement=complement).step()
            moves.append((W - parameter.detach()) / lr)
        torch.testing.assert_close(moves[0] + moves[1], G, rtol=0, atol=1e-10)
        changed.append(gram_error(W - lr * moves[0], W))
        kept.append(gram_error(W - lr * moves[1], W))
        residual.append(float((W.T @ moves[1] + moves[1].T @ W).norm()))
    slope = [math.log2(errors[0] / errors[-1]) / 7 for errors in (changed, kept, residual)]
    assert slope[0] == pytest.approx(1, abs=0.1)
    assert slope[1] == pytest.approx(2, abs=0.1)
    assert slope[2] == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize(
    ("given", "says"),
    [({"method": "qr"}, "no method 'qr'"), ({"lr": 0.0}, "lr cannot be 0.0"), ({"momentum": 1.0}, "momentum cannot")],
)
def test_bad_settings_are_named(given, says):
    with pytest.raises(NetError, match=says):
        gramlab.WhitenedSGD([torch.nn.Parameter(torch.zeros(2, 2))], **{"lr": 0.1, **given})


@pytest.mark.parametrize(
    ("own", "says"),
    [({"method": "SVD"}, "no method 'SVD'"), ({"lr": -1.0}, "lr cannot be -1.0"), ({"momentum": 2}, "momentum cannot"),
     ({"weight_decay": -1}, "weight_decay cannot")],
)  # fmt: skip
def test_bad_settings_of_one_group_are_named(own, says):
    good, bad = ({"params": [torch.nn.Parameter(torch.zeros(2, 2))]} for _ in range(2))
    with pytest.raises(NetError, match=says):
        gramlab.WhitenedSGD([good, {**bad, **own}], lr=0.1)
    steps = gramlab.WhitenedSGD([good], lr=0.1)
    with pytest.raises(NetError, match=says):
        steps.add_param_group({**bad, **own})
    assert len(steps.param_groups) == 1


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("method", EXACT)
@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (5, 5)])
def test_weights_of_16_bits_take_float32s_step(shape, method, dtype):
    parameter = torch.nn.Parameter(normal(*shape).to(dtype))
    parameter.grad = normal(*shape, seed=1).to(dtype)
    W, target = parameter.detach().double(), (parameter - 0.1 * parameter.grad).detach().double()
    U, _, Vh = torch.linalg.svd(W @ target.T)
    rank = min(shape)
    gramlab.WhitenedSGD([parameter], lr=0.1, method=method).step()
    assert parameter.dtype == dtype
    error = (parameter.detach().double() - U[:, :rank] @ Vh[:rank] @ target).norm() / W.norm()
    assert float(error) < 2 * torch.finfo(dtype).eps


def test_a_closure_is_called_and_its_loss_returned():
    parameter = torch.nn.Parameter(normal(2, 3))

    def closure():
        parameter.grad = None
        loss = parameter.square().sum()
        loss.backward()
        return float(loss.detach())

    before = float(parameter.detach().square().sum())
    steps = gramlab.WhitenedSGD([parameter], lr=0.1)
    assert steps.step(closure) == before
    torch.testing.assert_close(float(parameter.detach().square().sum()), 0.64 * before)
