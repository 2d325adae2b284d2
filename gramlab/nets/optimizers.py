"""Optimizer steps on stacked parameters, where each member has its own learning rate and weight decay.

Up to round-off the arithmetic is that of ``torch.optim``, which takes one learning rate for a whole tensor. On a GPU
SGD in single precision is torch's own, where all members have the same learning rate and weight decay.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.optim.sgd import sgd

from gramlab.losses import all_finite
from gramlab.nets.errors import CHECK, NetError
from gramlab.nets.members import Member
from gramlab.nets.stacked import Group, StackedParameters
from gramlab.nets.whitened import whiten

# what each optimizer remembers of a parameter
SLOTS = {
    "sgd": ("momentum_buffer",),
    "adam": ("exp_avg", "exp_avg_sq"),
    "adamw": ("exp_avg", "exp_avg_sq"),
    "whitened": ("momentum_buffer",),
    "whitened_complement": ("momentum_buffer",),
}
ADAM_EPS = 1e-8


class StackedOptimizer:
    """SGD, Adam, AdamW or whitened SGD on stacked parameters.

    With the parametrization "ntk" a linear or convolutional layer computes with W / sqrt(fan-in), and its bias is
    divided likewise. The stacked parameters are the divided ones. A step of gradient descent on W itself then has
    learning rate lr / fan-in, and decays W by the same factor as before.

    Parameters
    ----------
    stacked : StackedParameters
        They are changed in place.
    members : sequence of Member
        Their learning rates and weight decays.
    optimizer : {"sgd", "adam", "adamw", "whitened", "whitened_complement"}
    momentum, betas, method, parametrization : optional
        See `gramlab.nets.TrainingConfig`.

    Attributes
    ----------
    state : dict of str to dict of str to Tensor
        ``state[slot][name]`` is what the optimizer remembers of a parameter, (members, ...).

    Raises
    ------
    NetError
        If there is no such optimizer, or the parametrization needs another one.

    Examples
    --------
    >>> import torch
    >>> from gramlab.nets import mlp
    >>> from gramlab.nets.members import members
    >>> model = mlp(2, [], 1, bias=False)
    >>> stacked = StackedParameters(model, [{"0.weight": torch.ones(1, 2)}] * 2, 1, torch.float32, "cpu")
    >>> optimizer = StackedOptimizer(stacked, members(1, {"lr": [0.1, 0.2]}), "sgd")
    >>> optimizer.step(stacked.groups[0], 0, 1.0, [torch.ones(2, 1, 2)])
    >>> stacked.values["0.weight"].flatten(1)
    tensor([[0.9000, 0.9000],
            [0.8000, 0.8000]])
    """

    def __init__(self, stacked: StackedParameters, members: Sequence[Member], optimizer: str, momentum: float = 0.0,
                 betas: tuple[float, float] = (0.9, 0.999), method: str = "newton-schulz",
                 parametrization: str = "standard"):  # fmt: skip
        CHECK.choice("optimizer", optimizer, SLOTS)
        if parametrization == "ntk" and optimizer != "sgd":
            raise NetError(f"the parametrization ntk needs the optimizer sgd, not {optimizer}")
        self.optimizer, self.momentum, self.betas, self.method = optimizer, momentum, betas, method
        slots = SLOTS[optimizer] if momentum or "adam" in optimizer else ()
        self.state = {slot: {name: torch.zeros_like(value) for name, value in stacked.values.items()} for slot in slots}
        # SGD without momentum too: decay in the gradient gives the same weights, and this is in place
        self.decays_weights = optimizer == "adamw" or (optimizer == "sgd" and not slots)
        self.names = stacked.names
        self.fan_in = dict.fromkeys(stacked.names, 1.0)
        if parametrization == "ntk":
            for name in stacked.names:
                weight = stacked.values[f"{name.rpartition('.')[0]}.weight"]
                self.fan_in[name] = float(weight[0, 0].numel())
        # on a GPU the time of small networks' steps is mostly that of the optimizer
        example = next(iter(stacked.values.values()))
        self.is_fused = (
            optimizer == "sgd" and parametrization == "standard" and example.is_cuda and example.dtype == torch.float32
        )
        self.rates = {
            id(group): (
                _number_or_tensor([member.lr for member in members[group.members]], group),
                _number_or_tensor([member.weight_decay for member in members[group.members]], group),
            )
            for group in stacked.groups
        }

    @torch.no_grad()
    def step(self, group: Group, step: int | Tensor, factor: float | Tensor, gradients: Sequence[Tensor]) -> None:
        """Take one step of one group.

        Parameters
        ----------
        group : Group
        step : int or Tensor of shape ()
            Number of the step, from 0.
        factor : float or Tensor of shape ()
            Factor of the learning rates, from the schedule.
        gradients : sequence of Tensor
            In the order of the group's parameters, and of their shapes.
        """
        rate, decay = self.rates[id(group)]
        if self.is_fused and not isinstance(rate, Tensor) and not isinstance(decay, Tensor):
            self._step_fused(group, rate * factor, decay, gradients)
            return
        for name, p, g in zip(self.names, group.parameters, gradients, strict=True):
            lr = _broadcast(rate, p) * (factor / self.fan_in[name])
            weight_decay = _broadcast(decay, p) * self.fan_in[name]
            if isinstance(weight_decay, Tensor) or weight_decay:
                if self.decays_weights:
                    p.mul_(1 - lr * weight_decay)
                else:
                    g = (
                        torch.addcmul(g, weight_decay, p)
                        if isinstance(weight_decay, Tensor)
                        else g.add(p, alpha=weight_decay)
                    )
            state = [slot[name][group.members.start] if group.is_single else slot[name] for slot in self.state.values()]
            if "adam" in self.optimizer:
                self._adam(p, g, state, lr, step + 1)
                continue
            if state:
                g = state[0].mul_(self.momentum).add_(g)
            if self.optimizer == "sgd" or p.ndim + group.is_single < 3:
                _descend(p, g, lr)
            else:
                target = _descend(p.clone(), g, lr)
                if all_finite(target):
                    is_complement = self.optimizer == "whitened_complement"
                    target = whiten(p, target, self.method, is_complement, stacked=not group.is_single)
                # a decomposition refuses what is not finite; the next loss then tells that the training diverged
                p.copy_(target)

    def _step_fused(self, group: Group, lr: float | Tensor, decay: float, gradients: Sequence[Tensor]) -> None:
        """One step of SGD on all parameters at once, which reads and writes each of them only once."""
        slots = [[value[group.members.start] if group.is_single else value for value in slot.values()]
                 for slot in self.state.values()]  # fmt: skip
        buffers: list[Tensor | None] = [*slots[0]] if slots else [None] * len(gradients)
        rate = torch.as_tensor(lr, dtype=torch.float32, device=group.parameters[0].device)
        sgd(group.parameters, [gradient.contiguous() for gradient in gradients], buffers, fused=True, lr=rate,
            weight_decay=decay, momentum=self.momentum, dampening=0, nesterov=False, maximize=False)  # fmt: skip

    def _adam(self, p: Tensor, g: Tensor, state: list[Tensor], lr: float | Tensor, count: int | Tensor) -> None:
        """One step of Adam, the `count`-th, on one parameter."""
        beta1, beta2 = self.betas
        average, square = state
        average.lerp_(g, 1 - beta1)
        square.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        step_size = lr / (1 - beta1**count)
        denominator = (square.sqrt() / (1 - beta2**count) ** 0.5).add_(ADAM_EPS)
        if isinstance(step_size, Tensor):
            p.sub_(step_size * average / denominator)
        else:
            p.addcdiv_(average, denominator, value=-step_size)


def _number_or_tensor(values: list[float], group: Group) -> float | Tensor:
    """One number if all members have the same, since steps with numbers are faster."""
    if len(set(values)) == 1:
        return values[0]
    return torch.tensor(values, dtype=group.parameters[0].dtype, device=group.parameters[0].device)


def _broadcast(value: float | Tensor, p: Tensor) -> float | Tensor:
    """Give a value per member the number of dimensions of a parameter."""
    return value.view(-1, *[1] * (p.ndim - 1)) if isinstance(value, Tensor) else value


def _descend(p: Tensor, g: Tensor, lr: float | Tensor) -> Tensor:
    """p - lr * g, in place."""
    return p.addcmul_(g, -lr) if isinstance(lr, Tensor) else p.add_(g, alpha=-lr)
