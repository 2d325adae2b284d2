"""A.fig11: the rows against a tiny encoder trained by hand and least squares by numpy; the rules on planted tables."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from handmade import assert_same_rows
from helpers import rejects, rows
from torch import nn

from gramlab.data import DataError
from gramlab.streams import stream
from tasks.measuring import resumable
from tasks.papers.weight_gram.claims import a_fig11 as claim
from tasks.papers.weight_gram.experiments import a_fig11
from tasks.papers.weight_gram.experiments.a_fig11 import SHUFFLED, Corpus, Settings

sys.path.append(str(Path(__file__).resolve().parents[2] / "nets"))
from tiny_encoder import make_encoder, numbers

NOUNS, VERBS, OTHERS = ["dog", "cat", "bird"], ["barked", "playing", "sing"], ["the", "a", ",", "old", "red"]
PIECES = {"barked": ["bark", "##ed"], "playing": ["play", "##ing"]}
COMPONENTS = 5


def words(part: str, index: int) -> list[str]:
    draw = stream("test_transformer", part, index)
    return [str(word) for word in draw.choice([*NOUNS, *VERBS, *OTHERS], size=5 + index % 3)]


def tag(word: str) -> str:
    return "N" if word in NOUNS else "V" if word in VERBS else "X"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder with a tiny encoder, tagged sentences, and sentences whose class is whether they begin with a noun."""
    folder = tmp_path_factory.mktemp("raw")
    make_encoder(folder / "tiny", layers=2)
    for part, count in (("train", 24), ("test", 9)):
        sentences = [words(part, index) for index in range(count)]
        columns = "\n\n".join("\n".join(f"{word}\t{tag(word)}" for word in sentence) for sentence in sentences)
        (folder / f"{part}.conll").write_text(columns + "\n")
        lines = (f"{' '.join(sentence)}\t{'N' if sentence[0] in NOUNS else 'other'}" for sentence in sentences)
        (folder / f"{part}.tsv").write_text("\n".join(lines) + "\n")
    return folder


TAGS = Corpus(name=".", train="train.conll", test="test.conll")
SENTENCES = Corpus(name=".", train="train.tsv", test="test.tsv")


def settings(**changed) -> Settings:
    small = {"instances": 1, "model": "tiny", "tasks": {}, "examples": 24, "components": COMPONENTS, "length": 16,
             "epochs": 3, "batch": 24, "lr": 0.02}  # fmt: skip
    return Settings(**{**small, **changed})


def linearity(H: np.ndarray, y: np.ndarray) -> float:
    """R² of least squares without an intercept, of centred one-hot classes."""
    Y = np.eye(y.max() + 1)[y]
    Y = Y - Y.mean(0)
    residual = Y - H @ np.linalg.lstsq(H, Y, rcond=None)[0]
    return float(1 - (residual**2).sum() / (Y**2).sum())


def projected(H: np.ndarray, components: int) -> np.ndarray:
    """The states on the directions of the largest variance, by the singular values of the centred states."""
    _, _, V = np.linalg.svd(H - H.mean(0), full_matrices=False)
    return H @ V[:components].T


