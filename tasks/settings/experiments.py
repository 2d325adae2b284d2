"""What experiments measure, and the claims that they feed."""

from typing import Any, Literal

from pydantic import model_validator

from tasks.settings.fields import Count, Probability, Rate, Strict


class Measure(Strict):
    """What is measured on a training run's snapshots: its own settings, if it has any."""

    samples: Count | None = None  # of the training set; all by default


class Parity(Strict):
    """Sparse parities of one kind, for kernel machines with ``steps`` feature updates."""

    degree: Count
    dimension: Count
    samples: Count
    test_samples: Count = 1000
    steps: Count = 5
    transition: bool = False  # of Figure 1, not of Figure 5


class Simulate(Strict):
    """A Monte Carlo experiment without a data set."""

    instances: Count
    gpu: bool | None = None  # whether it computes on one, where there is one
    steps: Count | None = None
    every: Count | None = None  # steps between two measurements
    width: Count | None = None  # of the hidden layers
    sizes: list[Count] | None = None  # of matrices that grow
    widths: list[Count] | None = None  # of networks
    draws: Count | None = None  # networks drawn for one average
    balances: list[Probability] | None = None  # of the alignment-reversing data
    data: list[Literal["digits", "mnist", "cifar10", "svhn"]] | None = None  # of images, where it has any
    samples: Count | None = None  # of each of these
    layers: Count | None = None
    modulus: Count | None = None  # of modular addition, and the fraction of its table to train on
    fraction: Rate | None = None
    folder: str | None = None  # of Parquet tables, under the data root; scikit-learn's own without one
    largest: Count | None = None  # number of rows of a table
    parities: list[Parity] | None = None
    ridges: list[Rate] | None = None  # of kernel machines, each chosen by its leave-one-out error
    here: dict[str, Any] | None = None  # what replaces some of the paper's own where the machine is too small for them

    @model_validator(mode="after")
    def _here_fits(self) -> "Simulate":
        self.feasible()
        return self

    def feasible(self) -> "Simulate":
        """The settings with ``here`` laid over them."""
        if not self.here:
            return self
        return Simulate.model_validate({**self.model_dump(exclude={"here"}, exclude_unset=True), **self.here})


class Claim(Strict):
    """Which experiment feeds a claim, and which file of tasks/figures draws it."""

    experiment: str
    figure: str
    parts: list[str] | None = None  # those of the run's data sets that it is about; all by default
