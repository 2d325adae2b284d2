"""One rule on several networks: the finding is that of the weakest network."""

from collections.abc import Sequence
from dataclasses import replace

from tasks.judging.rules import Finding, all_of


def weakest_of(findings: Sequence[Finding]) -> Finding:
    """The joint finding of one rule on several networks or layers, stated once."""
    joint = all_of(**{str(index): finding for index, finding in enumerate(findings)})
    return replace(joint, rule=findings[0].rule, numbers={})
