"""A pre-trained encoder has a higher Target Linearity than a random one; after fine-tuning it rises with depth.

Target Linearity (TL) is that of a layer's hidden states, at [CLS] or at each word's first sub-word, for the labels of a
task that pre-training never saw. Before fine-tuning TL rises with the layer for sentiment, and peaks early for tags of
words. After one epoch of fine-tuning it rises almost monotonically with the layer in every task, and then hardly grows.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, equals, positive, trend_along
from tasks.judging.statement import Control, Hypothesis, Statement
from tasks.judging.statistics import curves

ID = "A.fig11"
KIND = "statistical"
TITLE = "Target Linearity of every layer of a transformer, before and after fine-tuning"
SENTIMENT = ("SST-2", "SST-2 sentences")
POS = ("CoNLL-2003 POS", "UD English EWT POS")
WORDS = (*POS, "CoNLL-2003 NER", "WNUT17 NER")
LEVELS = {"SST-2": 0.97, "MNLI": 0.88, "CoNLL-2003 POS": 0.91, "CoNLL-2003 NER": 0.92}  # read from the authors' drawing
PRINTED = "TL of the last layer after three epochs: " + ", ".join(
    f"{task} {level:g}" for task, level in LEVELS.items()
) + ", read from Figure 11"  # fmt: skip
MATH = (
    r"\mathcal{T}_0\left( H_l^{\text{pre-trained}}, Y \right) > \mathcal{T}_0\left( H_l^{\text{random}}, Y \right) "
    r"\quad\text{for every } l",
    r"l < l' \;\implies\; \mathcal{T}_0\left( H_l^{\text{fine-tuned}}, Y \right) < "
    r"\mathcal{T}_0\left( H_{l'}^{\text{fine-tuned}}, Y \right)",
)
SETTINGS = (  # the texts are those that the figure names
    "instances", "model", "held_out", "examples", "components", "length", "epochs", "batch", "lr", "precision",
)  # fmt: skip
NEEDS = (
    "It needs gramlab[text], an encoder and texts, which ship with no dependency; docs/text.md says how to get them "
    "and how to run the claim at the paper scale"
)
LINEARITY = "target_linearity"
RANDOM, PRETRAINED, TUNED = (f"{state}/{LINEARITY}" for state in ("random", "pre-trained", "fine-tuned"))
ALL = ", all components"
ACCURACIES = ("test_accuracy", "majority share")
ENVELOPE = 0.02  # by which the pre-trained curve may lie above the fine-tuned one
BARELY = 0.5  # of the first epoch's gain


def above_random(rows: Rows, components: str = "") -> Finding:
    """In every task and layer the pre-trained encoder's Target Linearity is above the random one's."""
    parts: dict[str, Finding] = {}
    for task, selected in _by_task(rows).items():
        lead = _layers(selected, PRETRAINED + components) - _layers(selected, RANDOM + components)
        parts |= {f"{task}, layer {layer}": positive(of_layer, "pre-trained minus random TL")
                  for layer, of_layer in enumerate(lead.T, start=1)}  # fmt: skip
    leads = {name: finding.statistic for name, finding in parts.items()}
    least = min(leads, key=lambda name: leads[name])
    above = sum(lead > 0 for lead in leads.values())
    measured = (f"the pre-trained encoder's TL is above the random one's in {above} of {len(leads)} layers of all "
                f"tasks, and the least difference is {leads[least]:+.4f} ({least})")  # fmt: skip
    return replace(all_of(**parts), measured=measured)


def larger_gap(rows: Rows, larger: tuple[str, ...], smaller: tuple[str, ...]) -> Finding:
    """The lead over the random encoder, mean over layers, is larger in each of some tasks than in each of others."""
    leads = {task: (_layers(selected, PRETRAINED) - _layers(selected, RANDOM)).mean(1)
             for task, selected in _by_task(rows).items()}  # fmt: skip
    statistic = "pre-trained minus random TL, mean over layers"
    return all_of(
        **{
            f"{first} minus {second}": positive(leads[first] - leads[second], statistic)
            for first in leads
            for second in leads
            if first in larger and second in smaller
        }
    )


def climbs(rows: Rows) -> Finding:
    """The pre-trained encoder's Target Linearity rises with the layer."""
    return all_of(
        **{task: trend_along(_layers(selected, PRETRAINED), "pre-trained TL rises with the layer")
           for task, selected in _by_task(rows).items()}
    )  # fmt: skip


