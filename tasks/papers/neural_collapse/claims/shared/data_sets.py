"""The figures on trained networks show several data sets: a rule is applied to each, and must hold on all of them."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of

SETS = {"paper": ("MNIST", "CIFAR-10", "SVHN"), "quick": ("digits",)}  # by scale


def on_each_data_set(rows: Rows, rule: Callable[[Rows], Finding], only: tuple[str, ...] = ("",)) -> Finding:
    """The rule on every data set, or on those whose names begin with one of ``only``.

    A control on another data set is judged on its own data set. At the quick scale the only data set is digits.
    """
    cases = named(rows.case.tolist(), only)
    findings = {case: rule(rows.where(case=case)) for case in cases}
    measured = "; ".join(f"{case}: {finding.measured}" for case, finding in findings.items() if finding.measured)
    return replace(all_of(**findings), measured=measured)


def named(cases: Iterable[str], only: tuple[str, ...]) -> list[str]:
    """The different cases whose names begin with one of ``only``; all of them where none does."""
    different = list(dict.fromkeys(cases))
    return [case for case in different if case.startswith(only)] or different
