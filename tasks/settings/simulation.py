"""The settings that every experiment without a training run has; each experiment adds its own in its file."""

from typing import Any, Self

from pydantic import model_validator

from tasks.settings.fields import Count, Strict


class Simulation(Strict):
    """Base class of the settings of an experiment that trains nothing through ``tasks.train``."""

    instances: Count  # drawn instances, or seeds
    gpu: bool | None = None  # whether the experiment computes on a GPU where there is one
    here: dict[str, Any] | None = None  # settings that replace the paper's where the machine is too small for them

    @model_validator(mode="after")
    def _check_here(self) -> Self:
        self.feasible()
        return self

    def feasible(self) -> Self:
        """The settings with ``here`` laid over them."""
        if not self.here:
            return self
        return type(self).model_validate({**self.model_dump(exclude={"here"}, exclude_unset=True), **self.here})
