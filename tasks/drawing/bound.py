"""How tight a bound is: left / right side of the inequality on every instance, by arm, beside the limit of 1."""

from collections.abc import Mapping
from types import MappingProxyType, ModuleType

import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import instances
from tasks.drawing.instances import RATIO, Limit


def draw(rows: pd.DataFrame, claim: ModuleType, limits: Mapping[str, Limit | None] = MappingProxyType({})) -> Figure:
    """Draw every instance's ratio; ``limits`` are those of quantities that are no ratios."""
    return instances.draw(rows, claim, RATIO, limits)
