"""How a recorder follows an optimizer."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, Self

import torch
from torch import nn

from gramlab.accumulated_fact import AccumulatedFact, unwrapped_optimizer
from gramlab.measures.layer import Layer
from gramlab.recorded_numbers import learning_rates
from gramlab.virtual_shifts import VirtualShifts


class Follower(ABC):
    """The part of ``Recorder`` that follows an optimizer: its steps, its learning rates, and accumulated FACT."""

    model: nn.Module
    options: dict[str, Any]
    lr: float | None
    steps: int
    accumulate: bool
    accumulated: AccumulatedFact | None
    _layers: Mapping[str, Layer]
    _shifts: VirtualShifts
    _initial_state: dict[str, Any] | None
    _last_measured_step: int | None
    _hook_handles: list[Any]
    _optimizer_of_rates: torch.optim.Optimizer | None
    _optimizer_of_steps: torch.optim.Optimizer | None

    @abstractmethod
    def begin(self) -> None:
        """As ``Recorder`` defines it."""

    @abstractmethod
    def reached(self, step: int) -> None:
        """As ``Recorder`` defines it."""

    def attach(self, optimizer: torch.optim.Optimizer) -> Self:
        """Count every ``optimizer.step()`` from now on and take its learning rate. ``detach()`` ends this.

        Parameters
        ----------
        optimizer : torch.optim.Optimizer, or a wrapper that has it as ``optimizer``

        Returns
        -------
        Recorder
            Itself.

        Raises
        ------
        RuntimeError
            If it is attached already, to this optimizer or to another one: steps would count twice. With
            ``accumulate`` also if it was attached before: P would lack steps.
        TypeError
            If ``optimizer`` is not an optimizer.
        ValueError
            As ``begin``.
        """
        optimizer = unwrapped_optimizer(optimizer)
        if not hasattr(optimizer, "register_step_post_hook"):
            raise TypeError(f"attach takes an optimizer, not a {type(optimizer).__name__}")
        if self._optimizer_of_steps is not None:
            which = "this optimizer" if self._optimizer_of_steps is optimizer else "another optimizer"
            raise RuntimeError(
                f"the recorder is attached to {which} already: detach() it first; of several optimizers, attach it to"
                " the one that steps last in an iteration"
            )
        self._follow(optimizer)
        self.begin()
        self._optimizer_of_steps = optimizer
        self._hook_handles.append(optimizer.register_step_post_hook(lambda *_: self.reached(self.steps + 1)))
        return self

    def detach(self) -> None:
        """Remove the recorder's hooks from the optimizer."""
        self._optimizer_of_steps = None
        while self._hook_handles:
            self._hook_handles.pop().remove()

    def begin_at(self, step: int, optimizer: Any) -> None:
        """Begin, or go on, at this step of a trainer, which counts the steps itself.

        Parameters
        ----------
        step : int
        optimizer : torch.optim.Optimizer or None
            The trainer's, whose learning rates count, or a wrapper that has it as ``optimizer``.

        Raises
        ------
        RuntimeError
            If a later step was measured: the table would have two rows for a step. With ``accumulate`` also without an
            optimizer, and if the recorder was detached.
        ValueError
            As ``begin``.
        """
        last = self._last_measured_step if self._initial_state is not None else None
        if last is not None and step < last:
            raise RuntimeError(
                f"the recorder has measured step {last}, and this training begins at step {step}: make a new recorder"
                " with a table of its own"
            )
        # after a training the recorder has no hooks, and the next one may have another optimizer
        if optimizer is not None and not self._hook_handles:
            self._follow(unwrapped_optimizer(optimizer))
        self.steps = step
        self.begin()

    def _check_accumulates(self) -> None:
        """Raise RuntimeError if P no longer follows the optimizer."""
        if self.accumulated is not None and not self._hook_handles:
            raise RuntimeError(
                "accumulate=True follows every step, and after detach() some may have gone by: make a new recorder"
            )

    def _follow(self, optimizer: Any) -> None:
        """Take the optimizer's learning rate just before each step: a scheduler may have changed it."""
        self._check_accumulates()
        self._optimizer_of_rates = optimizer
        if self.accumulate and self.accumulated is None:
            self.accumulated = AccumulatedFact(self.model, optimizer, self.options["layers"])
            self._hook_handles.append(SimpleNamespace(remove=self.accumulated.detach))
        if hasattr(optimizer, "register_step_pre_hook"):
            self._hook_handles.append(optimizer.register_step_pre_hook(lambda *_: self._set_learning_rate()))

    def _set_learning_rate(self) -> None:
        if (rates := self._learning_rates()) is not None:
            self._shifts.set_learning_rate(rates)

    def _learning_rates(self) -> dict[str, float] | None:
        """The learning rate of each layer, None without an optimizer and ``lr``."""
        if self.lr is not None:
            return dict.fromkeys(self._layers, self.lr)
        return None if self._optimizer_of_rates is None else learning_rates(self._optimizer_of_rates, self._layers)
