"""FACT accumulated along training: the weight Gram matrix from the gradients that the optimizer saw."""

import math
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from gramlab.arguments import Check
from gramlab.measures.kinds import Layer
from gramlab.measures.layers import Layers, find_layers
from gramlab.measures.preserve_state import preserved_state
from gramlab.measures.products import symmetric
from gramlab.measures.results import single
from gramlab.measures.shards import unwrapped
from gramlab.measures.undefined import Undefined

FORMS = ("sgd", "momentum", "adam", "adamw")


class AccumulatedFact(Mapping[str, Tensor]):
    """Accumulate P ← (1 − 2γλ) P + γλ (FACT + FACTᵀ) over optimizer steps, from P = W₀ᵀW₀.

    FACT is guaranteed to equal WᵀW at a critical point only (paper C, Theorem 3.1), and paper C's Section 6 asks for a
    quantity that is stable before. A step of gradient descent with weight decay, W⁺ = W − γ (∇L + λW), changes the
    Gram matrix by

        W⁺ᵀW⁺ = (1 − 2γλ) WᵀW + γλ (FACT + FACTᵀ) + O(γ²),    FACT = −(1/λ) Wᵀ∇L.

    P sums the first-order terms. At λ = 0 it is W₀ᵀW₀ plus the sum of paper A's virtual covariance shifts, to first
    order. For fixed training time P differs from WᵀW by O(γ). It is bookkeeping of what the optimizer did, exact to
    first order: that P is near WᵀW says that steps are small, and nothing about the network.

    In general, for a step W⁺ = (1 − γκ) W − γD with a decay κ beside the direction D,

        P ← (1 − 2γκ) P − γ (WᵀD + DᵀW).

    With g the loss's gradient, which the optimizer finds in ``.grad``, the forms are

    - "sgd": κ = λ, D = g;
    - "momentum" (torch's SGD): κ = 0, D = b with b ← μb + (1 − τ)(g + λW), for Nesterov's D = g + λW + μb;
    - "adam": κ = 0, D = m̂ / (√v̂ + ε), the moments of g + λW;
    - "adamw": κ = λ, D = m̂ / (√v̂ + ε), the moments of g.

    Parameters
    ----------
    model : torch.nn.Module
    optimizer : torch.optim.SGD, Adam or AdamW, or a wrapper that has it as ``optimizer``
        Its steps are followed from now on, with its learning rate and settings at each step. If it has made steps
        before, its momentum and moments are taken over, and again after its ``load_state_dict``.
    layers : None, str, sequence of str, or predicate (name, module), default None
        As for ``gramlab.measure``. Layers whose weight is no parameter of the optimizer are not followed.
    form : {"sgd", "momentum", "adam", "adamw"}, optional
        Default: the optimizer's own.

    Warns
    -----
    RuntimeWarning
        Once, if the optimizer's step is not the one of its gradients and ``form``. Hooks that change the gradients or
        the step, such as one that clips gradients in ``register_step_pre_hook``, have to be registered before. The step
        of one weight is checked at a time, if ``form`` is not given.

    Attributes
    ----------
    steps : int
        Steps followed so far.
    left_out : dict
        Layers that are not followed, and why.

    Raises
    ------
    ValueError
        If the optimizer has no form here, or none of the layers is followed.

    Examples
    --------
    >>> import torch, gramlab
    >>> _ = torch.manual_seed(0)  # P is near WᵀW to first order of the step; how near depends on the draw
    >>> model = torch.nn.Linear(3, 2)
    >>> x, y = torch.randn(20, 3), torch.randn(20, 2)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.01, weight_decay=0.1)
    >>> accumulated = gramlab.AccumulatedFact(model, optimizer)
    >>> for _ in range(50):
    ...     optimizer.zero_grad()
    ...     (model(x) - y).square().mean().backward()
    ...     optimizer.step()
    >>> gramlab.cosine(accumulated[""], model.weight.T @ model.weight) > 0.999
    True
    """

    def __init__(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, layers: Layers = None, form: str | None = None
    ) -> None:
        optimizer = unwrapped_optimizer(optimizer)
        self.form = _form(optimizer) if form is None else form
        Check(ValueError).choice("form", self.form, FORMS)
        model = unwrapped(model)
        with preserved_state(model):
            all_layers = find_layers(model, layers)
        self._optimizer = optimizer
        groups = self._groups()
        self.layers: dict[str, Layer] = {}
        self.left_out: dict[str, str] = {}
        for name, layer in all_layers.items():
            parameter = layer.parameter()
            if parameter is None or id(parameter) not in groups:
                self.left_out[name] = f"the weight of the {layer.kind} is no parameter of the optimizer"
            else:
                self.layers[name] = layer
        if not self.layers:
            raise ValueError(f"no layer can be followed: {self.left_out}")
        self.steps = 0
        self._checks_steps = form is None
        self._expected: tuple[str, Tensor, Tensor] | None = None  # a layer, and its weight before and after the step
        self._directions: dict[int, _Direction] = {}
        self._totals = {name: self.gram(name) for name in self.layers}
        self._handles = [
            optimizer.register_step_pre_hook(self._before_step),
            optimizer.register_step_post_hook(lambda *_: self._check_step()),
            # loaded moments replace those that were taken over
            optimizer.register_load_state_dict_post_hook(lambda _: self._directions.clear()),
        ]

    def __getitem__(self, name: str) -> Tensor:
        """P (d, d) of a layer, or (groups, d, d), in float64."""
        return single(self._totals[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._totals)

    def __len__(self) -> int:
        return len(self._totals)

    def gram(self, name: str) -> Tensor:
        """Return WᵀW of a layer as (groups, d, d)."""
        W = self.layers[name].weight_matrices().double()
        return symmetric(W, W)

    def relative_error(self, name: str) -> float:
        """Return ‖P − WᵀW‖ / ‖WᵀW‖ of a layer: the second-order terms that P leaves out. Undefined for W = 0."""
        gram = self.gram(name)
        if not float(gram.norm()):
            raise Undefined(f"layer {name!r}: WᵀW is zero, so that P has no relative error")
        return float((self._totals[name] - gram).norm() / gram.norm())

    def detach(self) -> None:
        """Follow no more steps."""
        for handle in self._handles:
            handle.remove()

    def _groups(self) -> dict[int, dict[str, Any]]:
        """The optimizer's group of each parameter, as it is now: ``load_state_dict`` puts others in their place."""
        return {id(p): group for group in self._optimizer.param_groups for p in group["params"]}

    def _before_step(
        self, _: torch.optim.Optimizer, args: tuple, keywords: dict[str, Any]
    ) -> tuple[tuple, dict] | None:
        """Add the step that follows; with a closure, once the closure has computed the step's gradients."""
        closure = keywords.get("closure", args[1] if len(args) > 1 else None)
        if closure is None:
            self._step()
            return None

        def closure_then_step() -> Any:
            loss = closure()
            self._step()
            return loss

        return args[:1], {**keywords, "closure": closure_then_step}

    @torch.no_grad()
    def _step(self) -> None:
        """Add the step that the optimizer makes with the gradients of now."""
        # fused optimizers divide by a GradScaler's scale themselves, and skip steps that overflow
        scale, overflow = (getattr(self._optimizer, name, None) for name in ("grad_scale", "found_inf"))
        if overflow is not None and float(overflow):
            return
        groups = self._groups()
        directions: dict[int, tuple[Tensor, float, float]] = {}
        for name, layer in self.layers.items():
            parameter = layer.parameter()
            if parameter is None or parameter.grad is None:
                continue
            key = id(parameter)
            if key not in directions:  # projections of attention share a parameter
                direction = self._directions.get(key)
                if direction is None:
                    direction = self._directions[key] = _Direction(self.form, self._optimizer.state.get(parameter, {}))
                directions[key] = direction.step(parameter, groups[key], 1.0 if scale is None else float(scale))
            D, rate, decay = directions[key]
            W, D = layer.weight_matrices().double(), layer.matrices(D)
            change = symmetric(torch.cat([W, D], -2), torch.cat([D, W], -2))  # WᵀD + DᵀW
            self._totals[name] = (1 - 2 * rate * decay) * self._totals[name] - rate * change
        self.steps += 1
        followed = [name for name, layer in self.layers.items() if id(layer.parameter()) in directions]
        if self._checks_steps and followed:
            name = followed[self.steps % len(followed)]
            parameter = self.layers[name].parameter()
            assert parameter is not None
            D, rate, decay = directions[id(parameter)]
            W = parameter.to(torch.float64, copy=True)  # the optimizer changes the parameter itself
            self._expected = name, W, (1 - rate * decay) * W - rate * D

    @torch.no_grad()
    def _check_step(self) -> None:
        """Warn, once, if the optimizer made another step than the one that was added."""
        if self._expected is None:
            return
        (name, before, after), self._expected = self._expected, None
        parameter = self.layers[name].parameter()
        assert parameter is not None
        apart = float((parameter.double() - after).norm())
        rounding = torch.finfo(parameter.dtype).eps * float(before.norm())
        if apart > 1e-3 * float((after - before).norm()) + 4 * rounding:
            self._checks_steps = False
            warnings.warn(
                f"step {self.steps} did not move the weight of layer {name!r} as its gradient and the form"
                f" {self.form!r} say, so that P no longer follows it: register hooks that clip gradients, or change"
                " weights, before AccumulatedFact (before Recorder.attach), and give the form of a changed optimizer",
                RuntimeWarning,
                stacklevel=2,
            )


class _Direction:
    """The direction D of a parameter's steps in float64, by a form's rule, from the gradients alone.

    ``state`` is what the optimizer remembers of the steps before the first one here.
    """

    def __init__(self, form: str, state: Mapping[str, Any]) -> None:
        def remembered(name: str) -> Tensor | None:
            value = state.get(name)
            return None if value is None else value.detach().double().clone()

        self.form = form
        self.count = int(state.get("step", 0))
        self.first = remembered("momentum_buffer" if form == "momentum" else "exp_avg")
        self.second = remembered("exp_avg_sq")
        self.largest = remembered("max_exp_avg_sq")

    def step(self, parameter: Tensor, group: Mapping[str, Any], scale: float) -> tuple[Tensor, float, float]:
        """Return D, the learning rate γ and the decay κ for the gradient times ``scale`` in ``parameter.grad``."""
        self.count += 1
        rate, decay = float(group["lr"]), float(group.get("weight_decay", 0.0))
        assert parameter.grad is not None
        g = parameter.grad.to_dense().double() * ((-1 if group.get("maximize") else 1) / scale)
        if self.form == "sgd":
            return g, rate, decay
        if self.form == "adamw":
            return self._adam(g, group), rate, decay
        g = g + decay * parameter.double()
        return (self._momentum(g, group) if self.form == "momentum" else self._adam(g, group)), rate, 0.0

    def _momentum(self, g: Tensor, group: Mapping[str, Any]) -> Tensor:
        mu = float(group.get("momentum", 0.0))
        if mu == 0.0:  # torch then dampens nothing
            return g
        if self.first is None:
            self.first = g.clone()  # torch does not dampen the first gradient
        else:
            self.first = mu * self.first + (1 - float(group.get("dampening", 0.0))) * g
        return g + mu * self.first if group.get("nesterov") else self.first

    def _adam(self, g: Tensor, group: Mapping[str, Any]) -> Tensor:
        beta1, beta2 = (float(beta) for beta in group.get("betas", (0.9, 0.999)))
        zeros = torch.zeros_like(g)
        self.first = beta1 * (zeros if self.first is None else self.first) + (1 - beta1) * g
        self.second = beta2 * (zeros if self.second is None else self.second) + (1 - beta2) * g.square()
        second = self.second
        if group.get("amsgrad"):
            self.largest = second if self.largest is None else torch.maximum(self.largest, second)
            second = self.largest
        root = second.sqrt() / math.sqrt(1 - beta2**self.count)
        return self.first / (1 - beta1**self.count) / (root + float(group.get("eps", 1e-8)))


def unwrapped_optimizer(optimizer: Any) -> Any:
    """Return the optimizer within a wrapper that has it as ``optimizer``, such as accelerate's; else the optimizer.

    An optimizer with hooks of its own is no wrapper: it may do more in a step than the one within.

    Parameters
    ----------
    optimizer : torch.optim.Optimizer or wrapper

    Returns
    -------
    torch.optim.Optimizer

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> optimizer = torch.optim.SGD(nn.Linear(2, 1).parameters())
    >>> wrapper = SimpleNamespace(optimizer=optimizer, param_groups=optimizer.param_groups)
    >>> unwrapped_optimizer(wrapper) is unwrapped_optimizer(optimizer) is optimizer
    True
    """
    inner = getattr(optimizer, "optimizer", optimizer)
    if not isinstance(inner, torch.optim.Optimizer) or not hasattr(optimizer, "param_groups"):  # a scheduler has none
        return optimizer
    hooks = getattr(optimizer, "_optimizer_step_post_hooks", None)  # Lightning's wrappers share those of the one within
    return inner if hooks is None or hooks is inner._optimizer_step_post_hooks else optimizer


def _form(optimizer: torch.optim.Optimizer) -> str:
    kind = type(optimizer)
    if kind is torch.optim.SGD:
        return "momentum" if any(group["momentum"] for group in optimizer.param_groups) else "sgd"
    if kind is torch.optim.AdamW:
        return "adamw"
    if kind is torch.optim.Adam:
        decoupled = any(group.get("decoupled_weight_decay") for group in optimizer.param_groups)
        return "adamw" if decoupled else "adam"
    raise ValueError(
        f"accumulated FACT has forms for SGD, Adam and AdamW, not for {kind.__name__}; for an optimizer that steps as"
        f" one of them, AccumulatedFact takes form=, one of {FORMS}"
    )
