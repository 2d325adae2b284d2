"""The distance of a layer from its optimizer's points of rest, for optimizers that do not rest at critical points.

SGD, SGD with momentum and Adam add the decay to the gradient, so they rest only at critical points of L + (λ/2)‖W‖².
Three optimizers of the atlas rest elsewhere. G is ∇_W L, and each distance is 0 at rest:

- whitened SGD moves W only as far as WᵀW changes. It rests where Wᵀ(G + λW) is antisymmetric. There WᵀW equals
  the symmetric part of FACT: ‖WᵀW − (FACT + FACTᵀ)/2‖ / ‖WᵀW‖.
- AdamW's step is 1 in every entry for a constant gradient, so that it rests where λW = −sign(G), in entries with a
  gradient. It minimises L under ‖W‖∞ ≤ 1/λ (Xie and Li, 2024): |1 + λ⟨W, G⟩ / ‖G‖₁|.
- Muon's step is s orth(G), so that it rests where λW = −s orth(G), with s = √max(1, k/d). It minimises L under a bound
  s/λ of the spectral norm (Chen, Li and Liu, 2025): |1 + λ⟨W, G⟩ / (s‖G‖_*)|, with the nuclear norm.

The last two are Frank-Wolfe gaps, relative to their largest term. They stay near 1 where a minimum of L lies within the
bound, because the decay then has no influence on it.
"""

import math

import torch
from torch import Tensor

OTHER_REST = ("whitened", "adamw", "muon")  # optimizers that do not rest at critical points


def distance_from_rest(optimizer: str, W: Tensor, G: Tensor, weight_decay: float) -> float:
    """The relative distance of a layer from a point of rest of its optimizer.

    Parameters
    ----------
    optimizer : {"whitened", "adamw", "muon"}
    W, G : Tensor of shape (k, d)
        The weight and the loss's gradient, without decay.
    weight_decay : float
        λ > 0.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the optimizer is another one.

    Examples
    --------
    >>> W = torch.tensor([[0.5, -0.5]])
    >>> distance_from_rest("adamw", W, -W.sign(), weight_decay=2.0)
    0.0
    """
    if optimizer == "whitened":
        gram, pulled = W.mT @ W, -(W.mT @ G) / weight_decay
        return float((gram - (pulled + pulled.mT) / 2).norm() / gram.norm())
    if optimizer == "adamw":
        largest = G.abs().sum()
    elif optimizer == "muon":
        largest = math.sqrt(max(1.0, len(W) / W.shape[1])) * torch.linalg.matrix_norm(G, "nuc")
    else:
        raise ValueError(f"{optimizer} rests at critical points, or has no known point of rest")
    return float((1 + weight_decay * (W * G).sum() / largest).abs())
