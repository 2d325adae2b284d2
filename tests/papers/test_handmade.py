"""The runs made by hand are what ``Run`` reads: each network, sum, label and history row at its own place."""

import numpy as np
import torch
from handmade import classes_data


def test_every_network_of_a_handmade_run_is_read_back(handmade):
    written = handmade(
        "a_fig12",
        {
            "grid": {"label_noise": [0.0, 0.5]},
            "sets": ["one", "two"],
            "observe": ["virtual_update"],
            "dtype": "float64",
        },
        {"one": classes_data("one"), "two": classes_data("two", train=8, classes=4, factor=0.5)},
    )
    assert list(written.run.variants) == ["one", "two"]
    seen = set()
    for name, variant in written.run.variants.items():
        assert variant.data.classes == written.data(name).classes
        assert variant.cases == written.cases(name) == ["label_noise=0", "label_noise=0.5"]
        for epoch in variant.epochs:
            assert epoch * variant.steps_per_epoch == written.steps(epoch, name)
            for case in variant.cases:
                for seed in variant.seeds:
                    weights = written.weights(epoch, seed, case, name)
                    state = variant.model(epoch, seed, case).state_dict()
                    assert all(np.array_equal(state[key].numpy(), weights[key]) for key in state)
                    observed = variant.observed(epoch, seed, "virtual_update/shuffled", case).numpy()
                    assert np.array_equal(observed, written.sums("virtual_update/shuffled", epoch, seed, case, name))
                    seen.add(float(weights["0.weight"][0, 0]))
    assert len(seen) == 2 * 3 * 2 * 2
    history = [{**row, "layer": ""} for row in written.history]
    assert written.run.history == history or len(written.run.history) == 2 * 3 * 2 * 2 * 4
    assert torch.equal(written.run.variants["two"].data.y_train, written.data("two").y_train)