class Oracle:
    """The experiment on one task and seed, a text at a time, with transformers and numpy alone."""

    def __init__(self, root: Path, task: str, tagged: bool, seed: int):
        self.root, self.task, self.tagged, self.seed = root, task, tagged, seed
        self.classes = ["N", "V", "X"] if tagged else ["N", "other"]

    def texts(self, part: str, count: int) -> list[tuple[list[int], list[int], list[int]]]:
        """By text: its sub-words, the labelled places and their classes."""
        texts = []
        for sentence in (words(part, index) for index in range(count)):
            pieces = [PIECES.get(word, [word]) for word in sentence]
            starts = [1 + sum(map(len, pieces[:index])) for index in range(len(pieces))]
            names = [tag(word) for word in sentence] if self.tagged else ["N" if sentence[0] in NOUNS else "other"]
            ids = numbers(*(piece for word in pieces for piece in word))
            texts.append((ids, starts if self.tagged else [0], [self.classes.index(name) for name in names]))
        return sorted(texts, key=lambda text: len(text[0]))  # which keeps the order of equal lengths

    def model(self, pretrained: bool) -> nn.Module:
        import transformers

        kind = getattr(transformers, f"BertFor{'Token' if self.tagged else 'Sequence'}Classification")
        torch.manual_seed(int(stream("a_fig11", self.task, self.seed, "weights").integers(2**62)))
        if pretrained:
            return kind.from_pretrained(self.root / "tiny", num_labels=len(self.classes)).eval()
        config = transformers.BertConfig.from_pretrained(self.root / "tiny", num_labels=len(self.classes))
        return kind(config).eval()

    def outputs(self, model: nn.Module, texts: list) -> tuple[list[torch.Tensor], list[torch.Tensor], torch.Tensor]:
        """The states of every layer, and the scores, at the labelled places of each text; and the classes."""
        states: list[list[torch.Tensor]] = [[], []]
        scores = []
        for ids, places, _ in texts:
            out = model(input_ids=torch.tensor([ids]), output_hidden_states=True)
            for layer in range(2):
                states[layer].append(out.hidden_states[layer + 1][0, places])
            scores.append(out.logits[0, places] if self.tagged else out.logits)
        labels = torch.tensor([label for _, _, labels in texts for label in labels])
        return [torch.cat(layer) for layer in states], scores, labels

    def measured(self, model: nn.Module, state: str, epoch: int, step: int) -> list[dict]:
        with torch.no_grad():
            layers, _, labels = self.outputs(model, self.texts("train", 24))
        y = labels.numpy()
        order = stream("a_fig11", self.task, self.seed, "shuffled labels").permutation(len(y))
        records = []
        for layer, states in enumerate(layers, start=1):
            H = states.double().numpy()
            for arm, target in (("claim", y), (SHUFFLED, y[order])):
                for which, x in (("", projected(H, COMPONENTS)), (", all components", projected(H, 7))):
                    records.append({"arm": arm, "case": self.task, "seed": self.seed, "layer": f"{layer:02}",
                                  "dtype": "float32", "x": float(epoch), "step": step, "value": linearity(x, target),
                                  "quantity": f"{state}/target_linearity{which}"})  # fmt: skip
        return records

    def rows(self) -> list[dict]:
        records = self.measured(self.model(False), "random", 0, 0)
        model = self.model(True)
        records += self.measured(model, "pre-trained", 0, 0)
        optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.01)
        for epoch, rate in enumerate((1.0, 2 / 3, 1 / 3), start=1):  # one batch an epoch, and no step of warm-up
            optimizer.param_groups[0]["lr"] = 0.02 * rate
            optimizer.zero_grad()
            _, scores, labels = self.outputs(model, self.texts("train", 24))
            nn.functional.cross_entropy(torch.cat(scores), labels).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            records += self.measured(model, "fine-tuned", epoch, epoch)
            with torch.no_grad():
                _, scores, labels = self.outputs(model, self.texts("test", 9))
            of_epoch = {"arm": "claim", "case": self.task, "seed": self.seed, "dtype": "float32", "x": float(epoch),
                        "step": epoch}  # fmt: skip
            right = float((torch.cat(scores).argmax(1) == labels).double().mean())
            records.append({**of_epoch, "quantity": "test_accuracy", "value": right})
            most = max(labels.tolist().count(label) for label in set(labels.tolist()))
            records.append({**of_epoch, "quantity": "majority share", "value": most / len(labels)})
        return records


@pytest.mark.parametrize(("task", "tagged"), [("tags", True), ("sentences", False)])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_rows_of_every_state(root, task, tagged, seed):
    torch.set_num_threads(1)
    measured = list(a_fig11.of_task(settings(), task, TAGS if tagged else SENTENCES, seed, root))
    expected = Oracle(root, task, tagged, seed).rows()
    # Adam turns the round-off of a tiny gradient into a part of a step
    assert_same_rows(measured, expected, rel=1e-3, absolute=1e-4)
    untrained = {"quantity": ("random/target_linearity", "pre-trained/target_linearity, all components")}
    assert_same_rows(measured, expected, rel=1e-5, absolute=1e-6, **untrained)


