"""Labelled texts: sentences or pairs of sentences with a class each, or words with a class each.

`read_texts` reads a part of a corpus from a file, or from a data set of the Hugging Face hub or of a local folder,
which needs the extra ``gramlab[text]``.
"""

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gramlab.data.dataset import DataError, checked
from gramlab.streams import stream

TEXT_EXTRA = "this needs transformers and datasets: pip install 'gramlab[text]'"


@dataclass(frozen=True)
class Texts:
    """Texts with their classes.

    Parameters
    ----------
    texts : tuple of tuple of str
        The words of each text if ``words``, otherwise its one or two sentences.
    labels : tuple of tuple of str
        The class of each word if ``words``, otherwise the one class of each text.
    words : bool
        Whether each word has a class.

    Raises
    ------
    DataError
        If there are no texts, or their numbers of words and of classes differ.

    Examples
    --------
    >>> tagged = Texts((("Ada", "wrote"), ("It", "ran")), (("NAME", "VERB"), ("PRON", "VERB")), words=True)
    >>> len(tagged), tagged.classes
    (2, ('NAME', 'PRON', 'VERB'))
    """

    texts: tuple[tuple[str, ...], ...]
    labels: tuple[tuple[str, ...], ...]
    words: bool

    def __post_init__(self):
        if not self.texts or len(self.texts) != len(self.labels):
            raise DataError(f"{len(self.texts)} texts and {len(self.labels)} texts' classes")
        for index, (text, labels) in enumerate(zip(self.texts, self.labels, strict=True)):
            if len(labels) != (len(text) if self.words else 1):
                raise DataError(f"text {index}: {len(text)} words and {len(labels)} classes")

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that occur, in alphabetical order."""
        return tuple(sorted({label for labels in self.labels for label in labels}))

    def drawn(self, count: int | None, *name: str | int) -> "Texts":
        """So many texts, drawn without replacement from the random stream of this name.

        Parameters
        ----------
        count : int or None
            None, or more than there are, for all texts as they are.
        *name : str or int
            Name of the stream.

        Returns
        -------
        Texts
        """
        if count is None or count >= len(self):
            return self
        rows = stream(*name).permutation(len(self))[:count].tolist()
        texts, labels = (tuple(values[row] for row in rows) for values in (self.texts, self.labels))
        return Texts(texts, labels, self.words)


def read_texts(
    root: Path, name: str, part: str, *, text: Sequence[str] = (), words: str = "", label: str | int = 1,
    config: str | None = None, revision: str | None = None,
) -> Texts:  # fmt: skip
    """Read a part of a corpus.

    Parameters
    ----------
    root : Path
        Folder of the raw files.
    name : str
        A folder below ``root``, or a data set of the Hugging Face hub such as ``nyu-mll/glue``.
    part : str
        A file of the folder, or a part of the data set such as ``train``. ``.tsv`` files have lines
        ``sentence<TAB>class``. ``.conll``, ``.conllu`` and other files have a line for each word and an empty line
        after each sentence. Both may be gzipped.
    text : sequence of str, optional
        For a data set: the column with the sentence, or the columns with the two sentences.
    words : str, optional
        For a data set in which each word has a class: the column with the words.
    label : str or int, default 1
        The column with the classes: a name in a data set, a number from 0 in a file.
    config, revision : str, optional
        The data set's configuration and revision.

    Returns
    -------
    Texts

    Raises
    ------
    DataError
        If a file is missing or damaged, or a data set is neither on disk nor downloadable.

    Examples
    --------
    >>> import tempfile
    >>> root = Path(tempfile.mkdtemp())
    >>> _ = (root / "reviews.tsv").write_text("a fine film\\tgood\\na bore\\tbad\\n")
    >>> read_texts(root, ".", "reviews.tsv").labels
    (('good',), ('bad',))
    """
    file = root / name / part
    if file.is_file():
        return _read_file(file, label)
    if Path(part).suffix:
        raise DataError(f"{file} is missing; the environment variable GRAMLAB_DATA names the folder above {name}")
    return _read_data_set(root, name, part, text, words, label, config, revision)


def _read_file(file: Path, label: str | int) -> Texts:
    if not isinstance(label, int):
        raise DataError(f"{file}: label must be the number of a column, not {label!r}")
    try:
        content = file.read_bytes()
        lines = (gzip.decompress(content) if file.suffix == ".gz" else content).decode("utf-8").split("\n")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DataError(f"{file}: not readable ({' '.join(str(error).split())})") from error
    suffixes = file.suffixes
    if ".tsv" in suffixes:
        rows = [(number, line.split("\t")) for number, line in enumerate(lines, 1) if line.strip()]
        for number, row in rows:
            if len(row) != 2:
                raise DataError(f"{file}, line {number}: {len(row)} columns, not a sentence and its class")
        return Texts(tuple((row[0],) for _, row in rows), tuple((row[1].strip(),) for _, row in rows), words=False)
    sentences = list(_sentences(file, lines, label, universal=".conllu" in suffixes))
    texts, labels = (tuple(tuple(row[column] for row in sentence) for sentence in sentences) for column in (0, 1))
    return Texts(texts, labels, words=True)


def _sentences(file: Path, lines: list[str], label: int, universal: bool) -> Iterator[list[tuple[str, str]]]:
    """The words and classes of each sentence; in CoNLL-U without comments, fused tokens and empty nodes."""
    sentence: list[tuple[str, str]] = []
    for number, line in enumerate([*lines, ""], 1):
        if not line.strip():
            if sentence:
                yield sentence
            sentence = []
            continue
        cells = line.split("\t") if "\t" in line else line.split()
        if (universal and (line.startswith("#") or not cells[0].isdigit())) or cells[0] == "-DOCSTART-":
            continue
        if not label < len(cells):
            raise DataError(f"{file}, line {number}: {len(cells)} columns, the class is to be in column {label}")
        sentence.append((cells[1 if universal else 0], cells[label].strip()))


def _read_data_set(
    root: Path, name: str, part: str, text: Sequence[str], words: str, label: str | int, config: str | None,
    revision: str | None,
) -> Texts:  # fmt: skip
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise DataError(f"{name}: {TEXT_EXTRA}") from error
    place = str(root / name) if (root / name).is_dir() else name
    try:
        rows: Any = load_dataset(place, config, split=part, revision=revision)
    except Exception as error:  # the hub's client passes on whatever its downloads and readers raise
        raise DataError(
            f"{name}, {part}: neither a folder under {root} nor downloadable ({' '.join(str(error).split())[:300]})"
        ) from error
    columns = [*text, *([words] if words else []), label]
    checked(name).choices("columns", columns, rows.column_names)
    if not text and not words:
        raise DataError(f"{name}: text or words must name the column to read; there are {', '.join(rows.column_names)}")
    feature = rows.features[label]
    names = getattr(getattr(feature, "feature", feature), "names", None)
    values = [cell if words else [cell] for cell in rows[label]]
    texts = (
        [tuple(words_) for words_ in rows[words]]
        if words
        else list(zip(*(rows[column] for column in text), strict=True))
    )
    usable = [index for index, labels in enumerate(values) if -1 not in labels and texts[index]]  # -1: not published
    labels = tuple(tuple(names[value] if names else str(value) for value in values[index]) for index in usable)
    return Texts(tuple(texts[index] for index in usable), labels, words=bool(words))
