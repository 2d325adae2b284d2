"""C.tab2, C.tab2.MNIST, C.tab2.CIFAR10: Table 2, Pearson correlations of the first layer after training."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, decided, equals, positive
from tasks.judging.statement import Statement
from tasks.judging.statistics import fisher
from tasks.papers.fact.claims.shared.correlations import EXCEPTION, LABELS, OTHERS, in_words, named, null_statement, z

FACT_AHEAD_OF_ROOTS = (
    r"\rho\left( \text{FACT},\; W_1^\top W_1 \right) > \rho\left( \sqrt{\text{AGOP}},\; W_1^\top W_1 "
    r"\right),\; \rho\left( \sqrt{\text{eNFA}},\; W_1^\top W_1 \right)"
)
Table = Mapping[str, Mapping[str, float]]  # printed correlations by name and column


def printed(table: Table, columns: str) -> str:
    """The numbers of Table 2 in one line."""
    return f"{columns}: {cells(table, table)}, Table 2"


def cells(table: Table, names: Collection[str], columns: Collection[str] = ()) -> str:
    """The numbers of Table 2 for these names, in the order of the columns; of these columns alone, if any are given."""
    shown = {name: [f"{value:.3f}".removeprefix("0") for column, value in by_column.items()
                    if not columns or column in columns] for name, by_column in table.items()}  # fmt: skip
    return ", ".join(f"{LABELS[name]} {' / '.join(values)}" for name, values in shown.items() if name in names)


def in_column(table: Table, column: str) -> str:
    """What Table 2 shows of the symmetrised FACT in one column, as a statement's quote."""
    first, *others = (
        f"{LABELS[name]} {f'{table[name][column]:.3f}'.removeprefix('0')}"
        for name in ("symmetric fact", "root agop", "root enfa")
    )
    return f"Table: {first} above {' and '.join(others)} at n = {column}; AGOP and eNFA are below their roots"


def table_ahead(rows: Rows, name: str) -> Finding:
    """In each column NAME is above AGOP, eNFA and their roots, in Fisher's z, paired by seed."""
    parts: dict[str, Finding] = {}
    numbers: dict[str, float] = {}
    measured = []
    for (case,), in_case in rows.by("case").items():
        for ansatz in (name, *OTHERS):
            labels = (f"{case}, {ansatz}", f"{case}, {ansatz}, low", f"{case}, {ansatz}, high")
            numbers |= dict(zip(labels, fisher(np.tanh(z(in_case, ansatz)[:, -1])), strict=True))
        for other in OTHERS:
            lead = (z(in_case, name) - z(in_case, other))[:, -1]
            text = f"Fisher's z of {named(name)} minus that of {named(other)}"
            parts[f"{case}, {named(name)} above {named(other)}"] = positive(lead, text)
        nearest = max(OTHERS, key=lambda other: numbers[f"{case}, {other}"])
        value, nearest_value = (numbers[f"{case}, {quantity}"] for quantity in (name, nearest))
        best = f"{nearest_value:.3f} for {named(nearest)}, the best other"
        measured.append(f"{in_words(case)}: the correlation is {value:.3f} for {named(name)} and {best}")
    finding = all_of(**parts)
    return replace(finding, numbers={**finding.numbers, **numbers}, measured="; ".join(measured))


def table_not_ahead(rows: Rows, name: str) -> Finding:
    """In some column NAME is below AGOP, eNFA or one of their roots: ``table_ahead`` with its two answers exchanged.

    The statistic is NAME's lead on the matrix that decides ``table_ahead``, and is negative if the rule supports this.
    """
    ahead = table_ahead(rows, name)
    others = ", ".join(named(other) for other in OTHERS)
    lead = f"Fisher's z of {named(name)} minus that of at least one of {others}"
    rule = f"{lead} is below 0, by Student's t test over seeds with Bonferroni's correction"
    return replace(
        ahead, holds=decided(ahead.p_against, ahead.p), p=ahead.p_against, p_against=ahead.p, rule=rule, parts={}
    )


def roots_ahead(rows: Rows) -> Finding:
    """In each column √AGOP and √eNFA are above AGOP and eNFA, in Fisher's z, paired by seed."""
    parts, measured = {}, []
    for (case,), in_case in rows.by("case").items():
        for name in ("agop", "enfa"):
            lead = (z(in_case, f"root {name}") - z(in_case, name))[:, -1]
            label = named(name)
            parts[f"{case}, {label}"] = positive(lead, f"Fisher's z of √{label} minus that of {label}")
            root, plain = (float(np.tanh(z(in_case, quantity)[:, -1].mean())) for quantity in (f"root {name}", name))
            measured.append(f"{in_words(case)}: the correlation is {root:.3f} for √{label} and {plain:.3f} for {label}")
    return replace(all_of(**parts), measured="; ".join(measured))


