"""What an approximation ≈ without a tolerance leaves: its error over the smaller of its two sides, in words."""

from collections.abc import Mapping


def over_smaller_side(errors: Mapping[str, float]) -> str:
    """The range of the error over the smaller side, by layer, and how many layers have an error above it."""
    values = errors.values()
    above = sum(value > 1 for value in values)
    return (f"the error divided by the smaller of the two sides of ≈ is {min(values):.2f} to {max(values):.2f} by "
            f"layer, and above 1 in {above or 'none'} of {len(values)} layers")  # fmt: skip
