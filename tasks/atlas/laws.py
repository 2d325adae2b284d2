"""The entrants: laws for WᵀW. To enter another law, write a function and add it to LAWS.

A law is a function of a `tasks.atlas.layer.Layer` that returns a matrix of the target's shape, or None where the law
is undefined (on the other side, without weight decay, without its sum). It must not read the target itself.

    def pull(layer):
        return layer.pull + layer.pull.mT

    LAWS = (..., Law("pull", pull, "−(Wᵀ∇L + ∇LᵀW)"))

The next run of the atlas scores it in every cell (docs/how-to/atlas.md).
"""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from tasks.atlas.layer import Layer, root

POWERS = {"1/4": 1 / 4, "1/3": 1 / 3, "1/2": 1 / 2, "2/3": 2 / 3, "1": 1.0}  # the exponents s of AGOP^s that are scored

Matrix = Callable[[Layer], Tensor | None]


@dataclass(frozen=True)
class Law:
    """An entrant.

    Attributes
    ----------
    name : str
        The value of the column ``entrant``.
    matrix : callable Layer -> Tensor or None
    formula : str
        The formula, for readers.
    source : str
        The paper and the place in it.
    control : bool
        Whether the entrant must lose.
    from_start : bool
        Whether the matrix contains W₀ᵀW₀. It is subtracted before a comparison with the change of the Gram matrix.
    of_history : bool
        Whether training accumulated the matrix, so that it has no scrambled copy.
    """

    name: str
    matrix: Matrix
    formula: str
    source: str = ""
    control: bool = False
    from_start: bool = False
    of_history: bool = False


def agop_to(s: float) -> Matrix:
    """AGOP^s, the Neural Feature Ansatz with the exponent s."""
    return lambda layer: layer.agop_power(s)


def centered_nfa(layer: Layer) -> Tensor | None:
    """(W − W₀)ᵀ K (W − W₀). Paper B has no backward form."""
    moved = layer.W - layer.W0
    return moved.mT @ layer.ptk @ moved if layer.is_forward else None


def fact(layer: Layer) -> Tensor | None:
    """−(1/λ) Wᵀ∇_W L; None without the weight decay that the theorem assumes."""
    return layer.pull / layer.weight_decay if layer.weight_decay else None


def symmetric_fact(layer: Layer) -> Tensor | None:
    """(FACT FACTᵀ)^½."""
    matrix = fact(layer)
    return None if matrix is None else root(matrix @ matrix.mT)


def root_enfa(layer: Layer) -> Tensor:
    """eNFA^½."""
    return root(layer.enfa)


def virtual_shifts(layer: Layer) -> Tensor | None:
    """Σ −γ (Wᵀ∇L + ∇LᵀW) over all steps: paper A's shifts to first order in γ."""
    return layer.sums.get("shifts")


def accumulated_fact(layer: Layer) -> Tensor | None:
    """P ← (1 − 2γλ) P + γλ (FACT + FACTᵀ) from P₀ = W₀ᵀW₀: gradient descent's form, whatever the optimizer."""
    return layer.sums.get("accumulated")


def accumulated_steps(layer: Layer) -> Tensor | None:
    """P ← P + WᵀU + UᵀW with the optimizer's steps U = W⁺ − W."""
    return layer.sums.get("steps")


def other_layers_agop(layer: Layer) -> Tensor | None:
    """AGOP^½ of another layer of the same shape."""
    if layer.other_ptk is None or layer.other_W is None:
        return None
    K, W = layer.other_ptk, layer.other_W
    return root(W.mT @ K @ W if layer.is_forward else K)


def input_covariance(layer: Layer) -> Tensor | None:
    """(1/n) Σ h hᵀ, from the layer's inputs alone."""
    return layer.activations.mT @ layer.activations / layer.n if layer.is_forward else None


# its matrix is drawn in `measure`, because it has the target's eigenvalues
RANDOM = Law("random matrix", lambda layer: None, "the target's spectrum, random eigenvectors", control=True)

LAWS: tuple[Law, ...] = (
    *(Law(f"AGOP^{name}", agop_to(s), f"AGOP^{name}", "papers B and D: the Neural Feature Ansatz")
      for name, s in POWERS.items()),
    Law("centered NFA", centered_nfa, "(W − W₀)ᵀK(W − W₀)", "paper B, Section 2.3"),
    Law("FACT", fact, "−(1/λ) Wᵀ∇_W L", "paper C, Theorem 3.1"),
    Law("symmetric FACT", symmetric_fact, "(FACT FACTᵀ)^½", "paper C, Remark 3.3"),
    Law("eNFA^1/2", root_enfa, "((1/n) Σ ∇_h l ∇_h lᵀ)^½", "paper C, Section 2"),
    Law("virtual shifts", virtual_shifts, "Σ −γ (Wᵀ∇L + ∇LᵀW)", "paper A, Definition 1", of_history=True),
    Law("accumulated FACT", accumulated_fact, "P ← (1 − 2γλ)P + γλ(FACT + FACTᵀ)", "paper C, Section 6",
        from_start=True, of_history=True),
    Law("accumulated steps", accumulated_steps, "P ← P + WᵀU + UᵀW", "gramlab.AccumulatedFact",
        from_start=True, of_history=True),
    RANDOM,
    Law("another layer's AGOP^1/2", other_layers_agop, "AGOP^½ of another layer", control=True),
    Law("input covariance", input_covariance, "(1/n) Σ hhᵀ", control=True),
)  # fmt: skip


def badge(law: Law, optimizer: str, weight_decay: float, step: int) -> str:
    """Say whether an entrant is an identity by construction, a control that must lose, or in the contest.

    "accumulated steps" sums the steps of any optimizer, so it is an identity. "accumulated FACT" is the same sum for
    gradient descent and for the whitened optimizer, whose step has the Gram matrix of gradient descent's. For these
    two, without weight decay, the virtual shifts are the change of the Gram matrix. Laws that start from W₀ᵀW₀ are
    the Gram matrix before the first step.

    Parameters
    ----------
    law : Law
    optimizer : str
    weight_decay : float
    step : int

    Returns
    -------
    {"", "identity", "control"}

    Examples
    --------
    >>> accumulated = next(law for law in LAWS if law.name == "accumulated FACT")
    >>> badge(accumulated, "sgd", 0.01, 100), badge(accumulated, "adam", 0.01, 100)
    ('identity', '')
    """
    if law.control:
        return "control"
    descends = optimizer in ("sgd", "whitened")
    is_identity = (
        law.name == "accumulated steps"
        or (law.name == "accumulated FACT" and descends)
        or (law.name == "virtual shifts" and descends and not weight_decay)
        or (law.from_start and step == 0)
    )
    return "identity" if is_identity else ""
