"""What may not change a measure, and what must change it in a known way, on random networks and features."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from architectures import cases
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

import gramlab
from gramlab.kernels.functions import INNER, RADIAL, Kernel, agop, fact

FEW = settings(max_examples=12, derandomize=True, deadline=None, database=None,
               suppress_health_check=list(HealthCheck))  # fmt: skip
SEEDS = st.integers(0, 999)
AVERAGES = ("ptk", "agop", "enfa", "back_enfa", "fact", "back_fact", "weight_gradient")
AT_INPUT, AT_OUTPUT = ("gram", "agop", "enfa", "fact"), ("back_gram", "ptk", "back_enfa", "back_fact")


def assert_close(actual, expected, bound=1e-10):
    assert actual.shape == expected.shape
    assert float((actual - expected).norm()) <= bound * float(expected.norm())


def measured(model, x, y, loss="mse"):
    return gramlab.measure(model, x, y, loss=loss, weight_decay=0.2)


def network(random, sizes):
    """Layers with biases and tanh between them."""
    parts = []
    for width, outputs in pairwise(sizes):
        linear = nn.Linear(width, outputs).double()
        linear.weight.data = torch.from_numpy(random.normal(size=(outputs, width)))
        linear.bias.data = torch.from_numpy(random.normal(size=outputs))
        parts += [linear, nn.Tanh()]
    return nn.Sequential(*parts[:-1])


def problem(seed):
    """A network with two hidden layers of 5 and 4 units, inputs and targets."""
    random = np.random.default_rng(seed)
    x, y = (torch.from_numpy(random.normal(size=(9, width))) for width in (3, 2))
    return random, network(random, (3, 5, 4, 2)), x, y


@FEW
@given(cases(), st.integers(2, 3), SEEDS)
def test_averages_do_not_see_the_order_and_the_copies_of_samples(case, copies, seed):
    order = torch.from_numpy(np.random.default_rng(seed).permutation(copies * len(case.x)))
    x, y = (torch.cat([values] * copies)[order] for values in (case.x, case.y))
    before, after = measured(case.model, case.x, case.y, case.loss), measured(case.model, x, y, case.loss)
    for name, layer in before.items():
        for quantity in AVERAGES:
            assert_close(getattr(after[name], quantity), getattr(layer, quantity))


@FEW
@given(cases())
def test_forward_and_backward_forms_share_traces_and_spectra(case):
    """tr(AGOP) = tr(K WWᵀ); of WᵀW and WWᵀ, and of FACT and bFACT, the traces of all powers agree."""
    for layer in measured(case.model, case.x, case.y, case.loss).values():
        for inner, outer in (("agop", "ptk"), ("enfa", "back_enfa")):
            trace = torch.einsum("...ij,...ji->...", getattr(layer, outer), layer.back_gram)
            torch.testing.assert_close(torch.einsum("...ii->...", getattr(layer, inner)), trace)
        for forward, backward in ((layer.gram, layer.back_gram), (layer.fact, layer.back_fact)):
            scale = torch.linalg.matrix_norm(forward) + torch.linalg.matrix_norm(backward)
            for power in (1, 2, 3):
                traces = [torch.linalg.matrix_power(m, power).diagonal(dim1=-2, dim2=-1).sum(-1)
                          for m in (forward, backward)]  # fmt: skip
                assert bool(((traces[0] - traces[1]).abs() <= 1e-11 * scale**power).all())


@FEW
@given(SEEDS)
def test_fact_and_its_backward_form_have_the_same_nonzero_eigenvalues(seed):
    _, model, x, y = problem(seed)
    layer = measured(model, x, y)["2"]  # FACT is 5 x 5 of rank 4, its backward form 4 x 4
    forward, backward = (np.sort_complex(np.linalg.eigvals(m.numpy())) for m in (layer.fact, layer.back_fact))
    largest = np.abs(backward).max()
    nonzero = np.sort_complex(np.delete(forward, np.abs(forward).argmin()))
    assert np.abs(forward).min() < 1e-9 * largest
    # numpy's order may swap a conjugate pair whose real parts differ by rounding
    distances = np.abs(nonzero[:, None] - backward[None])
    assert max(distances.min(0).max(), distances.min(1).max()) < 1e-8 * largest


@FEW
@given(SEEDS)
def test_permuted_hidden_units_permute_what_is_theirs_and_leave_the_rest(seed):
    random, model, x, y = problem(seed)
    before, order = measured(model, x, y), torch.from_numpy(random.permutation(5))
    model[0].weight.data, model[0].bias.data = model[0].weight.data[order], model[0].bias.data[order]
    model[2].weight.data = model[2].weight.data[:, order]
    after = measured(model, x, y)
    for layer, unmoved, moved in (("0", AT_INPUT, AT_OUTPUT), ("2", AT_OUTPUT, AT_INPUT), ("4", AT_INPUT, ())):
        for quantity in unmoved:
            assert_close(getattr(after[layer], quantity), getattr(before[layer], quantity))
        for quantity in moved:
            assert_close(getattr(after[layer], quantity), getattr(before[layer], quantity)[order][:, order])


@FEW
@given(SEEDS, st.integers(1, 3))
def test_added_zero_units_change_nothing(seed, added):
    random, model, x, y = problem(seed)
    wide = network(random, (3, 5 + added, 4, 2))
    for name, parameter in wide.named_parameters():
        small = model.get_parameter(name).data
        parameter.data.zero_()
        parameter.data[tuple(slice(size) for size in small.shape)] = small
    before, after = measured(model, x, y), measured(wide, x, y)
    for layer, quantities in (("0", AT_INPUT), ("2", AT_OUTPUT), ("4", AT_INPUT + AT_OUTPUT)):
        for quantity in quantities:
            assert_close(getattr(after[layer], quantity), getattr(before[layer], quantity))


@FEW
@given(SEEDS)
def test_rotated_inputs_rotate_the_agop_and_linear_maps_of_outputs_act_on_the_jacobian(seed):
    random, model, x, y = problem(seed)
    before = measured(model, x, y)["0"]
    Q, R = (torch.from_numpy(np.linalg.qr(random.normal(size=(size, size)))[0]) for size in (3, 2))
    weight, readout = model[0].weight.data, model[4].weight.data
    model[0].weight.data = weight @ Q.T
    rotated = measured(model, x @ Q.T, y)["0"]
    for quantity in AT_INPUT:
        assert_close(getattr(rotated, quantity), Q @ getattr(before, quantity) @ Q.T)
    model[0].weight.data = weight
    for outputs, factor in ((R, 1.0), (3 * R, 9.0)):  # Σ_c of the rows of RJ is that of J
        model[4].weight.data = outputs @ readout
        assert_close(measured(model, x, y)["0"].agop, factor * before.agop)
    A = torch.from_numpy(random.normal(size=(4, 2)))
    mapped = nn.Sequential(*model[:4], nn.Linear(4, 4).double())
    mapped[4].weight.data = A @ readout
    J = torch.func.vmap(torch.func.jacrev(lambda point: readout @ model[:4](point)))(x).detach()
    assert_close(measured(mapped, x, torch.zeros(9, 4).double())["0"].agop, (A @ J).flatten(0, 1).T
                 @ (A @ J).flatten(0, 1) / 9)  # fmt: skip


@FEW
@given(SEEDS, st.sampled_from(RADIAL + INNER))
def test_the_features_of_a_kernel_machine_rotate_with_its_inputs(seed, name):
    random, kernel = np.random.default_rng(seed), Kernel(name, 2.0)
    x, alpha, root = (torch.from_numpy(random.normal(size=shape)) for shape in ((8, 3), (8, 2), (3, 3)))
    M, Q = root @ root.T, torch.from_numpy(np.linalg.qr(random.normal(size=(3, 3)))[0])
    assert_close(kernel.matrix(x @ Q.T, None, Q @ M @ Q.T), kernel.matrix(x, None, M))
    for matrix in (lambda x, M: agop(kernel, x, x, alpha, M), lambda x, M: fact(kernel, x, alpha, M)):
        assert_close(matrix(x @ Q.T, Q @ M @ Q.T), Q @ matrix(x, M) @ Q.T)
    order = torch.from_numpy(random.permutation(8))
    assert_close(agop(kernel, x[order], x[order], alpha[order], M), agop(kernel, x, x, alpha, M))


def features(seed, rows=20, columns=4):
    """Features, targets with means of their own, and an invertible map of the features."""
    random = np.random.default_rng(seed)
    H, Y = random.normal(size=(rows, columns)) + 0.3, random.normal(size=(rows, 2)) + random.normal(size=2)
    A = np.linalg.qr(random.normal(size=(columns, columns)))[0] * np.geomspace(1, 1e3, columns)
    return random, H, Y + H @ random.normal(size=(columns, 2)), A @ np.linalg.qr(random.normal(size=A.shape))[0]


@FEW
@given(SEEDS)
def test_target_linearity_is_in_its_range_and_does_not_see_invertible_maps(seed):
    random, H, Y, A = features(seed)
    Q = np.linalg.qr(random.normal(size=(2, 2)))[0]
    order = random.permutation(len(H))
    for center in (False, True):
        value = gramlab.target_linearity(H, Y, center=center)
        least = 0.0 if center else 1 - np.sum(Y**2) / np.sum((Y - Y.mean(0)) ** 2)
        assert least <= value <= 1
        for features_, targets in ((H @ A, Y), (H, 5 * Y @ Q), (H[order], Y[order]), (np.tile(H, (2, 1)),
                                   np.tile(Y, (2, 1))), (np.hstack([H, 0 * H[:, :2]]), Y)):  # fmt: skip
            assert gramlab.target_linearity(features_, targets, center=center) == pytest.approx(value, abs=1e-9)
        more = np.hstack([H, random.normal(size=(len(H), 2))])
        assert gramlab.target_linearity(more, Y, center=center) >= value - 1e-12
        ridges = [gramlab.target_linearity(H, Y, ridge, center=center) for ridge in (0, 0.1, 1, 10, 1e3, 1e9)]
        assert (np.diff(ridges) < 1e-12).all()
        assert ridges[-1] == pytest.approx(least, abs=1e-5)
    W = random.normal(size=(3, 4))
    for quantity in (gramlab.surrogate(H[order], W, Y[order] @ Q), gramlab.surrogate(H, W[[2, 0, 1]], Y)):
        assert quantity == pytest.approx(gramlab.surrogate(H, W, Y))


@FEW
@given(SEEDS, st.booleans())
def test_collapse_does_not_see_rotations_units_and_names_and_its_traces_add_up(seed, uneven):
    random = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(4).repeat(3), np.zeros(5 * uneven, int)])
    H = random.normal(size=(len(labels), 6)) + 2 * random.normal(size=(4, 6))[labels]
    collapse = gramlab.neural_collapse(H, labels)
    assert collapse.within + collapse.between == pytest.approx(((H - H.mean(0)) ** 2).sum() / len(H), rel=1e-12)
    Q, order = np.linalg.qr(random.normal(size=(6, 6)))[0], random.permutation(len(H))
    names, tiled = random.permutation(4) * 11 - 7, np.tile(np.arange(len(H)), 3)
    for other in (
        gramlab.neural_collapse(1e3 * H @ Q + random.normal(size=6), labels),
        gramlab.neural_collapse(H[order], labels[order]),
        gramlab.neural_collapse(H, names[labels]),
        gramlab.neural_collapse(H[tiled], labels[tiled]),
        gramlab.neural_collapse(np.hstack([H, np.ones((len(H), 2))]), labels),
    ):
        assert (other.nc1, other.nc2) == pytest.approx((collapse.nc1, collapse.nc2), rel=1e-9)
