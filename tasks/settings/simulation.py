"""The settings that every experiment without a training run has; each experiment adds its own in its file."""

from typing import Any, Self

from pydantic import model_validator

from tasks.settings.fields import Count, Strict


class Simulation(Strict):
    """Base class of the settings of an experiment that trains nothing through ``tasks.train``."""

    instances: Count  # drawn instances, or seeds
    gpu: bool | None = None  # whether the experiment computes on a GPU where there is one
    affordable: dict[str, Any] | None = None  # replace the paper's settings where the machine is too small for them

    @model_validator(mode="after")
    def _check_affordable(self) -> Self:
        self.feasible()
        return self

    def seeds(self) -> int:
        """How many seeds every series of the experiment's table has; 0 where its seeds number something else."""
        return self.instances

    def feasible(self) -> Self:
        """The settings with ``affordable`` laid over them."""
        if not self.affordable:
            return self
        settings = self.model_dump(exclude={"affordable"}, exclude_unset=True)
        return type(self).model_validate({**settings, **self.affordable})
