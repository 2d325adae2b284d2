"""The figures on trained networks show several data sets: a rule is applied to each, and must hold on all of them."""

from collections.abc import Callable
from dataclasses import replace

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of


def on_each_data_set(rows: Rows, rule: Callable[[Rows], Finding], only: tuple[str, ...] = ("",)) -> Finding:
    """The rule on every data set, or on those whose names begin with one of ``only``.

    A control on another data set is judged on its own data set.
    """
    cases = list(dict.fromkeys(rows.case.tolist()))
    cases = [case for case in cases if case.startswith(only)] or cases
    findings = {case: rule(rows.where(case=case)) for case in cases}
    measured = "; ".join(
        f"{in_words(case)}: {finding.measured}" for case, finding in findings.items() if finding.measured
    )
    return replace(all_of(**findings), measured=measured)


def in_words(case: str) -> str:
    """A case for readers: "MNIST (digits)", with digits in place of MNIST, says so."""
    data_set, _, stand_in = case.removesuffix(")").partition(" (")
    return f"{stand_in} in place of {data_set}" if stand_in else data_set
