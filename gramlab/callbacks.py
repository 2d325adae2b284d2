"""A recorder as a callback of Lightning's Trainer and of the Hugging Face Trainer."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gramlab.record import Recorder


class Callback:
    """A recorder as a callback, with the methods that Lightning and Hugging Face call.

    Neither library is imported. Both call many more hooks than a recorder needs; those do nothing.

    Parameters
    ----------
    recorder : Recorder
    """

    state_key = "gramlab.Recorder"  # Lightning's

    def __init__(self, recorder: "Recorder") -> None:
        self.recorder = recorder

    def on_train_start(self, trainer: Any, module: Any) -> None:
        """Lightning: before the first step."""
        self.recorder.begin_at(int(trainer.global_step), trainer.optimizers[0] if trainer.optimizers else None)

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        """Lightning: after a batch; ``global_step`` counts optimizer steps."""
        self.recorder.reached(int(trainer.global_step))

    def on_train_begin(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """Hugging Face: before the first step."""
        self.recorder.begin_at(int(state.global_step), others.get("optimizer"))

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Hugging Face: after an optimizer step."""
        self.recorder.reached(int(state.global_step))

    def on_train_end(self, *_: Any, **__: Any) -> None:
        """Both: write the table."""
        self.recorder.detach()
        self.recorder.write()

    def on_exception(self, *_: Any, **__: Any) -> None:
        """Lightning: write the rows from before the error."""
        self.recorder.__exit__(Exception)

    def state_dict(self) -> dict[str, Any]:
        """Lightning: the recorder adds nothing to a checkpoint."""
        return {}

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("on_") or name in ("setup", "teardown", "load_state_dict"):
            return lambda *_, **__: None
        raise AttributeError(name)
