"""A finished training run, as the experiments read it."""

from functools import cached_property
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from gramlab import tables
from gramlab.data import DataSet
from gramlab.nets import mlp
from gramlab.tables import TableError
from tasks.settings import Train
from tasks.stage import Stage


class Run:
    """Networks of all seeds at each kept epoch, with the data they were trained on."""

    def __init__(self, stage: Stage):
        self.settings: Train = stage.settings.train[stage.key]
        self.folder = stage.run(stage.key)
        self.data = DataSet.load(stage.dataset(self.settings.data))
        self.epochs = self.settings.epochs_kept()
        self.seeds = range(self.settings.seeds)
        self._loaded: tuple[int, dict[str, Tensor]] = (-1, {})

    @cached_property
    def history(self) -> list[dict[str, Any]]:
        """Losses and accuracies: rows of a gramlab table."""
        return tables.read(self.folder / "history.parquet").to_pylist()

    @property
    def steps_per_epoch(self) -> int:
        """Optimizer steps in an epoch."""
        n = len(self.data.x_train)
        return -(-n // min(self.settings.batch or n, n))

    def _snapshot(self, epoch: int) -> dict[str, Tensor]:
        if self._loaded[0] != epoch:
            path: Path = self.folder / f"epoch-{epoch:06d}.safetensors"
            try:
                self._loaded = (epoch, load_file(path))
            except (OSError, SafetensorError) as error:
                raise TableError(f"{path}: not a readable snapshot ({error})") from error
        return self._loaded[1]

    def model(self, epoch: int, seed: int) -> nn.Sequential:
        """The network of this seed after this epoch, in the precision it was trained in."""
        shape = self.settings.model
        made = mlp(self.data.inputs, shape.hidden, self.data.outputs, shape.activation, shape.bias)
        own = {key: value[seed] for key, value in self._snapshot(epoch).items() if not key.startswith("observer:")}
        made.to(next(iter(own.values())).dtype).load_state_dict(own)
        return made

    def observed(self, epoch: int, seed: int, name: str) -> Tensor:
        """An observer's sum over all steps up to this epoch."""
        return self._snapshot(epoch)[f"observer:{name}"][seed]
