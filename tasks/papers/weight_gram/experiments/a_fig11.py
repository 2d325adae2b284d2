"""A.fig11: Target Linearity of every layer of a transformer encoder: random, pre-trained, and after each epoch.

From the authors' code, since the paper does not print them: the batch of 32, the weight decay of 0.01, the warm-up over
a tenth of the steps, gradients clipped to norm 1, texts of at most 128 sub-words. As there, the one-hot classes are
centred and the hidden states are not, PCA's directions are those of the centred states, and the embedding is left out:
at [CLS] it is the same for all texts. PCA is exact here and randomised there.

The reductions of this machine: a smaller encoder; 1,000 sentences, or 400 of tagged words, to train on, all of which
are measured; batches of 4, for more steps; products in bfloat16 while training; texts of at most 64 sub-words.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

import gramlab
from gramlab.data.texts import Texts, read_texts
from gramlab.nets.encoders import encoder_place, fine_tune, hidden_states, load_encoder, tokenize
from gramlab.streams import stream
from tasks.measuring.resumable import rows_of_part
from tasks.settings import load
from tasks.settings.fields import Count, Rate, Strict
from tasks.settings.simulation import Simulation

SHUFFLED = "control: shuffled labels"
RANDOM, PRETRAINED, TUNED = "random", "pre-trained", "fine-tuned"
ALL = "all components"


class Corpus(Strict):
    """A task: where its texts lie, and which columns hold them; see `gramlab.data.texts.read_texts`."""

    name: str
    train: str = "train"
    test: str = "validation"
    text: tuple[str, ...] = ()
    words: str = ""
    label: str | int = 1
    config: str | None = None
    revision: str | None = None
    texts: Count | None = None  # to train on; all by default

    def read(self, root: Path) -> tuple[Texts, Texts]:
        """The training and the held-out texts."""
        columns = self.model_dump(exclude={"name", "train", "test", "texts"})
        return read_texts(root, self.name, self.train, **columns), read_texts(root, self.name, self.test, **columns)


class Settings(Simulation):
    """``instances`` counts the seeds; the paper has one."""

    model: str  # a folder under the data root, or a name at the Hugging Face hub
    tasks: dict[str, Corpus | None]  # null leaves one out
    held_out: Count | None = None  # texts for the accuracy; all by default
    examples: Count  # training texts that are measured, or all where there are fewer
    components: Count  # of PCA
    length: Count  # sub-words of a text
    epochs: Count
    batch: Count
    lr: Rate
    precision: Literal["float32", "bfloat16"] = "float32"  # of the products in training


def measure(settings: Settings) -> Iterator[dict]:
    """Rows by task (case), seed and layer; "x" of the fine-tuned is the epoch.

    STATE/target_linearity is that of the first principal components, "…, all components" that of all but the last.
    The held-out accuracy is that of the fine-tuned, the majority share that of always naming the most frequent class.
    """
    for seed in range(settings.instances):
        for task, corpus in settings.tasks.items():
            if corpus:
                part = [settings.model_dump(exclude={"tasks", "instances"}), corpus.model_dump(), task, seed]
                root = load("paper").machine.root()
                yield from rows_of_part("a_fig11", part, partial(of_task, settings, task, corpus, seed, root))


def of_task(settings: Settings, task: str, corpus: Corpus, seed: int, root: Path) -> Iterator[dict]:
    """The rows of a task and a seed."""
    train, test = (
        texts.drawn(count, "a_fig11", task, seed, part)
        for texts, count, part in zip(
            corpus.read(root), (corpus.texts, settings.held_out), ("training texts", "held-out texts"), strict=True
        )
    )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    place, classes = encoder_place(settings.model, root), tuple(sorted({*train.classes, *test.classes}))
    examples = train.drawn(settings.examples, "a_fig11", task, seed, "examples")
    training, held_out, measured = (
        tokenize(texts, classes, place, settings.length) for texts in (train, test, examples)
    )
    labels = {"case": task, "seed": seed, "dtype": "float32"}

    def of_state(model: torch.nn.Module, state: str, epoch: int, step: int) -> Iterator[dict]:
        layers, y, _ = hidden_states(model, measured, device=device)
        columns = {**labels, "x": float(epoch), "step": step}
        yield from rows_of_state(layers, y, state, settings.components, (task, seed), columns)

    for state in (RANDOM, PRETRAINED):
        weights = int(stream("a_fig11", task, seed, "weights").integers(2**62))
        model = load_encoder(place, len(classes), train.words, state == PRETRAINED, weights, device)
        yield from of_state(model, state, 0, 0)
    epochs = fine_tune(
        model, training, ("a_fig11", task, seed), epochs=settings.epochs, batch=settings.batch, lr=settings.lr,
        half=settings.precision == "bfloat16", device=device,
    )  # fmt: skip
    for epoch, step in enumerate(epochs, start=1):
        yield from of_state(model, TUNED, epoch, step)
        _, y, accuracy = hidden_states(model, held_out, device=device)
        columns = {**labels, "arm": "claim", "x": float(epoch), "step": step}
        yield {**columns, "quantity": "test_accuracy", "value": accuracy}
        yield {**columns, "quantity": "majority share", "value": float(y.bincount().max()) / len(y)}


def rows_of_state(
    layers: list[Tensor], y: Tensor, state: str, components: int, name: tuple[str | int, ...], columns: dict
) -> Iterator[dict]:
    """The Target Linearity of every layer, for the classes and for the same classes in random order."""
    order = torch.from_numpy(stream("a_fig11", *name, "shuffled labels").permutation(len(y)))
    targets = {"claim": centred(y), SHUFFLED: centred(y[order])}
    for layer, H in enumerate(layers, start=1):
        H = H.double()
        features = {"": H @ principal(H, components), f", {ALL}": H @ principal(H, H.shape[1])}
        for arm, Y in targets.items():
            for which, x in features.items():
                yield {**columns, "arm": arm, "layer": f"{layer:02}", "quantity": f"{state}/target_linearity{which}",
                       "value": gramlab.target_linearity(x, Y)}  # fmt: skip


def centred(y: Tensor) -> Tensor:
    """One-hot classes minus their means, (n, classes)."""
    Y = F.one_hot(y).double()
    return Y - Y.mean(0)


def principal(H: Tensor, components: int) -> Tensor:
    """The directions of the largest variance, (d, at most d - 1): along the last one a layer norm leaves round-off."""
    centred_states = H - H.mean(0)
    directions = torch.linalg.eigh(centred_states.T @ centred_states).eigenvectors
    return directions[:, -min(components, H.shape[1] - 1) :]
