"""The lower a VAE's beta, the higher the Target Linearity of its latents and the lower its reconstruction error.

For beta of at most 0.1, Target Linearity rises throughout training. Latents are the posterior means and targets the
inputs, both of the training set; the reconstruction error is that of the test set. On MNIST and on CIFAR-10, each by
itself (quick scale: 8 x 8 digits in MNIST's place alone).
"""

from dataclasses import replace

import numpy as np

from tasks.judge import Finding, Rows, by_number, every, kendall, positive
from tasks.rules.a import by_data, least_trend

ID = "A.fig10"
KIND = "statistical"
TITLE = "A lower beta of a VAE: more linear latents, better reconstructions"
PRINTED = "TL falls and the reconstruction error rises with β from 0.05 to 10, Figure 10"
CORRECTION = (
    "The regression has an intercept, which Definition 2 leaves out: the authors' code centres the inputs. Without it "
    "the inputs' mean, which no latent expresses, counts as error."
)
QUANTITIES = ("target_linearity", "reconstruction")
LOW = 0.1  # the betas whose Target Linearity rises in training


def rule(rows: Rows) -> Finding:
    """Per seed: the ends and Kendall's tau over beta after training; for low betas the same over the epochs from 1."""
    parts: dict[str, Finding] = {}
    measured = []
    for data, one in by_data(rows).items():
        betas, T = by_number(one.where(quantity="target_linearity"))
        _, R = by_number(one.where(quantity="reconstruction"))
        low = T[:, betas <= LOW, 1:]
        rise = (low[:, :, -1] - low[:, :, 0]).min(1)
        found = {
            "linearity_falls": positive(T[:, 0, -1] - T[:, -1, -1], "Target Linearity, lowest beta minus highest"),
            "linearity_trend": positive(np.array([-kendall(seed[:, -1]) for seed in T]), "minus Kendall's tau, beta"),
            "error_rises": positive(R[:, -1, -1] - R[:, 0, -1], "reconstruction error, highest beta minus lowest"),
            "error_trend": positive(np.array([kendall(seed[:, -1]) for seed in R]), "Kendall's tau, error and beta"),
            "rise_in_training": positive(rise, "least rise of Target Linearity at low beta"),
            "trend_in_training": positive(least_trend(low), "its least Kendall's tau"),
        }
        parts |= {f"{data}, {name}": part for name, part in found.items()}
        measured.append(f"{data}: TL {T[:, 0, -1].mean():.3f} → {T[:, -1, -1].mean():.3f}, "
                        f"error {R[:, 0, -1].mean():.1f} → {R[:, -1, -1].mean():.1f}")  # fmt: skip
    return replace(every(**parts), measured="; ".join(measured))
