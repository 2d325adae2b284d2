"""Measure a network while it trains, in any training loop, without changing what it learns."""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gramlab import tables
from gramlab.accumulated_fact import AccumulatedFact
from gramlab.callbacks import Callback
from gramlab.follower import Follower
from gramlab.measures.arrays import Array, as_tensor
from gramlab.measures.batches import Data
from gramlab.measures.cotangents import Outputs
from gramlab.measures.layers import Layers, find_layers
from gramlab.measures.losses import Loss
from gramlab.measures.measure import measure
from gramlab.measures.measurement import Measurement
from gramlab.measures.plan import check_rereadable
from gramlab.measures.preserve_state import preserved_state
from gramlab.measures.results import names_of
from gramlab.measures.shards import unwrapped
from gramlab.measures.summary import TARGET_QUANTITIES, summarize
from gramlab.record_checks import (
    WRITERS,
    check_every,
    check_labels,
    check_not_written,
    check_path,
    check_resumption,
    check_same_labels,
    check_step,
    checked_steps,
    has_targets,
)
from gramlab.recorded_numbers import SamplesOfLayers, accumulated_numbers, default_quantities, inputs_and_targets
from gramlab.virtual_shifts import VirtualShifts


class Recorder(Follower):
    """Measure a model on fixed samples during training and write a gramlab table.

    In a plain loop call ``step()`` after each ``optimizer.step()`` and ``write()`` at the end, or use the recorder as a
    context manager, which writes at its end; or attach it to the optimizer once, ``recorder.attach(optimizer)``.
    Lightning's Trainer and the Hugging Face Trainer take ``recorder.callback()``. Training with and without a recorder
    ends in the same weights: ``measure`` changes neither the model nor the random states.

    The table has the curves of papers A (Figures 4 and 7), B (Figure 2) and C (Figure 8), one row for each step, layer
    and quantity.

    Parameters
    ----------
    model : torch.nn.Module
        The network that is trained.
    x : array of shape (n, ...), mapping of arrays, or list of batches
        The samples to measure on; a few hundred to a few thousand are enough. With no more samples than a layer has
        inputs, its target linearity is missing.
    y : array of shape (n, ...) or None
        Their targets, None if they come with the batches or if there are none: then the quantities of the loss and
        target linearity are left out.
    path : Path or str
        The Parquet file to write.
    every : int, default 100
        The number of optimizer steps between two measurements. Step 0 is measured at the first call.
    at : sequence of int, default ()
        Further steps to measure at.
    loss, layers, weight_decay, batch_size, outputs, forward
        As for ``gramlab.measure``.
    quantities : sequence of str, optional
        The quantities of ``LayerMeasures`` to measure. Default: all except "centered_ptk" and those that need it, which
        double the work, and FACT without weight decay.
    lr : float, optional
        The learning rate for the sum of virtual covariance shifts (paper A, Figure 7). Default: that of the layer's
        parameter group, and for a layer in no group that of the first group, at each step of the optimizer that the
        recorder is attached to. The shift at a measured step stands for the steps up to the next one, so that
        ``every=1`` gives the exact sum of full-batch training on ``x``.
    linearity : bool, default True
        Whether to measure target linearity, surrogate and neural collapse, which need all features at once.
    accumulate : bool, default False
        Whether to follow every step of the attached optimizer with ``gramlab.AccumulatedFact``: the table then has the
        Pearson correlation of the accumulated FACT with WᵀW, and its relative error.
    experiment, case : str, default "run", ""
        Labels of the rows.
    seed : int, default 0
        A label of the rows; nothing is drawn from it.
    initial : torch.nn.Module or state dict, optional
        The weights before the first step. Default: the model's own at the first call.
    resume : bool, default False
        Whether to go on with the table at ``path``, from its last step, or from the trainer's; later rows of the table
        are dropped. It needs ``initial``, and the labels of the table. The sum of virtual shifts, which the table does
        not hold, is left out.

    Attributes
    ----------
    rows : list of dict
        The table's rows so far.
    accumulated : AccumulatedFact or None
        With ``accumulate``, once an optimizer is attached.
    undefined : dict
        "step S layer quantity" -> why the value is missing.
    steps : int
        Optimizer steps counted so far.

    Raises
    ------
    ValueError
        If ``every`` is no whole number of at least 1, ``at`` holds anything but steps, ``path`` is a folder,
        cannot be written, or is a file and ``resume`` is False, a label does not fit the table (seeds are int32), ``x``
        can be read only once, no layer matches ``layers``, or ``resume`` lacks ``initial``, meets ``accumulate``, or
        finds a table with other labels.

    Examples
    --------
    >>> import tempfile, torch, gramlab
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    >>> x, y = torch.randn(30, 4), torch.randn(30, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> with gramlab.Recorder(model, x, y, tempfile.mkdtemp() + "/run.parquet", every=5).attach(optimizer) as recorder:
    ...     for _ in range(10):
    ...         optimizer.zero_grad()
    ...         (model(x) - y).square().mean().backward()
    ...         optimizer.step()
    >>> sorted({row["step"] for row in recorder.rows})
    [0, 5, 10]
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
        loss: Loss | None = None,
        layers: Layers = None,
        weight_decay: float | None = None,
        quantities: Sequence[str] | None = None,
        outputs: Outputs = None,
        lr: float | None = None,
        linearity: bool = True,
        batch_size: int = 4096,
        accumulate: bool = False,
        forward: Callable[[nn.Module, Any], Tensor] | None = None,
        experiment: str = "run",
        case: str = "",
        seed: int = 0,
        initial: nn.Module | Mapping[str, Tensor] | None = None,
        resume: bool = False,
    ) -> None:
        check_every(every)
        check_path(Path(path), resume)
        if resume:
            check_resumption(initial, accumulate)
        self.labels = {"experiment": experiment, "scale": "user", "case": case, "seed": seed}
        check_labels(self.labels)
        check_rereadable(x)
        model = unwrapped(model)
        with preserved_state(model):
            self._layers = find_layers(model, layers)
        self.model, self.x, self.path = model, x, Path(path)
        self.y = None if y is None else as_tensor(y, "y")
        # numbers of the summary that the default quantities leave out; why they are missing is not reported
        self._not_reported = ("double_centered_nfa", "ptk_centered_nfa") if quantities is None else ()
        if quantities is None:
            quantities = default_quantities(has_targets(model, x, y, batch_size), weight_decay)
        if resume:  # the sum of the shifts before is not in the table
            quantities = [name for name in names_of(quantities) if name != "virtual_shift"]
        self.every, self.at, self.lr, self.linearity = every, checked_steps(at), lr, linearity
        self.options: dict[str, Any] = {"loss": loss, "layers": layers, "weight_decay": weight_decay,
                                        "batch_size": batch_size, "quantities": names_of(quantities),
                                        "outputs": outputs, "forward": forward}  # fmt: skip
        self.rows: list[dict[str, Any]] = tables.read(path).to_pylist() if resume else []
        self.undefined: dict[str, str] = {}
        check_same_labels(self.rows, self.labels, self.path)
        self.steps = max((row["step"] for row in self.rows), default=0)
        self._resume, self._given_initial = resume, initial
        self._writer = object()
        if resume:
            WRITERS[self.path.resolve()] = self._writer
        self.accumulate = accumulate
        self.accumulated: AccumulatedFact | None = None
        self._initial_state: dict[str, Any] | None = None  # None before begin()
        self._last_measured_step: int | None = None
        self._shifts = VirtualShifts()
        self._hook_handles: list[Any] = []
        self._optimizer_of_rates: torch.optim.Optimizer | None = None
        self._optimizer_of_steps: torch.optim.Optimizer | None = None  # the one that the recorder is attached to

    def begin(self) -> None:
        """Measure the network before its first step, once: its weights are the initial ones.

        Raises
        ------
        ValueError
            If the network cannot be measured; for instance, its weights are NaN. The recorder has no hooks then, and
            may begin, or be attached, once more. Also if another recorder has written to ``path`` meanwhile.
        RuntimeError
            If with ``accumulate`` no optimizer is attached.
        """
        if self._initial_state is not None:
            return
        try:
            check_not_written(self.path, self._writer)
            weights = self.model if self._given_initial is None else self._given_initial
            state = unwrapped(weights).state_dict() if isinstance(weights, nn.Module) else weights
            tensors = {name: value for name, value in state.items() if isinstance(value, Tensor)}
            self._initial_state = {name: tensor.detach().clone() for name, tensor in tensors.items()}
            self._initial_state |= {name: copy.deepcopy(state[name]) for name in state if name not in tensors}
            if self._resume:
                self.rows = [row for row in self.rows if row["step"] <= self.steps]
                self._last_measured_step = max((row["step"] for row in self.rows), default=None)
            if self._last_measured_step is None:
                self.measure_at(self.steps)
        except BaseException:  # the caller's optimizer keeps no hooks, and the next begin() starts anew
            self.detach()
            self._initial_state = self._optimizer_of_rates = self.accumulated = None
            self._shifts = VirtualShifts()
            raise

    def step(self) -> None:
        """Count an optimizer step, and measure if this one is due. Call ``begin()`` before the first.

        Raises
        ------
        RuntimeError
            If ``begin()`` was not called, or the recorder is attached to an optimizer, whose steps count already, or
            with ``accumulate`` was detached from it.
        ValueError
            As ``measure_at``.
        """
        if self._optimizer_of_steps is not None:
            raise RuntimeError(
                "the recorder is attached to the optimizer, whose steps it counts already: leave step() out, or"
                " detach() it first"
            )
        self.reached(self.steps + 1)

    def reached(self, step: int) -> None:
        """Report that ``step`` optimizer steps are done; measure if one of the new steps is due.

        Parameters
        ----------
        step : int

        Raises
        ------
        RuntimeError
            If ``begin()`` was not called, or with ``accumulate`` the recorder was detached.
        ValueError
            As ``measure_at``.
        """
        self._check_begun()
        self._check_accumulates()
        due = any(s % self.every == 0 or s in self.at for s in range(self.steps + 1, step + 1))
        self.steps = max(self.steps, step)
        if due:
            self.measure_at(step)

    def _check_begun(self) -> None:
        """Raise RuntimeError if the initial weights are not known yet."""
        if self._initial_state is None:
            raise RuntimeError("call begin() (or enter the recorder as a context) before the first optimizer step")

    def measure_at(self, step: int) -> Measurement:
        """Measure now, and record the numbers under ``step``, in place of numbers that are recorded there already.

        Parameters
        ----------
        step : int
            Steps that are done; the recorder counts on from there. No earlier one than the last measured step.

        Returns
        -------
        Measurement

        Raises
        ------
        RuntimeError
            If ``begin()`` was not called, or with ``accumulate`` no optimizer was attached.
        ValueError
            If ``step`` comes before the last measured one, or is no whole number of at least 0, and if the network
            cannot be measured; for instance, its weights are NaN.
        """
        self._check_begun()
        check_step(step, self._last_measured_step)
        measurement = measure(self.model, self.x, self.y, initial=self._initial_state, **self.options)
        layer_inputs, targets, mask, reasons = (
            self._inputs_and_targets(measurement) if self.linearity else ({}, None, None, {})
        )
        numbers, undefined = summarize(measurement, layer_inputs, targets, mask)
        undefined |= {f"{name} {key}": reason for name, reason in reasons.items() for key in TARGET_QUANTITIES}
        if self.linearity and targets is None:
            undefined["target_linearity"] = "the samples have no targets that make one tensor"
        if "virtual_shift" in self.options["quantities"] and self._learning_rates() is not None:
            self._set_learning_rate()
            numbers += self._shifts.add(measurement, step, undefined)
        if self.accumulate:
            if self.accumulated is None:
                raise RuntimeError("accumulate=True follows the optimizer: attach the recorder to it")
            numbers += accumulated_numbers(self.accumulated, measurement, undefined)
        if step == self._last_measured_step:  # a table has one row for a step, a layer and a quantity
            self.rows = [row for row in self.rows if row["step"] != step]
            reasons_before = self.undefined.items()
            self.undefined = {key: why for key, why in reasons_before if not key.startswith(f"step {step} ")}
        dtype = str(next(self.model.parameters()).dtype).removeprefix("torch.")
        for layer, quantity, value in numbers:
            row = {"step": step, "layer": layer, "quantity": quantity, "value": value, "dtype": dtype}
            self.rows.append(self.labels | row)
        for key, reason in undefined.items():
            if key.rpartition(" ")[2] not in self._not_reported:
                self.undefined[f"step {step} {key}"] = reason
        self._last_measured_step = step
        self.steps = max(self.steps, step)
        return measurement

    def _inputs_and_targets(self, measured: Iterable[str]) -> SamplesOfLayers:
        options = {name: self.options[name] for name in ("batch_size", "forward")}
        return inputs_and_targets(self.model, self.x, self.y, measured, **options)

    def write(self) -> Path:
        """Measure the last step if it was not measured, and write the table, completely or not at all.

        Returns
        -------
        Path
            The table.

        Raises
        ------
        ValueError
            If the last step cannot be measured; for instance, training has diverged. The rows before it are written.
            Also if another recorder has written to ``path`` meanwhile, whose table stays.
        RuntimeError
            If ``begin()`` was not called: there is nothing to write.
        """
        if self._initial_state is None:
            raise RuntimeError(
                "write() comes before begin(), so that nothing is measured and there is no table to write: call"
                " begin(), attach(optimizer), or enter the recorder as a context, before the first optimizer step"
            )
        try:
            if self.lacks_last_step():
                self.measure_at(self.steps)
        finally:
            self._write_rows()
        return self.path

    def _write_rows(self) -> None:
        self.path = Path(self.path)  # the caller may have set a text
        check_not_written(self.path, self._writer)
        tables.write(self.path, self.rows)
        WRITERS[self.path.resolve()] = self._writer

    def lacks_last_step(self) -> bool:
        """Return whether the recorder has begun and the last step is not measured yet."""
        return self._initial_state is not None and self._last_measured_step != self.steps

    def __enter__(self) -> "Recorder":
        self.begin()
        return self

    def write_without_measuring(self) -> None:
        """Write the rows so far; after an error, for instance, the network may not be measurable."""
        if self.rows:
            self._write_rows()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.detach()
        if kind is not None:
            self.write_without_measuring()
        elif self.rows:
            self.write()

    def callback(self) -> "Callback":
        """Return a callback for Lightning's Trainer or the Hugging Face Trainer; it writes when training ends."""
        return Callback(self)
