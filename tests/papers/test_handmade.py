"""The runs made by hand are what ``Run`` reads: each network, sum, label and history row at its own place."""

import numpy as np
import torch
from handmade import classes_data


def test_every_network_of_a_handmade_run_is_read_back(handmade):
    made = handmade(
        "a_fig12",
        {
            "grid": {"label_noise": [0.0, 0.5]},
            "sets": ["one", "two"],
            "observe": ["virtual_update"],
            "dtype": "float64",
        },
        {"one": classes_data("one"), "two": classes_data("two", train=8, classes=4, factor=0.5)},
    )
    assert list(made.run.variants) == ["one", "two"]
    seen = set()
    for name, variant in made.run.variants.items():
        assert variant.data.classes == made.data(name).classes
        assert variant.cases == made.cases(name) == ["label_noise=0", "label_noise=0.5"]
        for epoch in variant.epochs:
            assert epoch * variant.steps_per_epoch == made.steps(epoch, name)
            for case in variant.cases:
                for seed in variant.seeds:
                    weights = made.weights(epoch, seed, case, name)
                    state = variant.model(epoch, seed, case).state_dict()
                    assert all(np.array_equal(state[key].numpy(), weights[key]) for key in state)
                    observed = variant.observed(epoch, seed, "virtual_update/shuffled", case).numpy()
                    assert np.array_equal(observed, made.sums("virtual_update/shuffled", epoch, seed, case, name))
                    seen.add(float(weights["0.weight"][0, 0]))
    assert len(seen) == 2 * 3 * 2 * 2
    assert (
        made.run.history == [{**row, "layer": ""} for row in made.history] or len(made.run.history) == 2 * 3 * 2 * 2 * 4
    )
    assert torch.equal(made.run.variants["two"].data.y_train, made.data("two").y_train)
