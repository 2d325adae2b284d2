"""The lower a VAE's beta, the higher the Target Linearity of its latents and the lower its reconstruction error.

For beta of at most 0.1, Target Linearity rises throughout training. Latents are the posterior means and targets the
inputs, both of the training set; the reconstruction error is that of the test set. Here on
MNIST (quick scale: 8 x 8 digits); the paper's CIFAR-10 is not judged.
"""

from dataclasses import replace

import numpy as np

from tasks.judge import Finding, Rows, by_number, every, kendall, positive

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
    betas, T = by_number(rows.where(quantity="target_linearity"))
    _, R = by_number(rows.where(quantity="reconstruction"))
    low = T[:, betas <= LOW, 1:]
    found = every(
        linearity_falls=positive(T[:, 0, -1] - T[:, -1, -1], "Target Linearity, lowest beta minus highest"),
        linearity_trend=positive(np.array([-kendall(one[:, -1]) for one in T]), "minus Kendall's tau with beta"),
        error_rises=positive(R[:, -1, -1] - R[:, 0, -1], "reconstruction error, highest beta minus lowest"),
        error_trend=positive(np.array([kendall(one[:, -1]) for one in R]), "Kendall's tau of the error with beta"),
        rise_in_training=positive((low[:, :, -1] - low[:, :, 0]).min(1), "least rise of Target Linearity at low beta"),
        trend_in_training=positive(np.array([min(map(kendall, one)) for one in low]), "its least Kendall's tau"),
    )
    ends = f"TL {T[:, 0, -1].mean():.3f} → {T[:, -1, -1].mean():.3f}"
    return replace(found, measured=f"{ends}, error {R[:, 0, -1].mean():.1f} → {R[:, -1, -1].mean():.1f}")
