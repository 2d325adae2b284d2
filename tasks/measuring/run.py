"""The finished training run that an experiment measures."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from gramlab import tables
from gramlab.data import DataSet, random_labels
from gramlab.files import sha256
from gramlab.nets import build
from gramlab.nets.members import Member, members
from gramlab.tables import TableError
from tasks.measuring.resumable import rows_of_part
from tasks.settings import Train
from tasks.stage import Stage


class Run:
    """The networks of all seeds and grid cases at each kept epoch, with their training data.

    ``variants`` holds a Run for each variant by name; all of them share the history. Tensors and networks are on
    ``device``.
    """

    def __init__(self, stage: Stage, variant: str = "", device: str = "cpu"):
        run = stage.settings.train[stage.key]
        self.variants = {} if variant else {name: Run(stage, name, device) for name in run.variants}
        self.device = device
        self.settings: Train = run.by_variant()[variant] if variant else run
        self.key = stage.key
        self.base = stage.run(stage.key)
        self.folder = self.base / variant
        self._data = stage.dataset(self.settings.data)
        self.epochs = self.settings.epochs_kept()
        self.seeds = range(self.settings.seeds)
        shared = {axis: getattr(self.settings, axis) for axis in ("lr", "weight_decay", "label_noise", "beta")}
        self.members: list[Member] = members(self.settings.seeds, self.settings.grid.axes(), **shared)
        self.cases = list(dict.fromkeys(member.case for member in self.members))
        self._loaded: tuple[int, dict[str, Tensor]] = (-1, {})
        self._hashes: dict[int, str] = {}  # of the snapshots, by epoch

    @cached_property
    def data(self) -> DataSet:
        """The data that the networks were trained on."""
        data = DataSet.load(self._data, self.settings.part)
        data = data if self.settings.samples is None else data.rows(train=torch.arange(self.settings.samples))
        moved: dict[str, Any] = {name: tensor.to(self.device) for name, tensor in data.tensors().items()}
        return replace(data, **moved)

    @cached_property
    def history(self) -> list[dict[str, Any]]:
        """Losses and accuracies: rows of a gramlab table."""
        return tables.read(self.base / "history.parquet").to_pylist()

    @property
    def steps_per_epoch(self) -> int:
        """Optimizer steps in an epoch."""
        n = len(self.data.x_train)
        return -(-n // min(self.settings.batch or n, n))

    def snapshot_path(self, epoch: int) -> Path:
        """The file of the weights after this epoch, of all networks."""
        return self.folder / f"epoch-{epoch:06d}.safetensors"

    def _snapshot(self, epoch: int) -> dict[str, Tensor]:
        if self._loaded[0] != epoch:
            path = self.snapshot_path(epoch)
            try:
                self._loaded = (epoch, load_file(path))
            except (OSError, SafetensorError) as error:
                raise TableError(f"{path}: not a readable snapshot ({error})") from error
        return self._loaded[1]

    def part(self, epoch: int, *place: Any, measure: Callable[[], Iterable[dict]]) -> list[dict]:
        """The rows that ``measure`` yields on networks of an epoch, from a file if an interrupted stage has them.

        ``place`` tells the parts of an epoch apart; JSON can hold it.
        """
        if epoch not in self._hashes:
            self._hashes[epoch] = sha256(self.snapshot_path(epoch))
        settings = self.settings.model_dump(mode="json")
        part = [self.folder.name, epoch, *place, settings, self._hashes[epoch]]
        return rows_of_part(self.key, part, measure)

    def member_index(self, seed: int, case: str = "") -> int:
        """The index of this seed of this case ("" without a grid) in ``members`` and in every snapshot."""
        return self.cases.index(case) * len(self.seeds) + self.seeds.index(seed)

    def model(self, epoch: int, seed: int, case: str = "") -> Any:
        """The network after this epoch, in the precision of its training."""
        model = self.settings.model
        network = build(model.kind, self.data.x_train.shape[1:], self.data.outputs, **model.options())
        index = self.member_index(seed, case)
        state = {key: value[index] for key, value in self._snapshot(epoch).items() if not key.startswith("observer:")}
        network.to(self.device, getattr(torch, self.settings.dtype)).load_state_dict(state)
        return network.eval()

    def labels(self, seed: int, case: str = "") -> Tensor:
        """The training targets of this member, with its label noise."""
        noise = self.members[self.member_index(seed, case)].label_noise
        y = self.data.y_train
        return random_labels(y, self.data.classes, noise, self.key, seed, "label noise") if noise else y

    def observed(self, epoch: int, seed: int, name: str, case: str = "") -> Tensor:
        """An observer's sum over all steps up to this epoch."""
        return self._snapshot(epoch)[f"observer:{name}"][self.member_index(seed, case)].to(self.device)
