"""C.tab2, C.fig3, C.fig8, C.fig9, C.fig10: Pearson correlations with a weight's Gram, as rules.

What Table 2 alone needs stands in ``correlation_tables``. The Gram is W^T W or, where ``side`` is "back_", W W^T, with
bFACT, bAGOP and beNFA.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from tasks.judging.ranges import fisher_z
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive, trend_along
from tasks.judging.statement import Control, Hypothesis, Statement
from tasks.judging.statistics import JudgeError, curves
from tasks.papers.fact.claims.shared.rises import largest_rise

OTHERS = ("agop", "root agop", "enfa", "root enfa")
NAMES = ("fact", "symmetric fact", *OTHERS)
HIDDEN = {"0", "2", "4", "6", "8"}  # without the readout, where AGOP is W^T W and bAGOP the identity before training
LOW, HIGH = 0.5, 0.9  # "low": nearer to 0 than to 1; "near-perfect"
SUDDEN, WINDOW = 0.5, 0.2  # "sharply": more than this fraction of the rise comes within this fraction of the epochs
BOTH_SETS = {"quick": 1, "paper": 2}  # kinds of cases of Figures 3 and 8 to 10: digits; MNIST and CIFAR-10
FITTED, STATIONARY = 0.99, 0.5  # least training accuracy, largest relative gradient
CRITICAL_POINT = "critical point"
EXCEPTION = "FACT is not ahead"  # the statement on what the paper excepts
PRINTED_LOSS = 1e-3  # largest batch training loss of the paper's networks at convergence, Section 3.1
LABELS = {
    "fact": "FACT",
    "symmetric fact": "√(FACT FACTᵀ)",
    "agop": "AGOP",
    "root agop": "√AGOP",
    "enfa": "eNFA",
    "root enfa": "√eNFA",
}


def named(name: str) -> str:
    """What a correlated matrix is called in the text, with b for the backward versions: "back_root agop" is √bAGOP."""
    label = LABELS[name.removeprefix("back_")]
    for forward in ("FACT", "AGOP", "eNFA") if name.startswith("back_") else ():
        label = label.replace(forward, f"b{forward}")
    return label


def in_words(case: str) -> str:
    """What a case, a data set or a column of Table 2, is called in the text: "2K" is "n = 2K"."""
    return f"n = {case}" if case.endswith("K") else case


def z(rows: Rows, name: str, *by: str) -> np.ndarray:
    """Fisher's z of pearson/NAME: seeds first, then the columns ``by``, then steps."""
    return fisher_z(curves(rows.where(quantity=f"pearson/{name}"), "seed", *by))


def above_null(rows: Rows, name: str, *by: str) -> Finding:
    """After training NAME is above its null at the worst value of the columns ``by``, in every data set.

    The null is the correlation with the Gram's spectrum in random directions.
    """
    parts, measured = {}, []
    for (case,), case_rows in rows.by("case").items():
        null = curves(case_rows.where(quantity=f"null/{name}"), "seed", *by)[..., -1]
        correlation = z(case_rows, name, *by)[..., -1]
        lead = correlation - fisher_z(null)
        label = f"Fisher's z of {named(name)} minus that of its null's 97.5 % quantile"
        text = label + ", at the worst layer" * bool(by)
        parts[f"{case}: {named(name)}"] = positive(lead.reshape(len(lead), -1).min(1), text)
        least, chance = np.tanh(correlation).mean(0).min(), null.mean(0).max()
        levels = f"is at least {least:.3f}, and by chance at most {chance:.3f}"
        measured.append(f"{in_words(case)}: the correlation of {named(name)} {levels}")
    return replace(all_of(**parts), measured="; ".join(measured))


# Hypotheses -------------------------------------------------------------------------------------------------------