def peaks_early(rows: Rows) -> Finding:
    """The best of the first two thirds of the layers, chosen on the other seeds, is above the last layer."""
    parts = {}
    for task, selected in _by_task(rows).items():
        T = _layers(selected, PRETRAINED)
        early = T[:, : 2 * T.shape[1] // 3]
        best = [int(np.delete(early, seed, 0).mean(0).argmax()) for seed in range(len(T))]
        lead = T[np.arange(len(T)), best] - T[:, -1]
        parts[task] = positive(lead, "pre-trained TL of the best early layer minus that of the last layer")
    return all_of(**parts)


def near_monotone(rows: Rows, components: str = "") -> Finding:
    """After the first epoch Target Linearity rises with the layer in every task."""
    return all_of(
        **{task: trend_along(_layers(selected, TUNED + components), "TL after the first epoch rises with the layer")
           for task, selected in _by_task(rows).items()}
    )  # fmt: skip


def lower_envelope(rows: Rows) -> Finding:
    """After the first epoch every layer's TL is above its pre-trained TL minus a margin, and their mean rises."""
    parts: dict[str, Finding] = {}
    for task, selected in _by_task(rows).items():
        gain = _layers(selected, TUNED) - _layers(selected, PRETRAINED)
        statistic = f"TL after the first epoch minus pre-trained TL, plus {ENVELOPE:g}"
        parts |= {f"{task}, layer {layer}": positive(of_layer + ENVELOPE, statistic)
                  for layer, of_layer in enumerate(gain.T, start=1)}  # fmt: skip
        parts[f"{task}, mean over layers"] = positive(gain.mean(1), "TL after the first epoch minus pre-trained TL")
    return all_of(**parts)


def saturates(rows: Rows) -> Finding:
    """The last layer gains less than half as much in the later epochs as in the first."""
    parts = {}
    for task, selected in _by_task(rows).items():
        before, first, last = (
            _layers(selected, *state)[:, -1] for state in ((PRETRAINED,), (TUNED,), (TUNED, _last_epoch(selected)))
        )
        parts[task] = positive(
            BARELY * (first - before) - (last - first),
            "half of the first epoch's gain in TL minus the later epochs' gain",
        )
    return all_of(**parts)


def last_layer_leads(rows: Rows) -> Finding:
    """After the first epoch the last layer's Target Linearity is above every other layer's."""
    parts = {}
    for task, selected in _by_task(rows).items():
        T = _layers(selected, TUNED)
        parts[task] = positive(T[:, -1] - T[:, :-1].max(1), "TL of the last layer minus the largest TL of the others")
    return all_of(**parts)


def level(rows: Rows, printed: float) -> Finding:
    """The last layer's Target Linearity after the last epoch equals the level of the drawing."""
    return equals(_layers(rows, TUNED, _last_epoch(rows))[:, -1], printed, 0.02)


def learned(rows: Rows) -> Finding:
    """After fine-tuning the held-out accuracy is above the share of the most frequent class."""
    parts = {}
    for task, selected in _by_task(rows).items():
        accuracy, majority = (curves(selected.where(quantity=name), "seed")[:, -1] for name in ACCURACIES)
        parts[task] = positive(
            accuracy - majority, "held-out accuracy minus that of always naming the most frequent class"
        )
    return all_of(**parts)


def _by_task(rows: Rows) -> dict[str, Rows]:
    return {task: selected for (task,), selected in rows.by("case").items()}


def _last_epoch(rows: Rows) -> float:
    return float(rows.x.max())


def _layers(rows: Rows, quantity: str, epoch: float | None = None) -> np.ndarray:
    """By seed and layer, at an epoch; the first one that there is by default."""
    selected = rows.where(quantity=quantity)
    return curves(selected.where(x=float(selected.x.min()) if epoch is None else epoch), "seed", "layer")[:, :, 0]


def _statement(name: str, quote: str, rule: Callable[[Rows], Finding], *reads: str, **more) -> Statement:
    return Statement(
        name=name, quote=quote, rule=rule, reads=reads, **{"place": "Appendix B.7", "cases": 3, "rows": 18, **more}
    )


ABOVE = (
    "Across all four tasks, the pre-trained model’s TL curve sits well above the randomly initialized baseline at "
    "every layer"
)
MONOTONE = "after a single epoch, all four tasks exhibit the same near-monotone increasing TL profile"
CONTROLS = {
    "shuffled labels": Control(
        text="Target Linearity is measured with shuffled labels; the encoders are fine-tuned on the true ones."
    ),
}
STATEMENTS = (
    _statement("pre-trained above random", ABOVE, above_random, RANDOM, PRETRAINED),
    _statement(
        "gap of tags and sentiment",
        "it is largest for POS and NER (which depend on local lexical and syntactic regularities that MLM directly "
        "rewards), moderate for sentiment",
        partial(larger_gap, larger=WORDS, smaller=SENTIMENT), RANDOM, PRETRAINED,
        data_sets=(*SENTIMENT, *WORDS), least_sets=2, cases=3,
    ),
    _statement(
        "gap of NLI", "moderate for sentiment, and smallest for NLI",
        partial(larger_gap, larger=("SST-2",), smaller=("MNLI",)), RANDOM, PRETRAINED,
        data_sets=("SST-2", "MNLI"), least_sets=2, cases=2, scales=("paper",),
    ),
    _statement(
        "sentiment climbs", "TL for semantic tasks (sentiment) climbs monotonically toward the top of the network",
        climbs, PRETRAINED, data_sets=SENTIMENT, cases=1,
    ),
    _statement(
        "tags peak early",
        "TL for syntactic tasks (POS, NER) peaks in the early-to-middle layers and slightly decays afterward",
        peaks_early, PRETRAINED, data_sets=WORDS, cases=2, printed="at layer 3 in POS",
    ),
    _statement("near-monotone after an epoch", MONOTONE, near_monotone, TUNED),
    _statement(
        "lower envelope", "with the pre-trained curve serving as a lower envelope", lower_envelope, PRETRAINED, TUNED
    ),
    _statement(
        "saturates", "saturates within a single epoch and barely improves thereafter", saturates, PRETRAINED, TUNED,
        place="Section 6",
    ),
    _statement(
        "last layer leads in POS",
        "Even POS — for which the pre-trained model’s optimal layer is layer 3 — is reorganized so that the final "
        "layer carries the most target linear information.",
        last_layer_leads, TUNED, data_sets=POS, cases=1,
    ),
    *(
        _statement(
            f"TL of {task}", f"Drawing: after three epochs the last layer's TL is {printed:g}, read by eye",
            partial(level, printed=printed), TUNED, place="Figure 11", kind="printed level", printed=f"{printed:g}",
            data_sets=(task,), cases=1, scales=("paper",),
        )
        for task, printed in LEVELS.items()
    ),
    _statement(
        "pre-trained above random, all components", ABOVE, partial(above_random, components=ALL), RANDOM + ALL,
        PRETRAINED + ALL, kind="ours",
    ),
    _statement(
        "near-monotone, all components", MONOTONE, partial(near_monotone, components=ALL), TUNED + ALL, kind="ours"
    ),
)  # fmt: skip
HYPOTHESES = (
    Hypothesis(
        name="learned",
        text="In every task the held-out accuracy of the fine-tuned encoder is above that of always naming the most "
        "frequent class.",
        rule=learned,
        reads=ACCURACIES,
        reason="reduced too far",
        statements=("near-monotone after an epoch", "lower envelope", "saturates", "last layer leads in POS"),
    ),
)
EPOCHS = "#e0b0cd", style.PURPLE, "#7d3560"  # of one hue, light to dark


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw a panel for each task as in the paper: Target Linearity by layer of every state, and of shuffled labels."""
    rows = rows.assign(depth=pd.to_numeric(rows["layer"], errors="coerce"))
    tasks = sorted(rows["case"].unique())
    figure, grid = style.panels(claim, columns=len(tasks), height=3.2, sharey=True)
    in_claim, control = (rows[rows["arm"].str.startswith(arm)] for arm in ("claim", "control"))
    for axes, task in zip(grid[0], tasks, strict=True):
        of_task, shuffled = (part[part["case"] == task] for part in (in_claim, control))
        style.seeds(axes, of_task[of_task["quantity"] == RANDOM], "depth", style.GUIDE, linestyle="--", label="random")
        style.seeds(axes, of_task[of_task["quantity"] == PRETRAINED], "depth", style.BLUE, label="pre-trained")
        tuned = of_task[of_task["quantity"] == TUNED]
        for epoch, color in zip(sorted(tuned["x"].unique()), EPOCHS, strict=False):
            style.seeds(axes, tuned[tuned["x"] == epoch], "depth", color, label=f"epoch {epoch:g}")
        last = shuffled[(shuffled["quantity"] == TUNED) & (shuffled["x"] == shuffled["x"].max())]
        style.seeds(axes, last, "depth", style.CONTROL, linestyle=":", marker="X", markersize=4,
                    label="✗ shuffled labels, last epoch")  # fmt: skip
        if style.are_of_paper_scale(rows) and task in LEVELS:
            axes.plot(tuned["depth"].max(), LEVELS[task], "_", color=style.PRINTED, markersize=12, label="printed")
        axes.set(title=task, ylim=(-0.02, 1.02), xlabel="layer", xticks=sorted(tuned["depth"].unique()))
    grid[0, 0].set_ylabel("Target Linearity")
    style.label_lines(grid[0, -1])
    style.note(figure, style.meaning_of_lines(in_claim))
    return figure
