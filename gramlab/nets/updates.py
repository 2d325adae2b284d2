"""Optimizer steps on stacks of members, each with its own learning rate and weight decay.

Up to round-off the arithmetic is that of torch.optim, which takes one learning rate for all that a tensor holds.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from gramlab.losses import all_finite
from gramlab.nets.errors import NetError
from gramlab.nets.members import Member
from gramlab.nets.stacks import Group, Stack
from gramlab.nets.whitened import whiten

SLOTS = {
    "sgd": ("momentum_buffer",),
    "adam": ("exp_avg", "exp_avg_sq"),
    "adamw": ("exp_avg", "exp_avg_sq"),
    "whitened": ("momentum_buffer",),
    "whitened_complement": ("momentum_buffer",),
}
EPS = 1e-8  # Adam's


class Updates:
    """Moves the parameters of a stack's groups; ``state[slot][name]`` (members, ...) is all that it remembers.

    parametrization "ntk": a linear or convolutional layer computes with W / sqrt(fan-in), as gradient descent on the
    layer's own W sees it: its learning rate is lr / fan-in and its decay the same as before, for the weights and for
    the bias, which is divided alike. The stack holds what the layer computes with. SGD only.
    """

    def __init__(self, stack: Stack, members: Sequence[Member], optimizer: str, momentum: float = 0.0,
                 betas: tuple[float, float] = (0.9, 0.999), method: str = "newton-schulz",
                 parametrization: str = "standard"):  # fmt: skip
        if optimizer not in SLOTS:
            raise NetError(f"no optimizer {optimizer!r}; there are {', '.join(SLOTS)}")
        if parametrization == "ntk" and optimizer != "sgd":
            raise NetError(f"the parametrization ntk needs the optimizer sgd, not {optimizer}")
        self.optimizer, self.momentum, self.betas, self.method = optimizer, momentum, betas, method
        slots = SLOTS[optimizer] if momentum or "adam" in optimizer else ()
        zeros = torch.zeros_like
        self.state = {slot: {name: zeros(value) for name, value in stack.values.items()} for slot in slots}
        # SGD without momentum too: what a decay in the gradient comes to, and in place
        self.shrinks = optimizer == "adamw" or (optimizer == "sgd" and not slots)
        self.names = stack.names
        self.fan_in = dict.fromkeys(stack.names, 1.0)
        if parametrization == "ntk":
            for name in stack.names:
                weight = stack.values[f"{name.rpartition('.')[0]}.weight"]
                self.fan_in[name] = float(weight[0, 0].numel())
        self.rates = {
            id(group): (
                _rates([member.lr for member in members[group.members]], group),
                _rates([member.weight_decay for member in members[group.members]], group),
            )
            for group in stack.groups
        }

    @torch.no_grad()
    def step(self, group: Group, step: int | Tensor, factor: float | Tensor, gradients: Sequence[Tensor]) -> None:
        """Step number ``step``, from 0, of this group, at ``factor`` times the members' learning rates.

        Each of the two may be a tensor of no dimension.
        """
        rate, decay = self.rates[id(group)]
        for name, p, g in zip(self.names, group.parameters, gradients, strict=True):
            lr = _fit(rate, p) * (factor / self.fan_in[name])
            wd = _fit(decay, p) * self.fan_in[name]
            if isinstance(wd, Tensor) or wd:
                if self.shrinks:
                    p.mul_(1 - lr * wd)
                else:
                    g = torch.addcmul(g, wd, p) if isinstance(wd, Tensor) else g.add(p, alpha=wd)
            state = [slot[name][group.members.start] if group.alone else slot[name] for slot in self.state.values()]
            if "adam" in self.optimizer:
                self._adam(p, g, state, lr, step + 1)
                continue
            if state:
                g = state[0].mul_(self.momentum).add_(g)
            if self.optimizer == "sgd" or p.ndim + group.alone < 3:
                _add(p, g, lr)
            else:
                target = _add(p.clone(), g, lr)
                complement = self.optimizer == "whitened_complement"
                if not all_finite(target):  # a decomposition would refuse it; so the loss says that it diverged
                    p.copy_(target)
                    continue
                p.copy_(whiten(p, target, self.method, complement, stacked=not group.alone))

    def _adam(self, p: Tensor, g: Tensor, state: list[Tensor], lr: float | Tensor, count: int | Tensor) -> None:
        first, second = self.betas
        average, square = state
        average.lerp_(g, 1 - first)
        square.mul_(second).addcmul_(g, g, value=1 - second)
        size = lr / (1 - first**count)
        below = (square.sqrt() / (1 - second**count) ** 0.5).add_(EPS)
        if isinstance(size, Tensor):
            p.sub_(size * average / below)
        else:
            p.addcdiv_(average, below, value=-size)


def _rates(values: list[float], group: Group) -> float | Tensor:
    """One number where it is the same for all: scalar steps are the faster ones."""
    if len(set(values)) == 1:
        return values[0]
    return torch.tensor(values, dtype=group.parameters[0].dtype, device=group.parameters[0].device)


def _fit(value: float | Tensor, p: Tensor) -> float | Tensor:
    return value.view(-1, *[1] * (p.ndim - 1)) if isinstance(value, Tensor) else value


def _add(p: Tensor, g: Tensor, lr: float | Tensor) -> Tensor:
    return p.addcmul_(g, -lr) if isinstance(lr, Tensor) else p.add_(g, alpha=-lr)
