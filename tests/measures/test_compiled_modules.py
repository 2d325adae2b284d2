"""What is compiled in a model, in place or not, is neither used nor compiled again."""

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


class Compiled(nn.Module):
    """A block that is compiled as a module of its own, or called by a function that is compiled."""

    def __init__(self, block, compiler, how):
        super().__init__()
        self.block = torch.compile(block, backend=compiler) if how == "module" else block
        self.head = nn.Linear(8, 3)
        self.run = torch.compile(self.encode, backend=compiler) if how == "function" else self.encode

    def encode(self, x):
        return self.block(x)

    def forward(self, x):
        return self.head(self.run(x))


@pytest.mark.parametrize("how", ["module", "function"])
def test_what_is_compiled_within_a_model_is_not_compiled_again(how, graphs):
    """Each measurement has hooks of its own, for which torch would compile anew until it gives up."""
    counts, compiler = graphs
    torch.manual_seed(0)
    block, x = nn.Sequential(nn.Linear(6, 8), nn.ReLU()), torch.randn(40, 6)
    model = Compiled(block, compiler, how)
    expected = gramlab.measure(nn.Sequential(block, model.head), x)
    model(x)
    before = dict(counts)
    assert before == {"compiled": 1, "run": 1}
    for _ in range(2):
        measurement = gramlab.measure(model, x)
        gramlab.features(model, x)
    for measured, layer in zip(measurement.values(), expected.values(), strict=True):
        assert torch.equal(measured.agop, layer.agop)
    with pytest.raises(ValueError, match="the model fails on inputs"):
        gramlab.measure(model, x[:, :5])
    assert counts == before
    model(x)
    assert counts == {"compiled": 1, "run": 2}


def test_a_compiled_function_may_measure(graphs):
    """Within it torch refuses to run what is compiled uncompiled."""
    _, compiler = graphs
    model, x = nn.Linear(6, 3), torch.randn(40, 6)
    measured = torch.compile(lambda: gramlab.measure(model, x, quantities=["gram"])[""].gram, backend=compiler)()
    torch.testing.assert_close(measured, (model.weight.mT @ model.weight).double())
