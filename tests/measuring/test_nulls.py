"""The null of a correlation keeps the spectrum of the Gram and nothing else."""

import numpy as np
import pytest
import torch

import gramlab
from gramlab.streams import stream
from tasks.measuring.nulls import in_random_directions, nulls


def test_random_directions_keep_the_spectrum():
    draw = stream("test_nulls", "spectrum")
    eigenvalues = torch.from_numpy(np.sort(draw.uniform(1, 2, size=9)))
    spectrum = torch.linalg.eigvalsh(in_random_directions(eigenvalues, 12, draw))
    np.testing.assert_allclose(spectrum, [0.0] * 3 + eigenvalues.tolist(), atol=1e-12)


def test_the_null_keeps_spectra_and_nothing_else():
    draw = stream("test_checks_c", "null")
    W = torch.from_numpy(draw.normal(size=(9, 12)))
    gram = W.T @ W
    spectrum = torch.linalg.eigvalsh(gram)
    rotated = in_random_directions(spectrum[-9:], 12, draw)
    np.testing.assert_allclose(torch.linalg.eigvalsh(rotated), spectrum, atol=1e-12)
    identity = torch.eye(12).double()
    quantiles = nulls({"gram": gram, "identity": identity}, gram, draw)
    assert 0.05 < quantiles["gram"] < 0.6  # psd matrices: above 0, and far below 1
    # with the identity it is about that of the traces, which a rotation keeps
    assert quantiles["identity"] == pytest.approx(gramlab.pearson(identity, gram), abs=0.2)