def fitted(rows: Rows) -> Finding:
    """In every column every seed fits its training set after training.

    Beside it the largest training loss of each column is measured. It decides nothing.
    """
    accuracies = rows.where(quantity="train_accuracy").by("case", "seed")
    least = min(float(run.value[run.x.argmax()]) for run in accuracies.values())
    losses: dict[str, float] = {}
    for (case, _), run in rows.where(quantity="train_loss").by("case", "seed").items():
        losses[case] = max(losses.get(case, 0.0), float(run.value[run.x.argmax()]))
    by_column = ", ".join(f"{loss:.5f} ({in_words(case)})" for case, loss in losses.items())
    loss_words = f"the largest training loss, which decides nothing, is {by_column}"
    beside = f"{loss_words}; the paper's is at most {PRINTED_LOSS:g}"
    return Finding(
        least >= FITTED, least, "training accuracy of the worst seed", "bound", low=FITTED,
        numbers={f"{case}, largest training loss": loss for case, loss in losses.items()},
        measured=beside if losses else "",
    )  # fmt: skip


def stationary(rows: Rows) -> Finding:
    """In every column and hidden layer, on average over seeds, -grad_W L / lambda is nearer to W than to 0.

    It reads the last epoch alone. Tables of the paper scale that are older have no other.
    """
    layers = rows.where(layer=HIDDEN).by("case", "layer")
    numbers = {" ".join(key): float(layer.value[layer.x == layer.x.max()].mean()) for key, layer in layers.items()}
    largest = max(numbers.values())
    text = f"||grad_W L_lambda|| / (lambda ||W||) at most {STATIONARY:g} in every hidden layer, mean over seeds"
    return Finding(largest <= STATIONARY, largest, text, "bound", high=STATIONARY, numbers=numbers)


HYPOTHESES = (
    Hypothesis(
        name="interpolation",
        text="The networks are trained to interpolation (Sections 3.1 and 6): training accuracy at least 0.99. The "
        "paper's own criterion, “until convergence (achieving batch train loss ≤ 10⁻³)”, is measured beside it on the "
        "whole training set and decides nothing.",
        rule=fitted,
        reads=("train_accuracy", "train_loss"),
    ),
    Hypothesis(
        name=CRITICAL_POINT,
        text="FACT is about critical points (Theorem 3.1): the gradient of the regularised loss in W is at most half "
        "of lambda ||W||.",
        rule=stationary,
        reads=("stationarity",),
    ),
)


def _follows_from_theorem(statement: Statement) -> bool:
    return any("fact" in name for name in statement.reads) and not statement.name.startswith(EXCEPTION)


def of_parts(
    statements: Collection[Statement], parts: Mapping[str, tuple[str, ...]] = MappingProxyType({"": ()})
) -> tuple[Hypothesis, ...]:
    """Both hypotheses for each part of a figure or table, by the ending of its name and its data sets.

    Statements about all data sets need the hypotheses of all parts. A critical point is needed where Theorem 3.1 is the
    reason for what the paper says: not by statements that do not read FACT, and not by the exception, in which the
    paper reports that FACT is behind.
    """
    return tuple(
        replace(
            hypothesis,
            name=hypothesis.name + ending,
            data_sets=data_sets,
            statements=tuple(
                about.name
                for about in statements
                if about.data_sets in ((), data_sets)
                if hypothesis.name != CRITICAL_POINT or _follows_from_theorem(about)
            ),
        )
        for ending, data_sets in parts.items()
        for hypothesis in HYPOTHESES
    )


# The control -----------------------------------------------------------------------------------------------------


def shuffled_labels(*columns: str) -> dict[str, Control]:
    """The control whose columns of the AGOP are the claim's."""
    because = "Labels are shuffled in the measure, and the AGOP does not depend on labels."
    b = "b" if any(name.startswith("back_") for name in columns) else ""  # of the backward forms
    return {
        "shuffled labels": Control(
            text=f"The labels are shuffled before {b}FACT and {b}eNFA are computed, but not in training.",
            equal_quantities=tuple(f"pearson/{name}" for name in columns),
            equal_because=because,
        )
    }


# Figures 3 and 9: every layer after training ----------------------------------------------------------------------


