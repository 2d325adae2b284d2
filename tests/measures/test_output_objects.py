"""Outputs in an object or a dict."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

import gramlab

torch.set_num_threads(1)
KINDS = {
    "dict": lambda f: {"loss": None, "logits": f, "last_hidden_state": 2 * f},
    "dict without logits": lambda f: {"logits": None, "last_hidden_state": f},
    "object": lambda f: SimpleNamespace(logits=f, last_hidden_state=2 * f),
}


@pytest.mark.parametrize("kind", KINDS)
def test_logits_are_taken(kind):
    torch.manual_seed(0)
    layer, x, y = nn.Linear(6, 3), torch.randn(40, 6), torch.randint(3, (40,))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, x):
            return KINDS[kind](self.layer(x))

    measurement = gramlab.measure(Model(), x, y)
    expected = nn.functional.cross_entropy(layer(x), y)
    (gradient,) = torch.autograd.grad(expected, layer.weight)
    assert measurement.loss == pytest.approx(expected.item(), rel=1e-6)
    torch.testing.assert_close(measurement["layer"].weight_gradient.float(), gradient)


def test_a_dict_without_outputs_is_refused():
    class Model(nn.Sequential):
        def forward(self, x):
            return {"scores": super().forward(x)}

    with pytest.raises(ValueError, match="the model gave a dict, not a tensor; pass forward="):
        gramlab.measure(Model(nn.Linear(6, 3)), torch.randn(4, 6))
