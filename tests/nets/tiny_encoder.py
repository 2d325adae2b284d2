"""A tiny BERT in a folder, with sub-words that are known by heart."""

import torch

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "dog", "cat", "bird", "bark", "sing", "play", "old", "red",
              "##s", "##ing", "##ed", "a", "the", ","]  # fmt: skip


def make_encoder(folder, layers=3, width=8):
    """Save its configuration, weights and vocabulary; without dropout, so that a training can be done again by hand."""
    from transformers import BertConfig, BertModel, BertTokenizer

    folder.mkdir(parents=True)
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    config = BertConfig(
        vocab_size=len(VOCABULARY), hidden_size=width, num_hidden_layers=layers, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=16, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        initializer_range=0.5,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(7)
        BertModel(config).save_pretrained(folder)
    BertTokenizer.from_pretrained(folder).save_pretrained(folder)
    return folder


def numbers(*pieces):
    """The sub-words' numbers between [CLS] and [SEP]."""
    return [VOCABULARY.index(piece) for piece in ("[CLS]", *pieces, "[SEP]")]
