"""A model compiled in place keeps its compilation."""

import pytest
import torch
from torch import nn

import gramlab

torch.set_num_threads(1)


@pytest.fixture
def graphs():
    """A compiler that counts what it compiles and what is run."""
    counts = {"compiled": 0, "run": 0}

    def compiler(graph, _):
        counts["compiled"] += 1

        def run(*arguments):
            counts["run"] += 1
            return graph.forward(*arguments)

        return run

    torch._dynamo.reset()
    yield counts, compiler
    torch._dynamo.reset()


@pytest.mark.parametrize("part", ["model", "a block"])
def test_a_compilation_is_neither_used_nor_lost(part, graphs):
    counts, compiler = graphs
    torch.manual_seed(0)
    block = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
    model, x, y = nn.Sequential(block, nn.Linear(8, 3)), torch.randn(40, 6), torch.randint(3, (40,))
    expected = gramlab.measure(model, x, y)
    module = model if part == "model" else block
    module.compile(backend=compiler)
    compiled = module._compiled_call_impl
    model(x)
    before = dict(counts)
    assert before == {"compiled": 1, "run": 1}
    measurement = gramlab.measure(model, x, y)
    gramlab.features(model, x)
    torch.testing.assert_close(measurement["0.0"].agop, expected["0.0"].agop)
    assert counts == before
    assert module._compiled_call_impl is compiled
    model(x)
    assert counts == {"compiled": 1, "run": 2}


def test_a_compilation_comes_back_after_an_error():
    model = nn.Linear(6, 3)
    model.compile(backend="eager")
    compiled = model._compiled_call_impl
    with pytest.raises(ValueError, match="the model fails on inputs"):
        gramlab.measure(model, torch.randn(4, 5))
    assert model._compiled_call_impl is compiled
