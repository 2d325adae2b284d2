"""A recorder as a callback of Lightning's Trainer and of the Hugging Face Trainer."""

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from gramlab.measures.shards import local_tensor

if TYPE_CHECKING:
    from gramlab.record import Recorder


def _sums(model: nn.Module) -> Tensor:
    """Each parameter's sum and sum of squares, which show whether other weights have taken its place."""
    weights = [local_tensor(parameter.detach()).double() for parameter in model.parameters()]
    return torch.stack([total for w in weights for total in (w.sum().cpu(), w.square().sum().cpu())])


class Callback:
    """A recorder as a callback, with the methods that Lightning and Hugging Face call.

    Neither library is imported. Both call many more hooks than a recorder needs; those do nothing.

    Parameters
    ----------
    recorder : Recorder
    """

    state_key = _legacy_state_key = "gramlab.Recorder"  # Lightning's; it reads both when it loads a checkpoint

    def __init__(self, recorder: "Recorder") -> None:
        self.recorder = recorder
        self._at_epoch_end: tuple[int, Tensor] | None = None  # the step, and sums over the weights

    def on_train_start(self, trainer: Any, module: Any) -> None:
        """Lightning: before the first step."""
        self.recorder.begin_at(int(trainer.global_step), trainer.optimizers[0] if trainer.optimizers else None)

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        """Lightning: after a batch; ``global_step`` counts optimizer steps."""
        self.recorder.reached(int(trainer.global_step))

    def on_train_epoch_end(self, trainer: Any, module: Any) -> None:
        """Lightning: write after the last epoch, before a callback such as SWA may replace the weights by averages."""
        last_epoch = trainer.current_epoch + 1 == trainer.max_epochs
        if last_epoch or trainer.should_stop or trainer.global_step == trainer.max_steps:
            self.recorder.write()
        elif self.recorder.lacks_last_step():  # a callback after this one may yet stop the training
            self._at_epoch_end = self.recorder.steps, _sums(self.recorder.model)

    def on_train_begin(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """Hugging Face: before the first step."""
        self.recorder.begin_at(int(state.global_step), others.get("optimizer"))

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Hugging Face: after an optimizer step."""
        self.recorder.reached(int(state.global_step))

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Hugging Face: write after the last step, before the trainer may load its best checkpoint."""
        if control.should_training_stop:
            self.recorder.write()

    on_save = on_epoch_end  # an evaluation after the epoch's end may have stopped the training

    def on_train_end(self, trainer_or_args: Any, module_or_state: Any, *_: Any, **__: Any) -> None:
        """Both: write the table. Averages and Hugging Face's best checkpoint are not the weights of the last step."""
        self.recorder.detach()
        loads_best = getattr(trainer_or_args, "load_best_model_at_end", False)
        if loads_best and module_or_state.best_model_checkpoint is not None:
            self.recorder.write_without_measuring()
        elif self.recorder.lacks_last_step() and self._are_replaced():
            warnings.warn(
                f"a callback replaced the weights of the last step, {self.recorder.steps}, before the recorder could"
                " measure it, so that the table lacks this step: put the recorder before callbacks that average the"
                " weights",
                stacklevel=2,
            )
            self.recorder.write_without_measuring()
        else:
            self.recorder.write()

    def _are_replaced(self) -> bool:
        """Whether the weights changed since the end of the last epoch, after which no step was made."""
        if self._at_epoch_end is None or self._at_epoch_end[0] != self.recorder.steps:
            return False
        return not torch.allclose(_sums(self.recorder.model), self._at_epoch_end[1], rtol=0, atol=0, equal_nan=True)

    def on_exception(self, *_: Any, **__: Any) -> None:
        """Lightning: write the rows from before the error."""
        self.recorder.detach()
        self.recorder.write_without_measuring()

    def state_dict(self) -> dict[str, Any]:
        """Lightning: the recorder adds nothing to a checkpoint."""
        return {}

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("on_") or name in ("setup", "teardown", "load_state_dict"):
            return lambda *_, **__: None
        raise AttributeError(name)
