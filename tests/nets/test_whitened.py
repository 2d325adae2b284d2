"""The whitened step of paper A, B.1, against its definition; the orthogonal factor against the SVD."""

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
    """All such matrices are O target with orthogonal O; the test takes random O, and O close to the best one."""
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
    # W (W^+)^T is symmetric and psd exactly at the minimum (characterisation of the polar decomposition)
    product = W @ moved.T
    torch.testing.assert_close(product, product.T, rtol=0, atol=1e-12)
    assert torch.linalg.eigvalsh(product).min() > -1e-12


@pytest.mark.parametrize(("dtype", "bound"), [(torch.float64, 1e-12), (torch.float32, 3e-4)])
@pytest.mark.parametrize("condition", [1.0, 1e2, 1e4])
def test_newton_schulz_agrees_with_svd(dtype, bound, condition):
    """The factor is as ill-conditioned as A, so the bound of the difference grows with the condition number."""
    A = with_spectrum(torch.logspace(0, -math.log10(condition), 40).tolist()).to(dtype)
    U, _, Vh = torch.linalg.svd(A.double())
    factor = orthogonal_factor(A).double()
    assert float((factor - U @ Vh).norm()) < bound * condition ** (0.5 if dtype == torch.float32 else 1)
    assert float((factor @ factor.T - torch.eye(40)).norm()) < 40 * 8 * torch.finfo(dtype).eps


@pytest.mark.parametrize("smallest", [0.1, 0.03, 0.01, 0.003])
def test_newton_schulz_if_the_weakest_direction_is_hidden_from_its_estimate(smallest):
    """The estimate starts from the vector of ones, which here is a singular vector of the largest singular value."""
    ones = torch.full((4, 4), 0.25, dtype=torch.float64)
    A = ones + smallest * (torch.eye(4, dtype=torch.float64) - ones)  # symmetric and positive: the factor is I
    for matrix in (A, torch.stack([A, torch.eye(4, dtype=torch.float64)])):
        expected = torch.eye(4, dtype=torch.float64).expand_as(matrix)
        torch.testing.assert_close(orthogonal_factor(matrix), expected, rtol=0, atol=1e-12)


def test_stacked_matrices_have_the_factors_of_each():
    A = torch.stack([with_spectrum([1.0, 0.5, 0.1]), 1e-9 * with_spectrum([3.0, 3.0, 2.0], 5), normal(3, 3)])
    for method in METHODS:
        stacked = orthogonal_factor(A, method)
        for factor, matrix in zip(stacked, A, strict=True):
            torch.testing.assert_close(factor, orthogonal_factor(matrix, method), rtol=0, atol=1e-12)


def test_each_polynomial_is_the_best_of_its_kind():
    """The first polynomial agrees with Lawson's weighted least squares; all together they map [low, 1] to 1."""
    low = 0.6  # below 0.5 the polynomials are the best ones for slightly more than [low, 1]
    x = torch.linspace(low, 1, 2001, dtype=torch.float64)
    a, b, c = _polynomials(low)[0]
    values = a * x + b * x**3 + c * x**5
    centre = float(values.max() + values.min()) / 2
    error = float((values / centre - 1).abs().max())  # without the scaling to at most 1
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
def test_ten_steps_change_the_singular_values_alone(shape):
    """Each singular value follows the scalar iteration; small ones stay below 1, and the Gram matrix lacks the rest."""
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
    """For W of rank 2, or 0, the Gram is that of the target in all directions."""
    W = normal(6, 2) @ normal(2, 9, seed=1)
    target = W - 0.3 * normal(6, 9, seed=2)
    assert gram_error(same_gram(W, target, "svd"), target) < 1e-13
    assert gram_error(same_gram(W, target, "newton-schulz"), target) < 1e-13
    target = normal(3, 4)
    assert gram_error(same_gram(torch.zeros(3, 4).double(), target, "newton-schulz"), target) < 1e-13


