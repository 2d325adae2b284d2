"""The settings that all experiments without a training run share; an experiment adds more in its file."""

from tasks.settings.fields import Count, Reducible


class Simulation(Reducible):
    """Base class of the settings of an experiment that trains nothing through ``tasks.train``."""

    instances: Count  # drawn instances, or seeds
    gpu: bool | None = None  # whether the experiment computes on a GPU where there is one

    def seeds(self) -> set[int]:
        """The numbers of seeds that a series may have; none if the column ``seed`` numbers something else."""
        return {self.instances}
