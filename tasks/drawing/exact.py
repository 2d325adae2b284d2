"""Residuals of exact identities: a panel for each statement, with the 8 u that its rule allows in float64."""

from collections.abc import Mapping
from types import MappingProxyType, ModuleType

import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import instances
from tasks.drawing.instances import RESIDUAL, Limit


def draw(rows: pd.DataFrame, claim: ModuleType, limits: Mapping[str, Limit | None] = MappingProxyType({})) -> Figure:
    """Draw every instance's residual in both precisions; ``limits`` are those of quantities that are no residuals."""
    return instances.draw(rows, claim, RESIDUAL, limits)
