"""Measure a network while it trains, in any training loop, without changing what it learns."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gramlab import tables
from gramlab.measures.arrays import Array, as_tensor
from gramlab.measures.batches import Data
from gramlab.measures.features import features
from gramlab.measures.layers import Layers, find
from gramlab.measures.losses import Loss
from gramlab.measures.measure import measure
from gramlab.measures.measured import NEEDS, Measurement
from gramlab.measures.observe import observe
from gramlab.measures.similarity import pearson
from gramlab.measures.undefined import Undefined
from gramlab.measures.untouched import untouched


class Recorder:
    """Measures ``model`` on fixed samples every so many optimizer steps, and writes a gramlab table.

    In a plain loop call ``step()`` after each ``optimizer.step()`` and ``write()`` at the end, or use it as a context
    manager, which writes at its end; or attach it to the optimizer once, ``recorder.attach(optimizer)``. Lightning's
    Trainer and the Hugging Face Trainer take ``recorder.callback()``. Training with and without a recorder ends in
    the same weights: ``measure`` leaves model and random states alone.

    The table has what papers A (Figures 4, 7), B (Figure 2) and C (Figure 8) plot, one row a step, layer and
    quantity; ``undefined`` says why a value is missing.

    model: the network that is trained.
    x, y: the samples to measure on, as tensors or arrays; a few hundred to a few thousand do.
    path: the Parquet file to write.
    every, at: measure every so many steps, and at these steps besides. Step 0 is measured at the first call.
    loss, layers, weight_decay, batch_size, forward: as for ``gramlab.measure``.
    quantities: which of ``LayerMeasures``' quantities to measure, None for all that are cheap enough for paper B's
        plain and centred NFA; "centered_ptk" and what needs it double the work and are measured when named.
    lr: the learning rate, for the sum of virtual covariance shifts (paper A, Figure 7); taken from the optimizer that
        the recorder is attached to, at each step. The shift at a measured step stands for the steps up to the next
        one, so ``every=1`` gives the exact sum of full-batch training on ``x``.
    linearity: whether to measure target linearity, surrogate and neural collapse, which need all features at once.
    experiment, case, seed: what the rows are labelled with.
    """

    def __init__(
        self,
        model: nn.Module,
        x: Data,
        y: Array | None,
        path: Path | str,
        *,
        every: int = 100,
        at: Sequence[int] = (),
        loss: Loss = "mse",
        layers: Layers = None,
        weight_decay: float | None = None,
        quantities: Sequence[str] | None = None,
        lr: float | None = None,
        linearity: bool = True,
        batch_size: int = 4096,
        forward: Callable[[nn.Module, Any], Tensor] | None = None,
        experiment: str = "run",
        case: str = "",
        seed: int = 0,
    ) -> None:
        if every < 1:
            raise ValueError(f"every must be at least 1, not {every}")
        with untouched(model):
            find(model, layers)
        if quantities is None:
            quantities = [name for name, needs in NEEDS.items() if "centered_ptk" not in needs]
            if not weight_decay:
                quantities = [name for name in quantities if not name.endswith("fact")]
        self.model, self.x, self.path = model, x, Path(path)
        self.y = None if y is None else as_tensor(y, "y")
        self.every, self.at, self.lr, self.linearity = every, frozenset(at), lr, linearity
        self.options: dict[str, Any] = {
            "loss": loss,
            "layers": layers,
            "weight_decay": weight_decay,
            "batch_size": batch_size,
            "quantities": list(quantities),
            "forward": forward,
        }
        self.labels = {"experiment": experiment, "scale": "user", "case": case, "seed": seed}
        self.rows: list[dict[str, Any]] = []
        self.undefined: dict[str, str] = {}
        self.steps = 0  # optimizer steps taken, as far as the recorder knows
        self._initial: dict[str, Tensor] | None = None
        self._last: int | None = None
        self._shifts: _Shifts = _Shifts()
        self._handles: list[Any] = []
        self._optimizer: torch.optim.Optimizer | None = None

    def begin(self) -> None:
        """Measure the network before its first step, if that was not done: its weights are the initial ones."""
        if self._initial is None:
            self._initial = {name: tensor.detach().clone() for name, tensor in self.model.state_dict().items()}
            self.measure_at(self.steps)

    def step(self) -> None:
        """Count an optimizer step, and measure if this one is due. Call ``begin()`` before the first."""
        self.reached(self.steps + 1)

    def reached(self, step: int) -> None:
        """Say that ``step`` optimizer steps are done; measure if one that is due was reached."""
        if self._initial is None:
            raise RuntimeError("call begin() (or enter the recorder as a context) before the first optimizer step")
        due = any(s % self.every == 0 or s in self.at for s in range(self.steps + 1, step + 1))
        self.steps = max(self.steps, step)
        if due:
            self.measure_at(step)

    def measure_at(self, step: int) -> Measurement:
        """Measure now and keep the numbers as those of ``step``."""
        measured = measure(self.model, self.x, self.y, initial=self._initial, **self.options)
        given: Mapping[str, Tensor] = {}
        if self.linearity:
            options = {name: self.options[name] for name in ("layers", "batch_size", "forward")}
            given = features(self.model, self.x, **options)
        found, undefined = observe(measured, given, self.y)
        if "virtual_shift" in self.options["quantities"] and self._rate() is not None:
            self._settle()
            found += self._shifts.add(measured, step)
        dtype = str(next(self.model.parameters()).dtype).removeprefix("torch.")
        for layer, quantity, value in found:
            row = {"step": step, "layer": layer, "quantity": quantity, "value": value, "dtype": dtype}
            self.rows.append(self.labels | row)
        self.undefined |= {f"step {step} {key}": reason for key, reason in undefined.items()}
        self._last = step
        return measured

    def write(self) -> Path:
        """Write the table, whole or not at all, and return its path; the last step is measured if it was not.

        Raises ValueError if it cannot be measured, a network that has diverged say; the rows before are written.
        """
        try:
            if self._initial is not None and self._last != self.steps:
                self.measure_at(self.steps)
        finally:
            tables.write(self.path, self.rows)
        return self.path

    def attach(self, optimizer: torch.optim.Optimizer) -> "Recorder":
        """Follow an optimizer: every ``optimizer.step()`` counts, its learning rate is taken. Undo by ``detach()``."""
        self._follow(optimizer)
        self.begin()
        self._handles.append(optimizer.register_step_post_hook(lambda *_: self.step()))
        return self

    def detach(self) -> None:
        """Leave the optimizers that were followed."""
        while self._handles:
            self._handles.pop().remove()

    def __enter__(self) -> "Recorder":
        self.begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.detach()
        if kind is not None and self.rows:  # what was measured is worth keeping; the network may not be worth measuring
            tables.write(self.path, self.rows)
        elif self.rows:
            self.write()

    def callback(self) -> "Callback":
        """A callback for Lightning's Trainer or the Hugging Face Trainer; it writes the table when training ends."""
        return Callback(self)

    def _follow(self, optimizer: Any) -> None:
        """Take the learning rate of an optimizer, of each step when it comes: a scheduler may change it before."""
        self._optimizer = optimizer
        if hasattr(optimizer, "register_step_pre_hook"):
            self._handles.append(optimizer.register_step_pre_hook(lambda *_: self._settle()))

    def _settle(self) -> None:
        if (rate := self._rate()) is not None:
            self._shifts.settle(rate)

    def _rate(self) -> float | None:
        if self._optimizer is not None and self.lr is None:
            return float(self._optimizer.param_groups[0]["lr"])
        return self.lr


