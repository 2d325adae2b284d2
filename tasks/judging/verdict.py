"""From the findings of a paper to the verdicts on its claims.

holds            the rule supports the printed claim and rejects every control
holds corrected  the rule supports only the corrected form, and rejects every control
fails            the rule refutes the claim, whatever the controls do
inconclusive     the interval decides nothing, a control is not rejected, or Holm's correction leaves no significance
"""

from typing import Any

ALPHA = 0.025  # one-sided, as the 95 % intervals are


def judge(findings: dict[str, dict[str, Any]], waiting: int = 0) -> dict[str, dict[str, Any]]:
    """The verdicts on the claims of one paper by key, after Holm's correction over its p-values.

    Each of the ``waiting`` claims, which have not run, counts as a test; a claim with a corrected form counts twice,
    for it has two chances. So a later run changes other verdicts only if it adds a corrected form. A claim whose
    printed form does not survive, and whose corrected form is supported, is judged by the corrected form.
    """
    claims = {key: {**finding, "verdict": uncorrected(finding)} for key, finding in findings.items() if finding["ran"]}
    tested = [claim for claim in claims.values() if claim["p"] is not None]
    count = sum(2 if claim["corrected form"] else 1 for claim in tested) + waiting + len(findings) - len(claims)
    correct_p(tested, count)
    lost = [claim for claim in tested if claim["verdict"] == "holds" and claim["p, Holm"] > ALPHA]
    for claim in lost:
        if (corrected := claim["corrected form"]) and corrected["holds"]:
            names = ("statistic", "low", "high", "p", "rule", "numbers", "evidence", "measured", "part")
            claim.update({name: corrected[name] for name in names}, verdict="holds corrected")
            claim["printed form"]["holds"] = None
    correct_p(tested, count)
    for claim in tested:
        if claim["verdict"].startswith("holds") and claim["p, Holm"] > ALPHA:
            claim["verdict"] = "inconclusive"
            claim["rule"] += f"; not significant after Holm's correction over {count} forms of the paper's claims"
    for claim in claims.values():
        for name in ("ran", "holds", "form"):
            del claim[name]
    return claims


def uncorrected(finding: dict[str, Any]) -> str:
    """The verdict before Holm's correction."""
    if not finding["holds"]:
        return "fails" if finding["holds"] is False else "inconclusive"
    if not finding["control"]["rejected"]:
        return "inconclusive"
    return "holds corrected" if finding["form"] == "corrected" else "holds"


def correct_p(tested: list[dict[str, Any]], count: int) -> None:
    """Holm's step-down p-values of ``count`` tests, written into the claims as ``p, Holm``."""
    adjusted = 0.0
    for rank, claim in enumerate(sorted(tested, key=lambda claim: claim["p"])):
        adjusted = max(adjusted, min(1.0, (count - rank) * claim["p"]))
        claim["p, Holm"] = adjusted