def as_printed(rows: Rows, table: Table) -> Finding:
    """Each mean over seeds equals the printed number, of one run."""
    parts, measured = {}, []
    for (case,), in_case in rows.by("case").items():
        values = {name: np.tanh(z(in_case, name)[:, -1]) for name in table}
        for name, by_column in table.items():
            parts[f"{case}, {name}"] = equals(values[name], by_column[case], 0.001)
        means = ", ".join(f"{of_seeds.mean():.3f} for {named(name)}" for name, of_seeds in values.items())
        measured.append(f"{in_words(case)}: the correlation is {means}")
    return replace(all_of(**parts), measured="; ".join(measured))


def table_statements(
    table: Table, cases: int, parts: Mapping[str, tuple[str, ...]] = MappingProxyType({"": ()}), excepted: str = "none"
) -> tuple[Statement, ...]:
    """What Section 3.1 says of these columns of Table 2.

    Parameters
    ----------
    table
        The printed numbers: by name and column.
    cases
        How many columns a statement has, at least.
    parts
        The columns with statements and hypotheses of their own, by the ending of the statements' names. By default all
        columns have the same statements.
    excepted
        The part that the paper excepts from what it says of FACT. There the order of the symmetrised FACT is that of
        the printed numbers.
    """
    quote = (
        "In all cases except for MNIST n = 1000 we find that FACT and its symmetrization are better correlated to "
        "W₁ᵀW₁ than both AGOP and eNFA and their square roots."
    )

    def ahead_of_others(name: str, words: str, ending: str) -> Statement:
        return Statement(
            name=f"{words} ahead{ending}",
            quote=in_column(table, parts[ending][0]) if ending == excepted else quote,
            place="Table 2" if ending == excepted else "Section 3.1, Table 2",
            rule=lambda rows: table_ahead(rows, name),
            printed=cells(table, (name, *OTHERS), parts[ending]),
            reads=tuple(f"pearson/{ansatz}" for ansatz in (name, *OTHERS)),
            cases=cases,
            rows=5,
            data_sets=parts[ending],
        )

    def not_ahead(ending: str) -> Statement:
        return replace(
            ahead_of_others("fact", "FACT", ending),
            name=f"{EXCEPTION}{ending}",
            quote=quote,
            place="Section 3.1, Table 2",
            rule=lambda rows: table_not_ahead(rows, "fact"),
            stands_in="With shuffled labels FACT is not ahead either. The rule fails on a planted table in which FACT "
            "is ahead, and on the networks on digits with ten times the printed weight decay.",
        )

    def roots_ahead_of_plain(ending: str) -> Statement:
        return Statement(
            name=f"roots ahead{ending}",
            quote="the eNFA and NFA predictions without square root are both less correlated to the W₁ᵀW₁ than their "
            "square root counterparts.",
            place="Section 3.1",
            rule=roots_ahead,
            reads=tuple(f"pearson/{name}" for name in OTHERS),
            cases=cases,
            rows=5,
            data_sets=parts[ending],
            forms=("claim",),  # the correction takes the networks to a critical point, which only FACT needs
            stands_in="AGOP has no labels to shuffle, and eNFA's root is flatter than eNFA with any labels. The rule "
            "fails on a planted table in which AGOP is ahead of its root.",
        )

    def above_its_null(name: str, ending: str) -> Statement:
        statement = null_statement(name, "Table 2")
        return replace(statement, name=statement.name + ending, cases=cases, data_sets=parts[ending])

    def printed_numbers(ending: str) -> Statement:
        return Statement(
            name=f"the printed numbers{ending}",
            quote="Table: Pearson correlation to WᵀW after training",
            place="Table 2",
            rule=lambda rows: as_printed(rows, table),
            reads=tuple(f"pearson/{name}" for name in table),
            kind="printed level",
            printed=cells(table, table, parts[ending]),
            cases=cases,
            rows=5,
            scales=("paper",),
            data_sets=parts[ending],
        )

    return (
        *(ahead_of_others("fact", "FACT", ending) for ending in parts if ending != excepted),
        *(not_ahead(ending) for ending in parts if ending == excepted),
        *(ahead_of_others("symmetric fact", "its symmetrisation", ending) for ending in parts),
        *(roots_ahead_of_plain(ending) for ending in parts),
        *(printed_numbers(ending) for ending in parts),
        *(above_its_null(name, ending) for name in ("fact", "symmetric fact") for ending in parts),
    )
