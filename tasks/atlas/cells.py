"""The cells of the atlas, as pipeline/atlas/cells.yaml lists them."""

from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

from tasks.settings import ROOT, allowed, refuse
from tasks.settings.fields import Strict

FILE = ROOT / "pipeline" / "atlas" / "cells.yaml"


class Group(Strict):
    """The settings that all cells of an architecture on a task share."""

    architecture: str
    task: str
    data: dict[str, Any]
    model: dict[str, Any]
    loss: Literal["mse", "cross_entropy"]
    steps: int
    init: str = "uniform"
    init_scale: float | list[float] = 1.0


class Settings(Strict):
    """One cell: how the networks of a group are trained."""

    group: str
    optimizer: Literal["sgd", "momentum", "adam", "adamw", "muon", "whitened", "least squares", "none"]
    lr: float
    weight_decay: float
    steps: int = 0  # 0: as many as the group's
    answer: str = ""  # the expected winner, of a cell with a known answer


class Cell(Settings):
    """A cell with its name and the settings of its group."""

    name: str
    shared: Group

    @property
    def last_step(self) -> int:
        """The number of training steps."""
        return self.steps or self.shared.steps

    @property
    def snapshots(self) -> tuple[int, ...]:
        """Twelve steps: 0, and eleven to the last step, evenly on a logarithmic scale."""
        if self.optimizer == "none":
            return (0,)
        if self.optimizer == "least squares":
            return (0, 1)
        first, last = min(10, self.last_step), self.last_step
        steps = {0, last, *(round(first * (last / first) ** (number / 10)) for number in range(11))}
        return tuple(sorted(steps))


@cache
def _file() -> dict[str, Any]:
    return yaml.safe_load(FILE.read_text(encoding="utf-8"))


def seeds() -> int:
    """The number of networks of a cell, which train together."""
    return int(_file()["seeds"])


def stage_cells(stage: str) -> list[Cell]:
    """The cells that a stage measures; on an unknown stage one line to stderr and exit status 2."""
    content = _file()
    stages = {"slice": content["slice"], **content["stages"]}
    if stage not in stages:
        refuse(f"unknown stage of the atlas {stage!r}{allowed(stage, stages)}")
    return [_cell(name, settings) for name, settings in stages[stage].items()]


def all_cells() -> dict[str, Cell]:
    """Every cell of the atlas by name."""
    return {cell.name: cell for stage in ["slice", *_file()["stages"]] for cell in stage_cells(stage)}


def _cell(name: str, settings: dict[str, Any]) -> Cell:
    chosen = Settings.model_validate(settings)
    return Cell(name=name, shared=Group.model_validate(_file()["groups"][chosen.group]), **chosen.model_dump())


def cells_folder() -> Path:
    """Where the stages' tables lie, in the folders ``scores`` and ``facts``."""
    return ROOT / "data" / "atlas"
