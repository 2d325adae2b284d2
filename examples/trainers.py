"""Record a network while Lightning's Trainer or the Hugging Face Trainer trains it.

    pip install lightning                          # or: pip install transformers accelerate
    python examples/trainers.py lightning          # writes ./build/lightning.parquet
    python examples/trainers.py hugging-face       # writes ./build/hugging-face.parquet

The training code is the one that you have; the recorder is one line, a callback.
"""

import sys
import tempfile
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

import gramlab
from gramlab import tables

DECAY, EPOCHS = 5e-3, 10


def digits() -> tuple[Tensor, Tensor]:
    """Images (n, 64) and classes."""
    images, labels = load_digits(return_X_y=True)
    return torch.tensor(images / 16, dtype=torch.float32), torch.tensor(labels)


def network() -> nn.Module:
    """The network to train."""
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


def lightning(out: Path) -> None:
    """Train with Lightning."""
    import lightning.pytorch as L

    class Classifier(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.network = network()

        def training_step(self, batch, _):
            return F.cross_entropy(self.network(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9, weight_decay=DECAY)

    x, y = digits()
    module = Classifier()
    out.unlink(missing_ok=True)  # a recorder replaces no table
    recorder = gramlab.Recorder(module.network, x, y, out, every=100, loss="cross_entropy", weight_decay=DECAY)
    trainer = L.Trainer(
        max_epochs=EPOCHS, accelerator="cpu", callbacks=[recorder.callback()], logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(module, DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True))


def hugging_face(out: Path) -> None:
    """Train with the Hugging Face Trainer, which calls its model with the columns of the data and expects a loss."""
    from transformers import Trainer, TrainingArguments

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.network = network()

        def forward(self, x, labels=None):
            scores = self.network(x)
            return {"loss": F.cross_entropy(scores, labels), "logits": scores}

    x, y = digits()
    model = Classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=DECAY)
    out.unlink(missing_ok=True)  # a recorder replaces no table
    recorder = gramlab.Recorder(model.network, x, y, out, every=100, loss="cross_entropy", weight_decay=DECAY)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, num_train_epochs=EPOCHS, per_device_train_batch_size=64, use_cpu=True, report_to=[],
            save_strategy="no", logging_strategy="no", disable_tqdm=True, lr_scheduler_type="constant",
        )  # fmt: skip
        samples = [{"x": image, "labels": label} for image, label in zip(x, y, strict=True)]
        constant = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1)
        Trainer(model, arguments, train_dataset=samples, optimizers=(optimizer, constant),
                callbacks=[recorder.callback()]).train()  # fmt: skip


def main(trainer: str, out: Path) -> None:
    """Train, and print the correlations of WᵀW with FACT and the AGOP along training.

    FACT equals WᵀW at a critical point, where the stationarity is 0. This training with its constant learning rate ends
    far from one, so FACT is far from WᵀW.
    """
    trainers = {"lightning": lightning, "hugging-face": hugging_face}
    if trainer not in trainers:
        sys.exit(f"the trainers are {' and '.join(trainers)}, not {trainer!r}")
    torch.manual_seed(0)
    trainers[trainer](out)
    frame = tables.read(out).to_pandas()
    chosen = frame[frame["quantity"].isin(["pearson_fact", "nfa", "stationarity"])]
    print(chosen.pivot_table(index="step", columns=["quantity", "layer"], values="value").round(2).to_string())


if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) > 1 else "lightning"
    main(name, Path(sys.argv[2] if len(sys.argv) > 2 else f"build/{name}.parquet"))