@pytest.mark.parametrize("method", EXACT)
def test_a_head_of_zeros_learns(method):
    """The Gram of each step is that of the plain step, from zeros on."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    torch.nn.init.zeros_(model[2].weight)
    optimizer = gramlab.WhitenedSGD(model.parameters(), lr=0.1, method=method)
    x, y = torch.randn(40, 6), torch.arange(40) % 3
    for _ in range(50):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        targets = [p.detach() - 0.1 * p.grad for p in model.parameters() if p.ndim == 2]
        optimizer.step()
        for p, target in zip((p for p in model.parameters() if p.ndim == 2), targets, strict=True):
            assert gram_error(p.detach(), target) < 1e-4
    assert float(model[2].weight.detach().norm()) > 0.3


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("entry", [float("nan"), float("inf")])
@pytest.mark.parametrize("shape", [(2, 3), (3, 2)])
def test_a_gradient_without_a_step_is_named(shape, entry, method):
    """An infinity makes NaNs of products, with which not every decomposition fails."""
    model = torch.nn.Linear(*shape[::-1])
    for parameters, name in ((model.named_parameters(), "'weight'"), (model.parameters(), "number 0 of its group")):
        optimizer = gramlab.WhitenedSGD(parameters, lr=0.1, method=method)
        model.weight.grad = torch.zeros(shape)
        model.weight.grad[0, 1] = entry
        with pytest.raises(NetError, match=f"gradient of the parameter {name}.*holds a NaN"):
            optimizer.step()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_a_step_that_fails_changes_nothing(momentum, method):
    """The next step is that of an optimizer that never failed."""
    models = [torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)).double() for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    options = {"lr": 0.1, "momentum": momentum, "weight_decay": 0.01, "method": method}
    optimizers = [gramlab.WhitenedSGD(model.parameters(), **options) for model in models]
    for step, fails in enumerate((True, False, True, False)):
        gradients = [normal(*parameter.shape, seed=step) for parameter in models[0].parameters()]
        for model in models:
            for parameter, gradient in zip(model.parameters(), gradients, strict=True):
                parameter.grad = gradient.clone()
        if fails:
            models[0][1].weight.grad[1, 2] = float("nan")
            with pytest.raises(NetError, match="holds a NaN"):
                optimizers[0].step()
        else:
            for optimizer in optimizers:
                optimizer.step()
        for parameter, expected in zip(models[0].parameters(), models[1].parameters(), strict=True):
            assert torch.equal(parameter, expected)
    buffers = ([optimizer.state[p].get("momentum_buffer") for p in model.parameters()]
               for optimizer, model in zip(optimizers, models, strict=True))  # fmt: skip
    for buffer, expected in zip(*buffers, strict=True):
        assert buffer is expected is None or torch.equal(buffer, expected)


@pytest.mark.parametrize("settings", [{"lr": math.inf}, {"lr": math.nan}, {"lr": 0.1, "weight_decay": math.inf}])
def test_settings_without_end_are_refused(settings):
    with pytest.raises(NetError, match="must be"):
        gramlab.WhitenedSGD(torch.nn.Linear(3, 2).parameters(), **settings)


@pytest.mark.parametrize("method", EXACT)
def test_the_optimizer_takes_the_step_of_its_definition(method):
    """A loop over svd has the same dense and convolutional weights and biases, with momentum and decay."""
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 3, 2), torch.nn.Flatten(), torch.nn.Linear(12, 5)).double()
    x, y = normal(9, 1, 3, 3), normal(9, 5, seed=1)
    expected = [parameter.detach().clone() for parameter in model.parameters()]
    buffers = [torch.zeros_like(parameter) for parameter in expected]
    optimizer = gramlab.WhitenedSGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01, method=method)
    for _ in range(4):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        for index, parameter in enumerate(model.parameters()):
            buffers[index] = 0.9 * buffers[index] + parameter.grad + 0.01 * expected[index]
            target = expected[index] - 0.1 * buffers[index]
            if parameter.ndim > 1:
                matrix, flat = expected[index].reshape(len(target), -1), target.reshape(len(target), -1)
                U, _, Vh = torch.linalg.svd(matrix @ flat.T)
                target = (U @ Vh @ flat).reshape(target.shape)
            expected[index] = target
        optimizer.step()
        for parameter, value in zip(model.parameters(), expected, strict=True):
            torch.testing.assert_close(parameter.detach(), value, rtol=0, atol=1e-11)


def test_stacked_weights_take_the_steps_of_each():
    stack = torch.nn.Parameter(torch.stack([normal(4, 6, seed=seed) for seed in range(3)]))
    separate = [torch.nn.Parameter(weight.detach().clone()) for weight in stack]
    stack.grad = torch.stack([normal(4, 6, seed=seed + 9) for seed in range(3)])
    gramlab.WhitenedSGD([stack], lr=0.2, stacked=True).step()
    for index, weight in enumerate(separate):
        weight.grad = normal(4, 6, seed=index + 9)
        gramlab.WhitenedSGD([weight], lr=0.2).step()
        torch.testing.assert_close(stack[index], weight, rtol=0, atol=1e-13)


def test_whitened_and_complement_split_the_gradient():
    """Delta + Delta' = G. A step by Delta changes the Gram matrix at first order in lr, by Delta' at second order.

    Delta' solves the paper's linear problem, argmin ||G - Delta'|| subject to W^T Delta' + Delta'^T W = 0, up to first
    order: the residual W^T Delta' + Delta'^T W is proportional to lr.
    """
    W, G = normal(5, 8), normal(5, 8, seed=1)
    rates, by_delta, by_complement, residual = [2.0**-k for k in range(4, 12)], [], [], []
    for lr in rates:
        moves = []
        for complement in (False, True):
            parameter = torch.nn.Parameter(W.clone())
            parameter.grad = G.clone()
            gramlab.WhitenedSGD([parameter], lr=lr, method="svd", complement=complement).step()
            moves.append((W - parameter.detach()) / lr)
        torch.testing.assert_close(moves[0] + moves[1], G, rtol=0, atol=1e-10)
        by_delta.append(gram_error(W - lr * moves[0], W))
        by_complement.append(gram_error(W - lr * moves[1], W))
        residual.append(float((W.T @ moves[1] + moves[1].T @ W).norm()))
    slope = [math.log2(errors[0] / errors[-1]) / 7 for errors in (by_delta, by_complement, residual)]
    assert slope[0] == pytest.approx(1, abs=0.1)
    assert slope[1] == pytest.approx(2, abs=0.1)
    assert slope[2] == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"method": "qr"}, "method must be .* not 'qr'"),
        ({"lr": 0.0}, "lr must be a positive number, not 0.0"),
        ({"momentum": 1.0}, "momentum must"),
    ],
)
def test_wrong_settings_are_named(settings, says):
    with pytest.raises(NetError, match=says):
        gramlab.WhitenedSGD([torch.nn.Parameter(torch.zeros(2, 2))], **{"lr": 0.1, **settings})


@pytest.mark.parametrize(
    ("settings", "says"),
    [({"method": "SVD"}, "method must be .* not 'SVD'"), ({"lr": -1.0}, "lr must be .* not -1.0"),
     ({"momentum": 2}, "momentum must"), ({"weight_decay": -1}, "weight_decay must")],
)  # fmt: skip
def test_wrong_settings_of_one_group_are_named(settings, says):
    good, bad = ({"params": [torch.nn.Parameter(torch.zeros(2, 2))]} for _ in range(2))
    with pytest.raises(NetError, match=says):
        gramlab.WhitenedSGD([good, {**bad, **settings}], lr=0.1)
    optimizer = gramlab.WhitenedSGD([good], lr=0.1)
    with pytest.raises(NetError, match=says):
        optimizer.add_param_group({**bad, **settings})
    assert len(optimizer.param_groups) == 1


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("method", EXACT)
@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (5, 5)])
def test_weights_of_16_bits_take_the_step_of_float32(shape, method, dtype):
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
    optimizer = gramlab.WhitenedSGD([parameter], lr=0.1)
    assert optimizer.step(closure) == before
    torch.testing.assert_close(float(parameter.detach().square().sum()), 0.64 * before)