class _Shifts:
    """The sum of virtual covariance shifts over training, and its correlations with the Gram matrix (A, Figure 7)."""

    def __init__(self) -> None:
        self.totals: dict[str, Tensor] = {}
        self.first: dict[str, Tensor] = {}
        self.now: dict[str, Tensor] = {}
        self.measured: Measurement | None = None  # whose shift waits for the learning rate of the step after it
        self.step = 0

    def settle(self, lr: float) -> None:
        """Say the learning rate of the step after the last measurement; what is said later is of later steps."""
        if self.measured is not None:
            self.now = {name: layer.virtual_shift(lr) for name, layer in self.measured.items()}
            self.measured = None

    def add(self, measured: Measurement, step: int) -> list[tuple[str, str, float]]:
        """Take in a measurement, once the one before it is settled; the correlations of the sum up to it."""
        found = []
        for name, layer in measured.items():
            if name not in self.first:
                self.first[name], self.totals[name] = layer.gram, torch.zeros_like(layer.gram)
            else:
                self.totals[name] = self.totals[name] + (step - self.step) * self.now[name]
            total = self.totals[name]
            for quantity, gram, diagonal in (
                ("pearson_virtual", layer.gram, False),
                ("diagonal_virtual", layer.gram, True),
                ("pearson_virtual_moved", layer.gram - self.first[name], False),
                ("diagonal_virtual_moved", layer.gram - self.first[name], True),
            ):
                try:
                    found.append((name, quantity, pearson(gram, total, diagonal=diagonal)))
                except Undefined:  # nothing has moved yet
                    continue
        self.measured, self.step = measured, step
        return found


class Callback:
    """A recorder as a callback, by the names that Lightning and Hugging Face call.

    Neither library is imported. Both call many more hooks than a recorder needs; those do nothing.
    """

    state_key = "gramlab.Recorder"  # Lightning's

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def on_train_start(self, trainer: Any, module: Any) -> None:
        """Lightning: before the first step."""
        if trainer.optimizers and self.recorder._optimizer is None:
            self.recorder._follow(getattr(trainer.optimizers[0], "optimizer", trainer.optimizers[0]))
        self.recorder.steps = int(trainer.global_step)
        self.recorder.begin()

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        """Lightning: after a batch; ``global_step`` counts optimizer steps."""
        self.recorder.reached(int(trainer.global_step))

    def on_train_begin(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """Hugging Face: before the first step."""
        if self.recorder._optimizer is None:
            optimizer = others.get("optimizer")
            self.recorder._follow(getattr(optimizer, "optimizer", optimizer))
        self.recorder.steps = int(state.global_step)
        self.recorder.begin()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Hugging Face: after an optimizer step."""
        self.recorder.reached(int(state.global_step))

    def on_train_end(self, *_: Any, **__: Any) -> None:
        """Both: write the table."""
        self.recorder.detach()
        self.recorder.write()

    def on_exception(self, *_: Any, **__: Any) -> None:
        """Lightning: what was measured before the error is kept."""
        self.recorder.__exit__(Exception)

    def state_dict(self) -> dict[str, Any]:
        """Lightning: nothing of the recorder goes into a checkpoint."""
        return {}

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("on_") or name in ("setup", "teardown", "load_state_dict"):
            return lambda *_, **__: None
        raise AttributeError(name)
