"""Texts from small files in the layouts of their corpora, and from a local folder that `datasets` reads."""

import gzip
import sys

import pandas as pd
import pytest

from gramlab.data import DataError
from gramlab.data.texts import Texts, read_texts

CONLLU = """# text = Don't go
1-2\tDon't\t_\t_\t_
1\tDo\tdo\tAUX\tVBP
2\tn't\tnot\tPART\tRB
2.1\tnever\tnever\tADV\tRB
3\tgo\tgo\tVERB\tVB

1\t#\t#\tSYM\tNN
2\tone\tone\tNUM\tCD
"""
CONLL = "-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\n# NN B-NP O\n"


def test_sentences_of_a_table(tmp_path):
    (tmp_path / "films").mkdir()
    # U+0085 ends a line for str.splitlines, and not here
    (tmp_path / "films" / "train.tsv").write_text("a fine\x85film\t1\nno # story\t0\n", encoding="utf-8")
    texts = read_texts(tmp_path, "films", "train.tsv")
    assert texts == Texts((("a fine\x85film",), ("no # story",)), (("1",), ("0",)), words=False)
    assert texts.classes == ("0", "1")


@pytest.mark.parametrize("packed", [False, True])
def test_words_of_universal_dependencies(tmp_path, packed):
    file = tmp_path / f"train.conllu{'.gz' * packed}"
    file.write_bytes(gzip.compress(CONLLU.encode()) if packed else CONLLU.encode())
    texts = read_texts(tmp_path, ".", file.name, label=3)
    assert texts.texts == (("Do", "n't", "go"), ("#", "one"))
    assert texts.labels == (("AUX", "PART", "VERB"), ("SYM", "NUM"))
    assert texts.words


def test_words_of_columns(tmp_path):
    (tmp_path / "train.conll").write_text(CONLL)
    texts = read_texts(tmp_path, ".", "train.conll", label=3)
    assert texts == Texts((("EU", "rejects"), ("#",)), (("B-ORG", "O"), ("O",)), words=True)
    assert read_texts(tmp_path, ".", "train.conll", label=1).labels == (("NNP", "VBZ"), ("NN",))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of a data set as the hub gives it, with classes as numbers; nothing is looked up at the hub."""
    from datasets import ClassLabel, Dataset, Features, Sequence, Value

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    pair = {"premise": Value("string"), "hypothesis": Value("string"), "label": ClassLabel(names=["yes", "no"])}
    tagged = {"tokens": Sequence(Value("string")), "tags": Sequence(ClassLabel(names=["NOUN", "VERB"]))}
    pairs = {"premise": ["a", "b", "c"], "hypothesis": ["d", "e", "f"], "label": [1, -1, 0]}
    words = {"tokens": [["dogs", "bark"], []], "tags": [[0, 1], []]}
    for name, features, rows in (("pairs", pair, pairs), ("words", tagged, words)):
        (tmp_path / name / "data").mkdir(parents=True)
        part = Dataset.from_dict(rows, features=Features(features))
        part.to_parquet(tmp_path / name / "data" / "train-00000-of-00001.parquet")
    return tmp_path


def test_a_folder_as_the_hub_has_it(folder):
    """Without the rows whose class is not published (-1), and without empty texts."""
    pairs = read_texts(folder, "pairs", "train", text=("premise", "hypothesis"), label="label")
    assert pairs == Texts((("a", "d"), ("c", "f")), (("no",), ("yes",)), words=False)
    words = read_texts(folder, "words", "train", words="tokens", label="tags")
    assert words == Texts((("dogs", "bark"),), (("NOUN", "VERB"),), words=True)


def test_a_folder_of_plain_tables(tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    (tmp_path / "own").mkdir()
    pd.DataFrame({"review": ["good", "bad"], "stars": [5, 1]}).to_csv(tmp_path / "own" / "train.csv", index=False)
    texts = read_texts(tmp_path, "own", "train", text=("review",), label="stars")
    assert texts == Texts((("good",), ("bad",)), (("5",), ("1",)), words=False)


def test_a_drawn_part_is_named_by_its_stream():
    texts = Texts(tuple((str(i),) for i in range(50)), tuple((str(i % 3),) for i in range(50)), words=False)
    few = texts.drawn(10, "here", 0)
    assert few == texts.drawn(10, "here", 0)
    assert few != texts.drawn(10, "here", 1)
    assert texts.drawn(20, "here", 0).texts[:10] == few.texts
    assert len({text for (text,) in few.texts}) == 10
    assert all(labels == (str(int(text[0]) % 3),) for text, labels in zip(few.texts, few.labels, strict=True))
    assert texts.drawn(None) is texts.drawn(50, "here") is texts


@pytest.mark.parametrize(
    ("name", "content", "options", "says"),
    [
        ("a.tsv", "one\ttwo\tthree\n", {}, "a.tsv, line 1: 3 columns"),
        ("a.conll", "word\n", {}, "a.conll, line 1: 1 columns, the class is to be in column 1"),
        ("a.conll", "word O\n", {"label": "tags"}, "must be the number of a column"),
        ("a.conll", "\n", {}, "0 texts"),
        ("a.tsv.gz", "not packed", {}, "not readable"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, name, content, options, says):
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=says):
        read_texts(tmp_path, ".", name, **options)


def test_what_is_missing_is_named(folder):
    with pytest.raises(DataError, match=r"train\.tsv is missing; the environment variable GRAMLAB_DATA"):
        read_texts(folder, "films", "train.tsv")
    with pytest.raises(DataError, match="columns must be among premise, hypothesis, label, not 'sentence'"):
        read_texts(folder, "pairs", "train", text=("sentence",), label="label")
    with pytest.raises(DataError, match="text or words must name the column"):
        read_texts(folder, "pairs", "train", label="label")
    with pytest.raises(DataError, match=r"no-such/corpus, train: neither a folder under .* nor downloadable"):
        read_texts(folder, "no-such/corpus", "train", text=("sentence",), label="label")


def test_without_the_extra_it_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DataError, match=r"nyu-mll/glue: .* pip install 'gramlab\[text\]'"):
        read_texts(tmp_path, "nyu-mll/glue", "train", text=("sentence",), label="label")


def test_texts_and_classes_must_fit():
    with pytest.raises(DataError, match="text 1: 1 words and 2 classes"):
        Texts((("a", "b"), ("c",)), (("x", "y"), ("x", "y")), words=True)
    with pytest.raises(DataError, match="1 texts and 0 texts' classes"):
        Texts((("a",),), (), words=False)