def ahead(rows: Rows, side: str, others: Collection[str]) -> Finding:
    """On every hidden layer of every data set FACT, in the mean over seeds, is above the others after training."""
    parts: dict[str, Finding] = {}
    numbers: dict[str, float] = {}
    leads: dict[str, float] = {}
    for (case, layer), at_layer in rows.where(layer=HIDDEN).by("case", "layer").items():
        place = f"{case}, layer {int(layer) // 2 + 1}"
        fact = named(f"{side}fact")
        for other in others:
            lead = (z(at_layer, f"{side}fact") - z(at_layer, f"{side}{other}"))[:, -1]
            label = named(f"{side}{other}")
            parts[f"{place}: above {label}"] = positive(lead, f"Fisher's z of {fact} minus that of {label}")
        means = {name: float(np.tanh(z(at_layer, f"{side}{name}")[:, -1].mean())) for name in ("fact", *others)}
        numbers |= {f"{place}: {named(f'{side}{name}')}": mean for name, mean in means.items()}
        nearest = max(others, key=means.__getitem__)
        levels = f"{fact} {means['fact']:.3f}, {named(f'{side}{nearest}')} {means[nearest]:.3f}"
        where = f"in layer {int(layer) // 2 + 1} on {'the ' * (case == 'digits')}{case}"
        text = f"{fact}'s lead in correlation is least {where}: {levels}"
        leads[text] = float(fisher_z(means["fact"]) - fisher_z(means[nearest]))
    finding = all_of(**parts)
    return replace(finding, numbers={**finding.numbers, **numbers}, measured=min(leads, key=leads.__getitem__))


# the data sets of Figures 3 and 9, by the ending of their statements' names; the quick scale has digits alone
SETS = {"": ("MNIST", "digits"), " on CIFAR-10": ("CIFAR-10",)}


def layers_statements(side: str, figure: str, prefix: str) -> tuple[Statement, ...]:
    """What Figures 3 and 9 show: FACT ahead of AGOP and of eNFA on every hidden layer."""

    def ahead_of(others: tuple[str, ...], words: str, ending: str) -> Statement:
        return Statement(
            name=f"ahead of {words}{ending}",
            quote=f"Drawing: after training {prefix}FACT lies above {words} and its root, on every hidden layer and on "
            "both data sets",
            place=figure,
            rule=lambda rows: ahead(rows, side, others),
            reads=tuple(f"pearson/{side}{name}" for name in ("fact", *others)),
            data_sets=SETS[ending],
            rows=25,
        )

    null = null_statement(f"{side}fact", figure, "layer")
    return (
        *(ahead_of(("agop", "root agop"), f"{prefix}AGOP", ending) for ending in SETS),
        *(ahead_of(("enfa", "root enfa"), f"{prefix}eNFA", ending) for ending in SETS),
        *(replace(null, name=null.name + ending, data_sets=SETS[ending]) for ending in SETS),
    )


def null_statement(name: str, place: str, *by: str) -> Statement:
    """Our own: a correlation is above its null."""
    return Statement(
        name=f"{named(name)} above its null",
        quote=f"{'Table' if place.startswith('Table') else 'Drawing'}: correlations, without the level that unrelated "
        "matrices reach",
        place=place,
        rule=lambda rows: above_null(rows.where(layer=HIDDEN), name, *by),
        reads=(f"pearson/{name}", f"null/{name}"),
        kind="ours",
        rows=5,
    )


# Figures 8 and 10: the layers along training ----------------------------------------------------------------------


def _rows_of_cifar(rows: Rows, side: str, name: str, layers: Collection[str], kind: str = "pearson") -> Rows:
    """The figures show CIFAR-10, and not MNIST."""
    cases = set(rows.case.tolist()) - {"MNIST"}
    return rows.where(quantity=f"{kind}/{side}{name}", case=cases, layer=set(layers))


def _of_cifar(rows: Rows, side: str, name: str, layers: Collection[str], kind: str = "pearson") -> np.ndarray:
    """The mean over these layers: (seeds, epochs)."""
    return curves(_rows_of_cifar(rows, side, name, layers, kind), "seed", "layer").mean(1)


def lateness(series: np.ndarray, epochs: np.ndarray) -> np.ndarray:
    """By seed, the middle of a curve's first and last value minus its mean over the epochs.

    It is 0 for a straight line and positive for a curve that rises later.
    """
    mean = np.trapezoid(series, epochs, axis=1) / (epochs[-1] - epochs[0])
    return (series[:, 0] + series[:, -1]) / 2 - mean


