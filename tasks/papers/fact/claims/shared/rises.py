"""How much a curve rises within a short time, for claims that say that it rises suddenly."""

import numpy as np


def largest_rise(curve: np.ndarray, times: np.ndarray, window: float) -> float:
    """The largest rise between two times that are at most ``window`` apart; 0 if the curve never rises."""
    apart = times[None, :] - times[:, None]
    near = (apart >= 0) & (apart <= window * (1 + 1e-9))  # a window that was rounded down still counts
    return float(np.where(near, curve[None, :] - curve[:, None], 0.0).max())
