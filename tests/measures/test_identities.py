"""The two identities that the library computes by, AGOP = WᵀKW and FACT = −(1/λ)Wᵀ∇_W L, from independent code."""

import torch
from helpers import relative
from torch import nn
from torch.func import functional_call, jacrev, vmap

import gramlab


def net():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(7, 9), nn.Tanh(), nn.Linear(9, 8, bias=False), nn.GELU(), nn.Linear(8, 3)).double()


def test_agop_by_differentiating_with_respect_to_the_layers_input():
    model = net()
    x = torch.randn(50, 7, dtype=torch.float64)
    measured = gramlab.measure(model, x, batch_size=13)
    for name in ("0", "2", "4"):
        head = model[int(name) :]
        J = vmap(jacrev(head))(gramlab.features(model, x, name)[name])
        assert relative(measured[name].agop, torch.einsum("ncd,nce->de", J, J) / 50) < 1e-12


def test_fact_by_the_papers_sum_over_samples():
    model = net()
    x, y = torch.randn(50, 7, dtype=torch.float64), torch.randint(0, 3, (50,))
    measured = gramlab.measure(model, x, y, loss="cross_entropy", weight_decay=0.3, batch_size=13)
    for name in ("0", "2", "4"):
        h, head = gramlab.features(model, x, name)[name], model[int(name) :]
        grad_h = vmap(jacrev(lambda h, y, f=head: nn.functional.cross_entropy(f(h), y)))(h, y)
        assert relative(measured[name].fact, -torch.einsum("ni,nj->ij", grad_h, h) / (50 * 0.3)) < 1e-12
        assert relative(measured[name].enfa, torch.einsum("ni,nj->ij", grad_h, grad_h) / 50) < 1e-12
        moved = h - 0.1 * grad_h / 50
        assert relative(measured[name].virtual_shift(0.1), moved.T @ moved - h.T @ h) < 1e-9

        def loss(W, name=name):
            return nn.functional.cross_entropy(functional_call(model, {f"{name}.weight": W}, x), y)

        W = model.get_parameter(f"{name}.weight")
        assert relative(measured[name].fact, -(W.T @ jacrev(loss)(W)) / 0.3) < 1e-12
        assert relative(measured[name].back_fact, -(W @ jacrev(loss)(W).T) / 0.3) < 1e-12
