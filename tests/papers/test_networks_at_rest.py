"""A trained network is measured as it predicts: batch normalisation takes the statistics of training."""

import torch
from handmade import classes_data


def test_a_samples_outputs_do_not_depend_on_the_others(handmade):
    settings = {"model": {"kind": "resnet18", "width": 6, "channels": 2}, "loss": "signed_mse"}
    run = handmade("d_resnet18", settings, classes_data(shape=(1, 8, 8)), "neural_collapse").run
    model = run.model(run.epochs[-1], run.seeds[0])
    x = run.data.scaled(run.data.x_train, torch.float32)
    assert any(isinstance(part, torch.nn.BatchNorm2d) for part in model.modules())
    with torch.no_grad():
        torch.testing.assert_close(model(x)[:1], model(x[:1]), rtol=1e-4, atol=1e-4)
