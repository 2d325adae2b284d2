"""Check the recorder in the trainers of Lightning and Hugging Face, and the measures of a BERT.

    python benchmarks/trainers.py        (needs the packages lightning and transformers)

Each trainer trains the same network with and without the recorder, and the weights are compared bit by bit. For a small
BERT the weight gradient of every layer is compared with torch's, without the padding.
"""

import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

import gramlab
from gramlab import tables


def data():
    torch.manual_seed(1)
    x = torch.randn(96, 6)
    return x, (x[:, 0] > 0).long()


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.1), nn.GELU(), nn.Linear(8, 2))


def recorder(model, path, **options):
    x, y = data()
    return gramlab.Recorder(model, x, y, path, every=4, loss="cross_entropy", weight_decay=0.01, **options)


def lightning(path):
    import lightning.pytorch as L

    class Module(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = network()

        def training_step(self, batch, _):
            return F.cross_entropy(self.net(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1, weight_decay=0.01)

    module = Module()
    callbacks = [recorder(module.net, path).callback()] if path else []
    trainer = L.Trainer(
        max_epochs=3,
        accelerator="cpu",
        callbacks=callbacks,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tempfile.gettempdir(),
    )
    torch.manual_seed(2)
    trainer.fit(module, DataLoader(TensorDataset(*data()), batch_size=16, shuffle=True))
    return module.net.state_dict()


def hugging_face(path):
    from transformers import Trainer, TrainingArguments

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = network()

        def forward(self, x, labels=None):
            logits = self.net(x)
            return {"loss": F.cross_entropy(logits, labels), "logits": logits}

    model = Model()
    x, y = data()
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model,
            TrainingArguments(
                folder,
                num_train_epochs=3,
                per_device_train_batch_size=16,
                use_cpu=True,
                report_to=[],
                save_strategy="no",
                logging_strategy="no",
                disable_tqdm=True,
                learning_rate=0.01,
                seed=3,
            ),
            train_dataset=[{"x": a, "labels": b} for a, b in zip(x, y, strict=True)],
            callbacks=[recorder(model.net, path).callback()] if path else [],
        )
        trainer.train()
    return model.net.state_dict()


def bert():
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=50,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=16,
    )
    model = BertModel(config, add_pooling_layer=False).double()
    ids, lengths = torch.randint(0, 50, (6, 7)), torch.tensor([7, 3, 5, 1, 6, 2])
    mask = (torch.arange(7) < lengths[:, None]).long()
    batch = {"input_ids": ids, "attention_mask": mask}
    target = torch.randn(6, 7, 16, dtype=torch.float64) * mask.unsqueeze(-1)
    measurement = gramlab.measure(
        model, batch, target, loss=lambda f, y: (f - y).square().flatten(1).sum(1), batch_size=4
    )
    model.eval()
    outputs = model(**batch).last_hidden_state * mask.unsqueeze(-1)
    ((outputs - target).square().flatten(1).sum(1).mean()).backward()
    worst = 0.0
    for name, layer in measurement.items():
        wanted = model.get_submodule(name).weight.grad
        worst = max(worst, float((layer.weight_gradient - wanted).norm() / wanted.norm()))
    print(f"BERT: {len(measurement)} layers, weight gradients agree to {worst:.1e}")
    assert worst < 1e-10


def main():
    for trainer in (lightning, hugging_face):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "run.parquet")
            without, recorded = trainer(None), trainer(path)
            same = all(torch.equal(without[key], recorded[key]) for key in without)
            steps = sorted({row["step"] for row in tables.read(path).to_pylist()})
            print(f"{trainer.__name__}: the same weights: {same}; steps measured: {steps}")
            assert same
            assert steps == [0, 4, 8, 12, 16, 18]
    bert()


if __name__ == "__main__":
    main()
