"""The random numbers of one experiment, for data and for weights, are independent: paper B's averages need this."""

import hashlib
from itertools import combinations

import numpy as np
import pytest
import torch
from torch import nn

from gramlab.data.alignment import alignment_reversing
from gramlab.data.polynomials import chain_monomial, high_rank_polynomial
from gramlab.nets import initialize, mlp
from gramlab.streams import ROOT_VARIABLE, stream
from tasks.papers.centered_nfa.experiments import b_centerings, b_dynamics, b_fig3, b_fig6, b_rmt

LENGTH = 400  # independent numbers: correlations of 400 pairs stay below 0.35 at all 799 shifts, but for 1 in 10^9


def likeness(first, second) -> float:
    """The largest correlation of the beginnings of two arrays over all shifts: 1 if both hold the same numbers."""
    a, b = (np.asarray(array, float).ravel()[:LENGTH] for array in (first, second))
    a, b = a - a.mean(), b - b.mean()
    size = 2 * LENGTH
    products = np.fft.irfft(np.fft.rfft(a, size) * np.fft.rfft(b, size).conj(), size)
    return float(np.abs(products).max() / np.linalg.norm(a) / np.linalg.norm(b))


def theory():
    X, _, _, W = b_rmt.sample(b_rmt.CASES[0], 32, 0)
    more, _, _, _ = b_rmt.sample(b_rmt.CASES[0], 32, 1)
    return {
        "X": X,
        "another seed's X": more,
        "W": W,
        "W of another network": b_rmt.network(32, 32, "case", 32, 0, 1)[1],
    }


def figure_3():
    sets = {f"X, seed {seed}": alignment_reversing(40, 40, 1.0, noise=0, seed=seed).x_train for seed in range(2)}
    # the rows' common part is no white noise
    sets = {name: X - X.mean(1, keepdim=True) for name, X in sets.items()}
    return {**sets, **{f"W {number}": b_fig3.network(40, number)[1] for number in range(3)}}


def figure_6():
    weights = {
        "W": b_fig6.initial_weights(32, 32, 0)[0],
        "V": b_fig6.initial_weights(32, 32, 0)[1],
        "wide W": b_fig6.initial_weights(32, 64, 0)[0],
    }
    return weights | {"X": chain_monomial(32, 32, 5).x_train, "X, high rank": high_rank_polynomial(32, 32).x_train}


def centerings():
    net = mlp(32, [32, 32], 1, "relu", bias=False)
    W = [b_centerings.initial_weights(net, "claim", seed, 1.0) for seed in range(2)]
    drawn = {f"{key}, seed {seed}": W[seed][key] for seed in range(2) for key in ("0.weight", "2.weight")}
    data = chain_monomial(32, 32, 5, 32)
    return {**drawn, "x": data.x_train, "test x": data.x_test, "x, seed 1": chain_monomial(32, 32, 5, seed=1).x_train}


def training():
    return {**initialize(mlp(32, [32, 32], 1, "relu", bias=False), ("b_fig1", 0), "normal"),
            "x": chain_monomial(32, 32, 5).x_train}  # fmt: skip


@pytest.mark.parametrize("drawn", [theory, figure_3, figure_6, centerings, training])
def test_data_and_weights_share_no_numbers(drawn):
    for (first_name, first), (second_name, second) in combinations(drawn().items(), 2):
        if first.numel() >= LENGTH <= second.numel():
            assert likeness(first, second) < 0.35, (first_name, second_name)


def test_a_small_experiment_shares_no_numbers():
    """Too few numbers for a correlation: none occurs twice, in units of its array's first number."""
    _, weights, x, y = b_dynamics.sample("prop3", 0, b_dynamics.SMOOTH)
    numbers = np.concatenate([(array.ravel() / array.ravel()[0])[1:] for array in (*weights, x, y)])
    assert len(np.unique(numbers.round(10))) == len(numbers)


def test_equal_seeds_would_be_detected():
    """Why streams exist: generators of the same seed give data and weights the same numbers, even shifted."""
    data = torch.randn(25, 20, generator=torch.Generator().manual_seed(0))
    weight = torch.randn(50, 20, generator=torch.Generator().manual_seed(0))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layer = nn.init.normal_(torch.empty(40, 20), std=0.1)
    assert likeness(data, weight) > 0.99
    assert likeness(data, layer) > 0.99
    assert likeness(data.ravel()[100:], weight) > 0.5
    assert likeness(stream("a", 0).normal(size=500), stream("a", 0).normal(size=500)) > 0.99
    assert likeness(stream("a", 0).normal(size=500), stream("a", 1).normal(size=500)) < 0.35


def philox(key: int, blocks: int) -> list[int]:
    """Words of Philox4x64-10 in whole numbers, from its definition (Salmon et al. 2011); the counter begins at 1."""
    words, mask = [], 2**64 - 1
    for counter in range(1, blocks + 1):
        c, k = [counter, 0, 0, 0], [key & mask, key >> 64]
        for _ in range(10):
            first, second = 0xD2E7470EE14C6C93 * c[0], 0xCA5A826395121157 * c[2]
            c = [(second >> 64) ^ c[1] ^ k[0], second & mask, (first >> 64) ^ c[3] ^ k[1], first & mask]
            k = [(k[0] + 0x9E3779B97F4A7C15) & mask, (k[1] + 0xBB67AE8584CAA73B) & mask]
        words += c
    return words


@pytest.mark.parametrize(("root", "text"), [("0", "('a_fig7', 0, 'data')"), ("", "('a_fig7', 0, 'data')"),
                                            ("12", "12:('a_fig7', 0, 'data')")])  # fmt: skip
def test_the_key_is_the_hash_of_the_name_with_its_root(monkeypatch, root, text):
    """Root 0 leaves every number as it was before there were roots."""
    monkeypatch.setenv(ROOT_VARIABLE, root)
    key = int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "little")
    words = philox(key, 5)
    assert stream("a_fig7", 0, "data").bit_generator.random_raw(20).tolist() == words
    assert stream("a_fig7", 0, "data").random(20).tolist() == [(word >> 11) * 2.0**-53 for word in words]


def test_roots_give_independent_numbers(monkeypatch):
    numbers = {}
    for root in ("0", "1", "2", "12"):
        monkeypatch.setenv(ROOT_VARIABLE, root)
        numbers[root] = stream("a", 0).normal(size=500)
    for (first, a), (second, b) in combinations(numbers.items(), 2):
        assert likeness(a, b) < 0.35, (first, second)
    monkeypatch.setenv(ROOT_VARIABLE, "-1")
    with pytest.raises(ValueError, match="whole number"):
        stream("a")