def test_seeds_and_tasks_are_measured_once_each_and_kept(root, tmp_path, monkeypatch):
    """An interrupted run goes on with the tasks and seeds that are not in .scratch; a changed setting begins anew."""
    measured = []

    def of_task(settings, task, corpus, seed, root):
        measured.append((task, seed))
        yield {"case": task, "seed": seed, "quantity": "q", "value": settings.lr}

    monkeypatch.setattr(resumable, "FOLDER", tmp_path)
    monkeypatch.setattr(a_fig11, "of_task", of_task)
    tasks = {"tags": TAGS, "left out": None, "sentences": SENTENCES}
    first = list(a_fig11.measure(settings(tasks=tasks, instances=1)))
    assert [(row["case"], row["seed"], row["value"]) for row in first] == [("tags", 0, 0.02), ("sentences", 0, 0.02)]
    again = list(a_fig11.measure(settings(tasks=tasks, instances=2)))
    assert again[:2] == first
    assert measured == [("tags", 0), ("sentences", 0), ("tags", 1), ("sentences", 1)]
    list(a_fig11.measure(settings(tasks=tasks, lr=0.5)))
    monkeypatch.setenv("GRAMLAB_STREAM_ROOT", "3")
    list(a_fig11.measure(settings(tasks=tasks)))
    assert len(measured) == 8


