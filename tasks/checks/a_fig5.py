"""A decoder of high Target Linearity interpolates linearly between the inputs of two latent vectors.

On a trained VAE's latents and inputs the mean error of interpolation of the least squares fit g, over all pairs, is at
most its mean reconstruction error, at every alpha (Proposition 3); and the lower beta, so the higher Target Linearity,
the closer the decoder itself comes to the interpolated inputs.
"""

import numpy as np

from tasks.judge import Finding, Rows, bound, by_number, every, kendall, positive

ID = "A.fig5"
KIND = "statistical"
TITLE = "A lower beta of a VAE: more linear interpolation between images"
PRINTED = "“lower β (higher TL) yields near-linear transitions”, Figure 5; Proposition 3"
QUANTITIES = ("interpolation/ratio", "interpolation/decoder")


def rule(rows: Rows) -> Finding:
    """The bound on every network and alpha; per seed the ends and Kendall's tau of the decoder's error over beta."""
    _, errors = by_number(rows.where(quantity="interpolation/decoder"))
    last = errors[:, :, -1]
    found = every(
        proposition_3=bound(rows.where(quantity="interpolation/ratio")),
        decoder_worse=positive(last[:, -1] - last[:, 0], "decoder's error at the highest beta minus at the lowest"),
        decoder_trend=positive(np.array([kendall(one) for one in last]), "Kendall's tau of its error and beta"),
    )
    found.numbers.update({"decoder's error, lowest beta": last[:, 0].mean(), "highest beta": last[:, -1].mean()})
    return found
