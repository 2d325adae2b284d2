"""Numbers that the paper prints next to a claim: tested and reported, but the claim does not depend on them."""

from collections.abc import Mapping
from dataclasses import replace

from tasks.judging.rules import Finding, all_of


def with_printed_levels(finding: Finding, levels: Mapping[str, Finding]) -> Finding:
    """Add the part ``levels_as_printed`` to a finding, and leave whether the finding holds unchanged.

    The evidence becomes "matches print" only if the finding holds and equals every printed level.
    """
    all_levels = all_of(**levels)
    measured = [finding.measured]
    if equal := [name for name, level in levels.items() if level.holds]:
        measured.append(f"levels as printed: {', '.join(equal)}")
    if not_equal := [name for name, level in levels.items() if not level.holds]:
        measured.append(f"levels not shown to equal the print: {', '.join(not_equal)}")
    return replace(
        finding,
        evidence=all_levels.evidence if finding.holds and all_levels.holds else finding.evidence,
        parts={**finding.parts, "levels_as_printed": all_levels},
        measured="; ".join(measured),
    )
