"""Snippets of the pages that load a model or texts of the Hugging Face hub.

They run as printed. The models and texts are tiny ones, in folders of the names that the hub has.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from nets.tiny_encoder import VOCABULARY, make_encoder

import gramlab
from gramlab.data.texts import read_texts

README = """---
configs:
- config_name: sst2
  data_files:
  - split: train
    path: train.parquet
---
"""


@pytest.mark.usefixtures("offline")
def test_a_classifier_of_the_hub_is_measured(tmp_path, monkeypatch, printed):
    from transformers import BertTokenizer, DistilBertConfig, DistilBertForSequenceClassification

    monkeypatch.chdir(tmp_path)
    folder = Path("distilbert-base-uncased")
    config = DistilBertConfig(vocab_size=len(VOCABULARY), dim=8, n_layers=2, n_heads=2, hidden_dim=16)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        DistilBertForSequenceClassification(config).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    BertTokenizer.from_pretrained(folder).save_pretrained(folder)
    (block,) = printed("docs/how-to/transformer.md")
    names = {"gramlab": gramlab, "torch": torch}
    exec(block.text(), names)
    weight = names["model"].distilbert.transformer.layer[1].ffn.lin2.weight.detach().numpy()
    np.testing.assert_allclose(names["m"]["distilbert.transformer.layer.1.ffn.lin2"].gram, weight.T @ weight, atol=1e-6)


@pytest.mark.usefixtures("offline")
def test_an_encoder_of_the_hub_is_fine_tuned_and_measured(tmp_path, monkeypatch, printed, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")  # that of the user knows older files
    make_encoder(Path("data/raw/google-bert/bert-base-uncased"), layers=3)
    corpus = Path("data/raw/nyu-mll/glue")
    corpus.mkdir(parents=True)
    (corpus / "README.md").write_text(README)
    sentences = [f"the {noun} {verb}s" for noun in ("dog", "cat", "bird") for verb in ("bark", "sing", "play")]
    rows = pd.DataFrame({"sentence": 7 * sentences, "label": np.random.default_rng(0).integers(2, size=63)})
    rows.to_parquet(corpus / "train.parquet")
    # equal sentences have equal features, so that no features explain more than each sentence's mean label does
    means = rows.groupby("sentence")["label"].transform("mean")
    most = means.var(ddof=0) / rows["label"].var(ddof=0)
    (block,) = printed("docs/text.md")
    exec(block.text(), {"Path": Path, "read_texts": read_texts})
    lines = capsys.readouterr().out.splitlines()
    steps, *_ = zip(*(line.split(maxsplit=1) for line in lines), strict=True)
    assert [int(step) for step in steps] == sorted(map(int, steps))
    for line in lines:
        values = [float(value) for value in line.split("[")[1].rstrip("]").split(",")]
        assert len(values) == 3, "the layers"
        assert all(0 < value <= most + 0.005 for value in values), (line, most)
