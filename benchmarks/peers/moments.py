"""The eNFA and the inputs' second moments of three layers, beside programs for Kronecker-factored curvature.

Those programs compute of each layer z = W h two matrices at once: the sum of h hᵀ, and the sum of g gᵀ, where g is the
gradient of a sample's loss with respect to z. The second is the middle of gramlab's eNFA, Wᵀ (Σ g gᵀ) W / n.

Each program is compared twice. Once as a user asks for the eNFA: gramlab computes it alone, and the peer cannot leave
out its first matrix. Once with the same results on both sides: gramlab's program takes the first matrix from
``gramlab.features``, at the price of one more forward pass. The networks have no biases, since some programs count a
bias as one more input.
"""

import copy
import logging
import tempfile
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

import gramlab
from peers.pair import Pair, Program, joined, network

LAYERS = ("0", "2", "4")
BATCH = 1000
SIZE = "MLP 256-256-256-10 without biases, n = 4,000 in batches of 1,000, float32"
ALONE = "`enfa` of three layers; the peer also computes the inputs' second moments"
BOTH = "`enfa` and the inputs' second moments of three layers, the latter by `features`"


class Problem:
    """A network and its data, and both programs' matrices as gramlab's quantities."""

    def __init__(self, both: bool) -> None:
        self.both = both
        self.model = network(256, 256, 256, 10, bias=False)
        self.x, self.y = torch.randn(4000, 256), torch.randint(0, 10, (4000,))

    def batches(self) -> list[tuple[Tensor, Tensor]]:
        return list(zip(self.x.split(BATCH), self.y.split(BATCH), strict=True))

    def loss(self, outputs: Tensor, labels: Tensor) -> Tensor:
        return nn.functional.cross_entropy(outputs, labels, reduction="sum")

    def ours(self) -> Tensor:
        m = gramlab.measure(self.model, self.x, self.y, loss="cross_entropy", quantities=["enfa"], batch_size=BATCH)
        moments = [m[name].enfa for name in LAYERS]
        if self.both:
            inputs = gramlab.features(self.model, self.x, batch_size=BATCH)
            moments += [inputs[name].T @ inputs[name] for name in LAYERS]
        return joined(moments)

    def of_sums(self, gradients: list[Tensor], inputs: list[Tensor]) -> Tensor:
        """The peer's two sums of each layer as gramlab's quantities."""
        weights = [self.model.get_submodule(name).weight.detach().double() for name in LAYERS]
        outer = [W.T @ K.double() @ W / len(self.x) for W, K in zip(weights, gradients, strict=True)]
        return joined(outer + inputs if self.both else outer)


def by_curvlinops(both: bool) -> tuple[Program, Program]:
    """KFAC's two factors, as its linear operator computes them before any product."""
    from curvlinops import KFACLinearOperator

    problem = Problem(both)

    def theirs() -> Tensor:
        operator = KFACLinearOperator(
            problem.model, nn.CrossEntropyLoss(reduction="sum"), list(problem.model.parameters()), problem.batches(),
            fisher_type="empirical", check_deterministic=False,
        )  # fmt: skip
        operator.compute_kronecker_factors()
        outer, inner = operator._gradient_covariances, operator._input_covariances
        # it divides the sum of h hᵀ by n
        return problem.of_sums([outer[name] for name in LAYERS], [inner[name] * len(problem.x) for name in LAYERS])

    return problem.ours, theirs


def by_kronfluence(both: bool) -> tuple[Program, Program]:
    """The covariance step of its influence factors. Its loader is a list, so that no time goes into fetching rows."""
    from kronfluence.analyzer import prepare_model
    from kronfluence.arguments import FactorArguments
    from kronfluence.factor.covariance import fit_covariance_matrices_with_loader
    from kronfluence.task import Task
    from kronfluence.utils.state import State

    problem = Problem(both)

    class Classification(Task):
        def compute_train_loss(self, batch, model, sample=False):
            return problem.loss(model(batch[0]), batch[1])

        def compute_measurement(self, batch, model):
            raise NotImplementedError("the peer declares it abstract, and covariances do not need it")

    task, state, settings = Classification(), State(cpu=True), FactorArguments(use_empirical_fisher=True)
    model = prepare_model(copy.deepcopy(problem.model), task)

    def theirs() -> Tensor:
        _, covariances = fit_covariance_matrices_with_loader(
            model, state, task, problem.batches(), settings, disable_tqdm=True
        )
        return problem.of_sums(*(
            [covariances[kind][name] for name in LAYERS] for kind in ("gradient_covariance", "activation_covariance")
        ))  # fmt: skip

    return problem.ours, theirs


def by_bergson(both: bool) -> tuple[Program, Program]:
    """The collector of its KFAC. Each sample is a sequence of one position; it writes what it found to files."""
    logging.disable(logging.INFO)
    from bergson.hessians.kfac import CovarianceCollector

    problem = Problem(both)

    def theirs() -> Tensor:
        model = problem.model
        with tempfile.TemporaryDirectory() as folder:
            collector = CovarianceCollector(model=model, dtype=torch.float32, path=folder)
            for x, y in problem.batches():
                with collector.with_batch(torch.ones(len(x), 1, dtype=torch.bool)):
                    problem.loss(model(x.unsqueeze(1)).squeeze(1), y).backward()
                    model.zero_grad()
            collector.teardown()
        outer, inner = collector.S_cov_dict, collector.A_cov_dict
        return problem.of_sums([outer[name] for name in LAYERS], [inner[name] for name in LAYERS])

    return problem.ours, theirs


def _pairs(peer: str, install: str, programs: Callable[..., tuple[Program, Program]]) -> tuple[Pair, Pair]:
    alone, both = (
        Pair(peer, peer, quantity, SIZE, 1e-5, partial(programs, both), install)
        for quantity, both in ((ALONE, False), (BOTH, True))
    )
    return alone, both


PAIRS = (
    *_pairs("curvlinops", "curvlinops-for-pytorch", by_curvlinops),
    *_pairs("kronfluence", "kronfluence", by_kronfluence),
    *_pairs("bergson", "bergson", by_bergson),
)