def after_interpolation(rows: Rows, layers: Collection[str]) -> Finding:
    """By seed, FACT's correlation first passes 1/2 later than the training accuracy first reaches 0.99.

    A seed that does not reach both counts as minus the last epoch, which speaks against the statement.
    """
    history = rows.where(quantity="train_accuracy", case=set(rows.case.tolist()) - {"MNIST"})
    epochs = np.unique(history.x)
    accuracy, fact = curves(history, "seed"), _of_cifar(rows, "", "fact", layers)
    if accuracy.shape != fact.shape:
        raise JudgeError("FACT's correlation and the training accuracy are of different epochs")
    fits, rises = accuracy >= FITTED, fact > LOW
    reaches_both = fits.any(1) & rises.any(1)
    first_fit, first_rise = epochs[fits.argmax(1)], epochs[rises.argmax(1)]
    label = f"epochs from training accuracy {FITTED:g} to a correlation of FACT above {LOW:g}"
    finding = positive(np.where(reaches_both, first_rise - first_fit, -epochs[-1]), label)
    numbers = {f"FACT at epoch {epoch:.0f}": float(mean) for epoch, mean in zip(epochs, fact.mean(0), strict=True)}
    if not reaches_both.all():
        measured = f"{int(reaches_both.sum())} of {len(fact)} seeds reach both levels"
        return replace(finding, numbers=numbers, measured=measured)
    fitted_by, then = first_fit.max(), float(fact[:, epochs == first_fit.max()].mean())
    accuracy_then = float(accuracy[:, epochs == fitted_by].min())
    numbers |= {"fitted by epoch": float(fitted_by), "least accuracy then": accuracy_then, "FACT then": then,
                "first rise": float(first_rise.min()), "last epoch": float(epochs[-1])}  # fmt: skip
    rise = " to ".join(dict.fromkeys(f"{epoch:.0f}" for epoch in (first_rise.min(), first_rise.max())))
    measured = (f"every seed reaches a training accuracy of {FITTED:g} by epoch {fitted_by:.0f} of {epochs[-1]:.0f}, "
                f"where FACT's correlation is {then:.2f}; it first passes {LOW:g} at epoch {rise}")  # fmt: skip
    return replace(finding, numbers=numbers, measured=measured)


def interpolation_statement(layers: Collection[str]) -> Statement:
    """Our own, on Figure 8: FACT rises after the training set is fitted."""
    return Statement(
        name="rises after interpolation",
        quote="there is no reason for FACT to be correlated to neural feature matrices during most of training, prior "
        "to interpolating the train loss",
        place="Section 6; Figure 8",
        rule=lambda rows: after_interpolation(rows, layers),
        reads=("pearson/fact", "train_accuracy"),
        kind="ours",
        cases=BOTH_SETS,
        rows=100,  # 21 epochs of five seeds
    )


