"""The verdict of `gramlab claims run` on one claim, where the report does not have its paper's other claims yet."""

from flows import claims as command
from gramlab import tables
from tasks import papers
from tasks.judging.finding import find, number_asserted
from tasks.judging.rows import Rows
from tasks.settings import ROOT, load


def test_holms_correction_counts_the_statements_of_claims_that_no_report_has(monkeypatch):
    settings = load("quick")
    claim, experiment = papers.claim("fact", "c_fig8"), settings.claims["c_fig8"]
    table = tables.read(ROOT / "reports/quick/tables" / f"{experiment}.parquet")
    finding = find(claim, "C", Rows(table), experiment, "quick", tables.seeds(table))
    monkeypatch.setattr(command, "report", lambda scale: {})
    judged = command.judged({**finding, "experiment": experiment, "scale": "quick"}, "c_fig8", "quick")
    count = sum(number_asserted(papers.claim("fact", key)) for key in settings.claims_of("fact"))
    forms = [statement["forms"]["claim"] for statement in judged["statements"] if statement["kind"] == "asserted"]
    least = min(forms, key=lambda form: form["p"])
    assert count > 2 * len(settings.claims_of("fact"))
    assert least["p, Holm"] == min(1.0, count * least["p"])
