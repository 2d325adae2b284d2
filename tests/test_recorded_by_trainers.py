"""A recorder among the callbacks of the real trainers: the last step, and going on from a checkpoint."""

import copy
import warnings

import pytest
import torch
from recordings import data, network, recorder
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from gramlab import tables

torch.set_num_threads(1)


def last_loss(path):
    """The last measured step, and the loss there."""
    rows = [row for row in tables.read(path).to_pylist() if row["quantity"] == "loss"]
    return max((row["step"], row["value"]) for row in rows)


def test_lightnings_trainer_goes_on_from_its_checkpoint_and_may_replace_the_weights_at_the_end(tmp_path):
    L = pytest.importorskip("lightning.pytorch")

    class Module(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.network = network()

        def training_step(self, batch, _):
            return F.cross_entropy(self.network(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    class ZeroAtEnd(L.Callback):
        """Notes the loss after each step, and replaces the weights at the end, as averages of weights do."""

        def on_train_batch_end(self, trainer, module, *_):
            copied, (x, y) = copy.deepcopy(module.network).eval(), data()
            self.last = trainer.global_step, F.cross_entropy(copied(x), y).item()

        def on_train_end(self, trainer, module):
            module.network[0].weight.data.zero_()

    def fit(checkpoint=None, options=None, **limits):
        module, other = Module(), ZeroAtEnd()
        recording = recorder(module.network, tmp_path / "t", **(options or {}))
        trainer = L.Trainer(accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                            enable_model_summary=False, callbacks=[other, recording.callback()], **limits)  # fmt: skip
        trainer.fit(module, DataLoader(TensorDataset(*data()), batch_size=20, shuffle=True), ckpt_path=checkpoint)
        assert last_loss(tmp_path / "t") == (other.last[0], pytest.approx(other.last[1], rel=1e-5))
        return trainer

    fit(max_epochs=1).save_checkpoint(tmp_path / "checkpoint")
    resumed = {"resume": True, "initial": network().state_dict()}
    fit(str(tmp_path / "checkpoint"), resumed, max_epochs=-1, max_steps=8)
    rows = tables.read(tmp_path / "t").to_pylist()
    assert sorted({row["step"] for row in rows}) == [0, 3, 5, 8]


@pytest.mark.parametrize("recorder_first", [True, False])
def test_averages_in_place_of_the_last_weights_are_not_recorded(recorder_first, tmp_path):
    """Lightning asks callbacks that monitor a number last, after the recorder, whether the training stops."""
    L = pytest.importorskip("lightning.pytorch")

    class Module(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.network = network()

        def training_step(self, batch, _):
            self.log("constant", torch.tensor(1.0), on_step=False, on_epoch=True)
            return F.cross_entropy(self.network(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    class Losses(L.Callback):
        """Notes the loss after each step."""

        def on_train_batch_end(self, trainer, module, *_):
            copied, (x, y) = copy.deepcopy(module.network).eval(), data()
            self.last = trainer.global_step, F.cross_entropy(copied(x), y).item()

    module, losses = Module(), Losses()
    recording = recorder(module.network, tmp_path / "t", every=4)
    averaging = [recording.callback(), L.callbacks.WeightAveraging()][:: 1 if recorder_first else -1]
    stopping = L.callbacks.EarlyStopping("constant", patience=1, check_on_train_epoch_end=True)
    trainer = L.Trainer(accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                        enable_model_summary=False, max_epochs=8, callbacks=[losses, *averaging, stopping])  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trainer.fit(module, DataLoader(TensorDataset(*data()), batch_size=20))
    assert losses.last[0] == 6, "the training stopped early"
    replaced = [str(one.message) for one in caught if "replaced the weights of the last step, 6" in str(one.message)]
    assert len(replaced) == (0 if recorder_first else 1)
    if recorder_first:
        assert last_loss(tmp_path / "t") == (6, pytest.approx(losses.last[1], rel=1e-5))
    else:
        assert last_loss(tmp_path / "t")[0] == 4, "the last step is missing rather than wrong"


@pytest.mark.parametrize("unit", ["epoch", "steps"])
def test_the_best_checkpoint_of_hugging_faces_trainer_is_not_the_last_step(unit, tmp_path):
    pytest.importorskip("accelerate")
    transformers = pytest.importorskip("transformers")

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.network = network()

        def forward(self, x, labels=None):
            scores = self.network(x)
            return {"loss": F.cross_entropy(scores, labels), "logits": scores}

    class Losses(transformers.TrainerCallback):
        """Notes the loss after each step."""

        def on_step_end(self, args, state, control, model, **_):
            self.last = state.global_step, F.cross_entropy(copy.deepcopy(model.network).eval()(x), y).item()

    (x, y), model, losses = data(), Classifier(), Losses()
    samples = [{"x": sample, "labels": label} for sample, label in zip(x, y, strict=True)]
    stopping = transformers.EarlyStoppingCallback(early_stopping_patience=1)
    settings = transformers.TrainingArguments(
        str(tmp_path), per_device_train_batch_size=20, num_train_epochs=20, eval_strategy=unit, save_strategy=unit,
        eval_steps=3, save_steps=3, load_best_model_at_end=True, use_cpu=True, report_to=[], disable_tqdm=True,
    )  # fmt: skip
    trainer = transformers.Trainer(
        model, settings, train_dataset=samples, eval_dataset=samples,
        callbacks=[recorder(model.network, tmp_path / "t", every=100).callback(), losses, stopping],
        optimizers=(torch.optim.SGD(model.parameters(), lr=30.0), None),
    )  # fmt: skip
    trainer.train()
    assert trainer.state.best_global_step < losses.last[0] < 60, "the training stopped early, after the best step"
    assert last_loss(tmp_path / "t") == (losses.last[0], pytest.approx(losses.last[1], rel=1e-5))
