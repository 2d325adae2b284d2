"""The settings that every experiment without a training run has; each experiment adds its own in its file."""

from tasks.settings.fields import Count, Reducible


class Simulation(Reducible):
    """Base class of the settings of an experiment that trains nothing through ``tasks.train``."""

    instances: Count  # drawn instances, or seeds
    gpu: bool | None = None  # whether the experiment computes on a GPU where there is one

    def seeds(self) -> int:
        """How many seeds every series of the experiment's table has; 0 where its seeds number something else."""
        return self.instances