def epochs_statements(side: str, figure: str, layers: Collection[str]) -> tuple[Statement, ...]:
    """What Section 6 says of FACT during training, of these layers' mean, and what Figure 10 draws of bFACT."""
    fact_name, root_name = (named(f"{side}{name}") for name in NAMES[:2])
    place = figure if side else f"Section 6; {figure}"

    def quoted(words: str) -> str:
        return "" if side else words  # Section 6 says it of FACT alone

    def said(words: str, drawn: str) -> str:
        return f"Drawing: {drawn}" if side else words

    def low(rows: Rows) -> Finding:
        """At most epochs FACT's correlation is nearer to 0 than to 1."""
        middle = np.median(_of_cifar(rows, side, "fact", layers), 1)
        median = f"the median over epochs of {fact_name}'s correlation"
        return replace(positive(LOW - middle, f"{LOW:g} minus {median}"), measured=f"{median} is {middle.mean():.2f}")

    def rises(rows: Rows) -> Finding:
        """FACT's correlation rises with the epoch, and later than along a straight line, which would rise evenly.

        For Figure 8, "sharply": a fifth of the epochs brings more than half of the rise, of an even rise a fifth.
        """
        correlations = _of_cifar(rows, side, "fact", layers)
        epochs = np.unique(_rows_of_cifar(rows, side, "fact", layers).x)
        late = lateness(correlations, epochs)
        first, last = correlations[:, [0, -1]].mean(0)
        middle = (first + last) / 2
        parts = {
            "trend": trend_along(correlations, f"{fact_name}'s correlation rises with the epoch"),
            "late": positive(late, f"mean of {fact_name}'s first and last correlation minus its mean over epochs"),
        }
        measured = (f"{fact_name}'s correlation goes from {first:.2f} to {last:.2f}; its mean over epochs is "
                    f"{middle - late.mean():.2f}, and that of a straight line {middle:.2f}")  # fmt: skip
        if not side:  # Figure 10 has no words
            window = WINDOW * (epochs[-1] - epochs[0])
            steepest = np.array([largest_rise(curve, epochs, window) for curve in correlations])
            label = f"largest rise within a fifth of the epochs minus {SUDDEN:g} of the rise"
            parts["sharp"] = positive(steepest - SUDDEN * (correlations[:, -1] - correlations[:, 0]), label)
            measured += f"; within a fifth of the epochs it rises by {steepest.mean():.2f}"
        return replace(all_of(**parts), measured=measured)

    def ends_high(rows: Rows) -> Finding:
        """After training FACT's correlation is above 0.9."""
        last = _of_cifar(rows, side, "fact", layers)[:, -1]
        return replace(positive(last - HIGH, f"{fact_name}'s correlation after training minus {HIGH:g}"),
                       measured=f"{fact_name}'s correlation after training is {last.mean():.3f}")  # fmt: skip

    def root_is_higher(rows: Rows) -> Finding:
        """At most epochs sqrt(FACT FACT^T) correlates more than FACT."""
        fact, root = (_of_cifar(rows, side, name, layers) for name in NAMES[:2])
        lead = np.median(root - fact, 1)
        levels = f"{np.median(root, 1).mean():.2f} for {root_name} and {np.median(fact, 1).mean():.2f} for {fact_name}"
        return replace(positive(lead, f"median over epochs of {root_name}'s correlation minus {fact_name}'s"),
                       measured=f"the median over epochs of the correlation is {levels}")  # fmt: skip

    def root_beyond_chance(rows: Rows) -> Finding:
        """At most epochs sqrt(FACT FACT^T) is above its null after training, in the mean of the layers.

        The null is largest after training, when the Gram has few large eigenvalues.
        """
        root = np.median(_of_cifar(rows, side, "symmetric fact", layers), 1)
        null = _of_cifar(rows, side, "symmetric fact", layers, "null")[:, -1]
        label = f"Fisher's z of {root_name}'s median correlation over epochs minus that of its null"
        measured = f"the median over epochs of {root_name}'s correlation is {root.mean():.2f}, and by chance"
        return replace(positive(fisher_z(root) - fisher_z(null), label), measured=f"{measured} {null.mean():.2f}")

    fact, both = (f"pearson/{side}fact",), (f"pearson/{side}fact", f"pearson/{side}symmetric fact")
    increase, nontrivial = "before sharply increasing to near-perfect correlation", "has nontrivial correlation"
    least = 200  # rows: 21 epochs of five seeds and six layers are 630
    statements = (
        Statement("low at most epochs",
                  said("indeed FACT does have low correlation for most epochs", f"{fact_name} is low for most epochs"),
                  place, low, fact, printed=quoted("low for most epochs"), rows=least,
                  stands_in="With shuffled labels FACT is low too. The rule fails on a planted table in which FACT is "
                  "near 1 from the first epoch on."),
        Statement("rises", said(increase, f"{fact_name} rises late"), place, rises, fact,
                  printed=quoted("sharply increasing"), rows=least),
        Statement("ends near 1", said(increase, f"{fact_name} ends near 1"), place, ends_high, fact,
                  printed=quoted("near-perfect"), rows=least),
        Statement("the root is beyond chance", said(nontrivial, f"{root_name} is far above 0 at most epochs"), place,
                  root_beyond_chance,
                  (both[1], f"null/{side}symmetric fact"), printed=quoted("nontrivial"), rows=15,
                  stands_in="With shuffled labels the root is beyond chance too, so that this does not show a relation "
                  "to the labels. The rule fails on a planted table in which the root is at its null."),
        Statement("the root is higher", said(nontrivial, f"{root_name} lies above {fact_name} at most epochs"), place,
                  root_is_higher, both, kind="ours", rows=least),
        null_statement(f"{side}fact", figure, "layer"),
    )  # fmt: skip
    return tuple(replace(statement, cases=BOTH_SETS) for statement in statements)