def test_without_the_extra_the_stage_says_how_to_get_it(root, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(DataError, match=r"pip install 'gramlab\[text\]'"):
        list(a_fig11.of_task(settings(), "tags", TAGS, 0, root))


def test_a_part_of_the_texts_is_trained_on_and_a_part_of_it_measured(root):
    small = settings(examples=8, held_out=4, epochs=1, batch=2)
    few = TAGS.model_copy(update={"texts": 12})
    measured = list(a_fig11.of_task(small, "tags", few, 0, root))
    assert max(row["step"] for row in measured) == 6  # 12 texts in batches of 2
    train, test = few.read(root)
    lengths = {len(text) for text in train.drawn(8, "any").texts}
    assert lengths <= {5, 6, 7}
    held_out = test.drawn(4, "a_fig11", "tags", 0, "held-out texts")
    share = max(sum(labels.count(name) for labels in held_out.labels) for name in "NVX") / sum(map(len, held_out.texts))
    (majority,) = (row["value"] for row in measured if row["quantity"] == "majority share")
    assert majority == pytest.approx(share)


# ------------------------------------------------------------------------------------------------ the statements' rules

LAYERS, SEEDS = 6, range(4)
DEPTH = np.linspace(0, 1, LAYERS)
SENTIMENT, POS, NER = "SST-2 sentences", "UD English EWT POS", "WNUT17 NER"
TRUE = {  # by state and task: TL of every layer
    "random": dict.fromkeys((SENTIMENT, POS, NER), 0.2 + 0 * DEPTH),
    "pre-trained": {SENTIMENT: 0.3 + 0.2 * DEPTH, POS: 0.7 - 0.6 * (DEPTH - 0.4) ** 2,
                    NER: 0.6 - 0.4 * (DEPTH - 0.4) ** 2},
    1: {SENTIMENT: 0.4 + 0.5 * DEPTH, POS: 0.72 + 0.2 * DEPTH, NER: 0.62 + 0.3 * DEPTH},
    2: {SENTIMENT: 0.41 + 0.52 * DEPTH, POS: 0.73 + 0.2 * DEPTH, NER: 0.63 + 0.3 * DEPTH},
    3: {SENTIMENT: 0.41 + 0.53 * DEPTH, POS: 0.73 + 0.2 * DEPTH, NER: 0.63 + 0.31 * DEPTH},
}  # fmt: skip


def planted(changed=None, accuracy=0.9, tasks=(SENTIMENT, POS, NER), size=0.002, seeds=SEEDS):
    """A table of these curves and of a control without any structure."""
    records = []
    for state, by_task in {**TRUE, **(changed or {})}.items():
        name, epoch = (state, 0) if isinstance(state, str) else ("fine-tuned", state)
        for task in tasks:
            for seed in seeds:
                for arm in ("claim", SHUFFLED):
                    noise = stream("test_fig11", str(state), task, seed, arm).normal(size=LAYERS)
                    curve = by_task[task] if arm == "claim" else 0.13
                    for layer, value in enumerate(curve + size * noise, start=1):
                        for which in ("", ", all components"):
                            records.append({"arm": arm, "case": task, "seed": seed, "layer": f"{layer:02}", "x": epoch,
                                            "step": 100 * epoch, "quantity": f"{name}/target_linearity{which}",
                                            "value": float(value)})  # fmt: skip
                if epoch:
                    labels = {"arm": "claim", "case": task, "seed": seed, "x": epoch, "step": 100 * epoch}
                    wobble = 0.001 * float(stream("test_fig11", "accuracy", task, seed, epoch).normal())
                    records += [{**labels, "quantity": "test_accuracy", "value": accuracy + wobble},
                                {**labels, "quantity": "majority share", "value": 0.6}]  # fmt: skip
    return rows(records)


def finding(name, table, arm="claim"):
    statement = next(statement for statement in claim.STATEMENTS if statement.name == name)
    return statement.rule(statement.rows_read(table).where(arm=arm))


def shifted(state, task, curve):
    return {state: {**TRUE[state], task: curve}}


FALSE = {  # by statement: a table in which it alone, or with others, does not hold
    "pre-trained above random": shifted("random", POS, TRUE["pre-trained"][POS] + 0.03),
    "gap of tags and sentiment": shifted("pre-trained", SENTIMENT, 0.9 + 0 * DEPTH),
    "sentiment climbs": shifted("pre-trained", SENTIMENT, 0.5 - 0.2 * DEPTH),
    "tags peak early": shifted("pre-trained", NER, 0.4 + 0.2 * DEPTH),
    "near-monotone after an epoch": shifted(1, NER, 0.92 - 0.3 * DEPTH),
    "lower envelope": shifted(1, SENTIMENT, 0.25 + 0.6 * DEPTH),
    "saturates": shifted(3, SENTIMENT, 0.4 + 0.9 * DEPTH),
    "last layer leads in POS": shifted(1, POS, 0.92 - 0.5 * (DEPTH - 0.8) ** 2),
    "pre-trained above random, all components": shifted("random", NER, 0.7 + 0 * DEPTH),
    "near-monotone, all components": shifted(1, SENTIMENT, 0.9 - 0.5 * DEPTH),
}


@pytest.mark.parametrize("name", FALSE)
def test_a_rule_finds_the_truth_the_falsehood_and_the_control(name):
    table = planted()
    assert finding(name, table).holds
    assert finding(name, planted(FALSE[name])).holds is False
    assert rejects(finding(name, table, SHUFFLED), finding(name, table))


def test_the_peak_is_chosen_on_other_seeds():
    """Flat curves with noise have no peak: the best of four layers, chosen on the same seed, would lead the last."""
    flat = shifted("pre-trained", POS, 0.6 + 0 * DEPTH)
    lead = finding("tags peak early", planted(flat, tasks=(POS,), size=0.02, seeds=range(40)))
    assert lead.holds is not True
    assert abs(lead.statistic) < 0.01  # three standard errors; the best of four leads by 0.02 on average


def test_an_encoder_that_learned_nothing_does_not_meet_the_hypothesis():
    (learned,) = claim.HYPOTHESES
    rule = lambda table: learned.rule(table.where(quantity=set(learned.reads), arm="claim"))  # noqa: E731
    assert rule(planted()).holds
    assert rule(planted(accuracy=0.6)).holds is not True
    assert rule(planted(accuracy=0.5)).holds is False


def test_statements_on_the_papers_data_wait_for_them():
    table = planted()
    waiting = [statement.name for statement in claim.STATEMENTS if not statement.judgeable(table)]
    assert waiting == ["gap of NLI", *(f"TL of {task}" for task in claim.LEVELS)]
    levels = {"SST-2": 0.97, "MNLI": 0.88, "CoNLL-2003 POS": 0.91, "CoNLL-2003 NER": 0.92}
    curves = {state: dict.fromkeys(levels, 0.3 + 0 * DEPTH) for state in TRUE}
    curves["pre-trained"] = {task: 0.35 + 0.2 * (task == "SST-2") + 0 * DEPTH for task in levels}
    curves[3] = {task: level - 0.5 + 0.5 * DEPTH for task, level in levels.items()}
    paper = planted(curves, tasks=tuple(levels))
    for task in levels:
        assert finding(f"TL of {task}", paper).holds
    assert finding("gap of NLI", paper).holds
    curves["pre-trained"]["MNLI"] = 0.9 + 0 * DEPTH
    assert finding("gap of NLI", planted(curves, tasks=tuple(levels))).holds is False
    curves[3] = {task: curve - 0.1 for task, curve in curves[3].items()}
    lower = planted(curves, tasks=tuple(levels))
    assert all(finding(f"TL of {task}", lower).holds is False for task in levels)
