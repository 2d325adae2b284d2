"""The papers' claims under every defensible choice: what the pages show of ``reports/quick/multiverse.json``."""

from dataclasses import dataclass
from typing import Any

from tasks.atlas.judging.claims import COMPARISONS, Comparison
from tasks.reporting.site.content import read
from tasks.settings import ROOT

FILE = "reports/quick/multiverse.json"
WORDS = {  # of values that a reader would not understand, by the choice
    "target": {"gram": "WᵀW", "change": "the change of WᵀW"},
    "entries": {"diagonal": "the diagonals", "whole": "all entries"},
    "form of FACT": {"fact": "FACT", "symmetric fact": "symmetric FACT"},
    "side": {"": "the layer’s input", "back_": "the layer’s output"},
    "power of the AGOP": {"agop": "1", "root agop": "1/2"},
    "power of the eNFA": {"enfa": "1", "root enfa": "1/2"},
    "contrast": {"raw": "the score itself", "above null": "how far it is above its null"},
}
VERDICTS = {"ahead": "ahead", "behind": "behind", "tie": "a tie"}


@dataclass(frozen=True)
class Universe:
    """A comparison on which a claim rests, under every choice.

    Attributes
    ----------
    claim : str
        The claim's key.
    says : str
        What is compared.
    own : str
        What the paper's own choices find: "ahead", "behind" or "tie".
    choices, agree : int
        How many ways there are to compare, and how many of them find the same.
    counts : dict of str to int
        How many find "ahead", "tie" and "behind".
    axes : dict of str to tuple of str
        What is chosen, with its values in words; the paper's own come first.
    others : list of (list of str, str, list of float)
        The ways that find something else: their values in the order of the axes, what they find, and the lead of the
        first quantity over the second with its 95 % interval.
    """

    claim: str
    says: str
    own: str
    choices: int
    agree: int
    counts: dict[str, int]
    axes: dict[str, tuple[str, ...]]
    others: list[tuple[list[str], str, list[float]]]

    @property
    def id(self) -> str:
        """The claim's name in the report."""
        letter, _, name = self.claim.partition("_")
        return f"{letter.upper()}.{name.replace('_', '.')}"

    @property
    def sentence(self) -> str:
        """How many of the choices agree, in words."""
        agree = f"{self.agree} of {self.choices} defensible choices agree"
        if self.choices == 1:
            return f"{agree}: {self.says}. The table allows no other choice."
        if self.own == VERDICTS["ahead"]:
            return f"{agree}: {self.says}."
        finds = "the opposite" if self.own == VERDICTS["behind"] else "a tie"
        others = {"a tie": self.counts["tie"], "the opposite": self.counts["behind"]}
        others_find = " and ".join(f"{count} find {words}" for words, count in others.items() if words != finds)
        return (
            f"“{self.says}”: at the quick scale {self.agree} of {self.choices} defensible choices find {finds}, among "
            f"them the paper’s own; {self.counts['ahead']} find that it is so, and {others_find}."
        )

    @property
    def axes_in_words(self) -> str:
        """The list of choices in one line: ``layer (mean of layers, first layer); ...``."""
        return "; ".join(f"{name} ({', '.join(values)})" for name, values in self.axes.items())

    @property
    def anchor(self) -> str:
        """Its place on the page."""
        of_claim = [comparison.says for comparison in COMPARISONS if comparison.claim == self.claim]
        return f"{self.claim}-{of_claim.index(self.says) + 1}"


def universes(claim: str | None = None) -> list[Universe]:
    """All comparisons in the order of the papers, or those of one claim; none where they were not judged."""
    by_comparison = {(row["claim"], row["says"]): row for row in read(ROOT / FILE) or []}
    rows = [(comparison, by_comparison[comparison.claim, comparison.says]) for comparison in COMPARISONS
            if (comparison.claim, comparison.says) in by_comparison and claim in (None, comparison.claim)]  # fmt: skip
    return [_universe(comparison, row) for comparison, row in rows]


def _universe(comparison: Comparison, row: dict[str, Any]) -> Universe:
    axes = comparison.axes
    if len(comparison.combinations) != row["choices"]:
        raise ValueError(f"{FILE} has other choices for {row['claim']} than tasks/atlas/judging/claims.py")
    words = {name: WORDS.get(name, {}) for name in axes}
    others = [([words[name].get(other[name], other[name]) for name in axes], VERDICTS[other["verdict"]], other["lead"])
              for other in row["others"]]  # fmt: skip
    in_words = {name: tuple(words[name].get(value, value) for value in values) for name, values in axes.items()}
    counts = {name: row[name] for name in ("ahead", "tie", "behind")}
    return Universe(
        row["claim"], row["says"], VERDICTS[row["own"]], row["choices"], row["agree"], counts, in_words, others
    )
