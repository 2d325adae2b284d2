"""Encoders from a folder: sub-words, hidden states and training against the same done by hand with transformers."""

import sys
from pathlib import Path

import pytest
import torch
from tiny_encoder import make_encoder, numbers
from torch.nn import functional as F

from gramlab.data import DataError
from gramlab.data.texts import Texts
from gramlab.nets import encoders
from gramlab.nets.encoders import encoder_place, fine_tune, hidden_states, load_encoder, tokenize

SENTENCES = Texts(
    (("the dogs bark",), ("a bird sings",), ("the old red cat",), ("birds",)),
    (("yes",), ("no",), ("no",), ("yes",)),
    words=False,
)
TAGGED = Texts(
    (("the", "dogs", "barked"), ("singing", ",", "a", "cat"), ("playing",)),
    (("D", "N", "V"), ("V", "X", "D", "N"), ("V",)),
    words=True,
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return str(make_encoder(tmp_path_factory.mktemp("models") / "tiny"))


def test_the_first_sub_word_of_each_word_has_its_class(place):
    tokens = tokenize(TAGGED, ("D", "N", "V", "X"), place, 16)
    assert tokens.ids[0] == numbers("the", "dog", "##s", "bark", "##ed")
    assert tokens.places == [[1, 2, 4], [1, 3, 4, 5], [1]]
    assert tokens.labels == [[0, 1, 2], [2, 3, 0, 1], [2]]
    short = tokenize(TAGGED, ("D", "N", "V", "X"), place, 5)  # [CLS], three sub-words, [SEP]
    assert short.ids[0] == numbers("the", "dog", "##s")
    assert (short.places[0], short.labels[0]) == ([1, 2], [0, 1])


def test_a_text_has_its_class_at_the_first_token(place):
    tokens = tokenize(SENTENCES, ("no", "yes"), place, 16)
    assert tokens.ids[3] == numbers("bird", "##s")
    assert tokens.places == [[0]] * 4
    assert tokens.labels == [[1], [0], [0], [1]]
    pair = tokenize(Texts((("a dog", "a cat"),), (("no",),), words=False), ("no",), place, 16)
    assert pair.ids[0] == [*numbers("a", "dog"), *numbers("a", "cat")[1:]]
    assert pair.types[0] == [0, 0, 0, 0, 1, 1, 1]


def test_an_unknown_class_is_named(place):
    with pytest.raises(DataError, match="classes of the texts must be among D, N, V, not 'X'"):
        tokenize(TAGGED, ("D", "N", "V"), place, 16)


def by_hand(model, texts, ids, places):
    """Every layer's states at these tokens, a text at a time and without padding; texts sorted by length."""
    layers = []
    for row in sorted(range(len(texts)), key=lambda row: (len(ids[row]), row)):
        with torch.no_grad():
            states = model(input_ids=torch.tensor([ids[row]]), output_hidden_states=True).hidden_states
        layers.append([states[layer][0, places[row]] for layer in range(1, len(states))])
    return [torch.cat(layer) for layer in zip(*layers, strict=True)]


@pytest.mark.parametrize("texts", [SENTENCES, TAGGED])
@pytest.mark.parametrize("size", [1, 2, 64])
def test_hidden_states_are_those_of_each_text_alone(place, texts, size):
    model = load_encoder(place, len(texts.classes), texts.words, True, seed=1)
    tokens = tokenize(texts, texts.classes, place, 16)
    layers, labels, accuracy = hidden_states(model, tokens, size)
    expected = by_hand(model, texts, tokens.ids, tokens.places)
    assert len(layers) == len(expected) == 3
    for layer, other in zip(layers, expected, strict=True):
        torch.testing.assert_close(layer, other, rtol=1e-5, atol=1e-6)
    order = sorted(range(len(texts)), key=lambda row: (len(tokens.ids[row]), row))
    assert labels.tolist() == [label for row in order for label in tokens.labels[row]]
    head = model.classifier
    with torch.no_grad():
        scores = head(expected[-1] if texts.words else model.bert.pooler(expected[-1][:, None]))
    assert accuracy == pytest.approx(float((scores.argmax(1) == labels).float().mean()))


def test_the_pre_trained_weights_are_the_folders_and_random_ones_the_seeds(place):
    from transformers import BertModel

    saved = BertModel.from_pretrained(place).state_dict()
    states = [load_encoder(place, 2, False, *options).state_dict() for options in ((True, 3), (False, 3), (False, 4))]
    name = "encoder.layer.1.attention.self.query.weight"
    first, second, third = (state[f"bert.{name}"] for state in states)
    torch.testing.assert_close(first, saved[name], rtol=0, atol=0)
    assert not torch.equal(second, first)
    assert not torch.equal(second, third)
    again = load_encoder(place, 2, False, False, 3).state_dict()[f"bert.{name}"]
    torch.testing.assert_close(again, second, rtol=0, atol=0)


def test_loading_leaves_the_random_state_as_it_was(place):
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    load_encoder(place, 2, False, False, 5)
    torch.testing.assert_close(torch.rand(1), expected, rtol=0, atol=0)


def test_fine_tuning_takes_adamws_steps(place):
    """Against the formulas of AdamW in float64: one batch holds all texts, so that its order has no effect."""
    model, twin = (load_encoder(place, 4, True, True, seed=2) for _ in range(2))
    tokens = tokenize(TAGGED, TAGGED.classes, place, 16)
    steps = fine_tune(model, tokens, ("test",), epochs=3, batch=3, lr=0.01, weight_decay=0.1)
    rates, moments = (1.0, 2 / 3, 1 / 3), {}
    for step, rate in enumerate(rates, start=1):
        assert next(steps) == step
        assert not model.training
        twin.zero_grad()
        scores, labels = [], []
        for ids, places, row in zip(tokens.ids, tokens.places, tokens.labels, strict=True):
            scores.append(twin(input_ids=torch.tensor([ids])).logits[0, places])
            labels += row
        F.cross_entropy(torch.cat(scores), torch.tensor(labels)).backward()
        gradients = {name: w.grad.double() for name, w in twin.named_parameters() if w.grad is not None}
        norm = sum(float(g.square().sum()) for g in gradients.values()) ** 0.5
        assert norm > 1 or step > 1  # the first gradient is clipped
        with torch.no_grad():
            for name, w in twin.named_parameters():
                if name not in gradients:
                    continue
                g = gradients[name] / max(norm, 1.0)
                m, v = moments.get(name, (0.0, 0.0))
                moments[name] = m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g.square()
                ratio = (m / (1 - 0.9**step)) / ((v / (1 - 0.999**step)).sqrt() + 1e-8)
                w.copy_(w.double() * (1 - 0.01 * rate * 0.1) - 0.01 * rate * ratio)
        for (name, first), second in zip(model.named_parameters(), twin.parameters(), strict=True):
            if not name.endswith("key.bias"):  # its gradient is 0, since softmax ignores a shift, up to round-off
                torch.testing.assert_close(first, second, rtol=0, atol=1e-3 * 0.01, msg=f"{step}, {name}")
    assert next(steps, None) is None


def test_warming_up_and_batches_of_like_length(place, monkeypatch):
    """20 texts in batches of 2 over 2 epochs: the rate rises over two steps; every text is in one batch an epoch."""
    texts = Texts(tuple((" ".join(["dog"] * (1 + i % 9)),) for i in range(20)), (("a",), ("b",)) * 10, words=False)
    tokens = tokenize(texts, ("a", "b"), place, 16)
    rates, seen = [], []
    step = torch.optim.AdamW.step
    monkeypatch.setattr(torch.optim.AdamW, "step",
                        lambda self: (rates.append(self.param_groups[0]["lr"]), step(self)))  # fmt: skip
    batch = encoders.Tokens.batch
    monkeypatch.setattr(encoders.Tokens, "batch", lambda self, rows, device: (seen.append(rows), batch(self, rows))[1])
    model = load_encoder(place, 2, False, True, 0)
    assert list(fine_tune(model, tokens, ("test",), epochs=2, batch=2, lr=1.0)) == [10, 20]
    assert rates[:3] == pytest.approx([0.5, 1.0, 1.0])
    assert rates[3:] == pytest.approx([(20 - step) / 18 for step in range(3, 20)])
    for rows in (seen[:10], seen[10:]):
        assert sorted(row for pair in rows for row in pair) == list(range(20))
        assert max(abs(first % 9 - second % 9) for first, second in rows) <= 1
    assert seen[:10] != seen[10:]


def test_dropout_is_drawn_from_the_named_stream(place, tmp_path):
    def trained(name):
        model = load_encoder(place, 2, False, True, 0)
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.5
        tokens = tokenize(SENTENCES, ("no", "yes"), place, 16)
        list(fine_tune(model, tokens, name, epochs=1, batch=4, lr=0.01))
        return model.classifier.weight.detach()

    torch.testing.assert_close(trained(("a", 0)), trained(("a", 0)), rtol=0, atol=0)
    assert not torch.equal(trained(("a", 0)), trained(("a", 1)))


def test_where_a_model_lies(tmp_path, monkeypatch):
    """A folder under the data root, then a package that carries it, then the hub."""
    name = "sentence-transformers/all-MiniLM-L6-v2"
    monkeypatch.setattr(encoders, "find_spec", lambda package: None)
    assert encoder_place(name, tmp_path) == name
    carried = type("Spec", (), {"origin": str(tmp_path / "site" / "__init__.py")})
    monkeypatch.setattr(encoders, "find_spec", lambda package: carried)
    assert encoder_place(name, tmp_path) == str(tmp_path / "site" / "model")
    (tmp_path / name).mkdir(parents=True)
    assert encoder_place(name, tmp_path) == str(tmp_path / name)


def test_a_model_that_cannot_be_had_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(DataError, match="no/model: no such model, or not downloadable"):
        load_encoder("no/model", 2, False, True, 0)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(DataError, match=r"pip install 'gramlab\[text\]'"):
        load_encoder(str(Path(tmp_path)), 2, False, True, 0)
