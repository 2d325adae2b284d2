"""What a comparison is, and the parts that several of them share."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

Program = Callable[[], Tensor]  # returns the numbers that must agree


@dataclass(frozen=True)
class Pair:
    """One comparison.

    ``needs`` is the module of a package that ``install`` names, or, with ``checkout``, a repository of the authors,
    whose ``Checkout`` is then given to ``programs``. ``programs`` returns gramlab's program and the peer's.
    """

    peer: str
    needs: str
    quantity: str
    size: str
    tolerance: float
    programs: Callable[..., tuple[Program, Program]]
    install: str = ""
    checkout: bool = False


def network(*widths: int, bias: bool = True, activation: type[nn.Module] = nn.GELU) -> nn.Sequential:
    """A fully connected network of these widths."""
    torch.manual_seed(0)
    layers = [part for a, b in pairwise(widths) for part in (nn.Linear(a, b, bias=bias), activation())]
    return nn.Sequential(*layers[:-1])


def joined(matrices: list[Tensor]) -> Tensor:
    """All entries in a row, in float64."""
    return torch.cat([matrix.double().flatten() for matrix in matrices])


def number(value: Any) -> Tensor:
    """A number as a tensor."""
    return torch.as_tensor(float(value), dtype=torch.float64)
