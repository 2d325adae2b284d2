"""A.tl: without a ridge Target Linearity is not the R^2 of ordinary least squares unless H and Y are centred."""

import numpy as np

h, y = np.array([0.0, 1.0, 2.0]), np.array([3.0, 2.0, 1.0])  # y = 3 - h, so that the R^2 of least squares is 1
r_squared, h0, y0 = np.corrcoef(h, y)[0, 1] ** 2, h - h.mean(), y - y.mean()
fits = {"as printed": (h, y), "h centred": (h0, y), "y centred": (h, y0), "both centred": (h0, y0)}
linearity = {name: 1 - ((b - (a @ b) / (a @ a) * a) ** 2).sum() / (y0 @ y0) for name, (a, b) in fits.items()}
print(f"R^2 {r_squared:g}; T_0 " + ", ".join(f"{name} {value:.2f}" for name, value in linearity.items()))
assert all(abs(linearity[name] - r_squared) > 0.5 for name in ("as printed", "h centred", "y centred"))
assert abs(linearity["both centred"] - r_squared) < 1e-12
