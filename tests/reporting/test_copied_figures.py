"""The report's folder of figures has the figures of the claims that were run, and no others."""

from tasks.report import copy_figures
from tasks.stage import Stage


def test_figures_of_other_claims_are_removed(tmp_path):
    stage = Stage("report", "", "quick")
    stage.data, stage.reports = tmp_path / "data", tmp_path / "reports"
    for folder in (stage.data / "figures", stage.reports / "figures"):
        folder.mkdir(parents=True)
    for key in ("a_fig3", "a_fig8"):
        stage.figure(key).write_text(key)
    (stage.reports / "figures" / "a_gone.svg").write_text("old")
    (stage.reports / "figures" / "a_fig3.svg").write_text("old")
    copy_figures(stage, [{"key": "a_fig3"}])
    figures = {path.name: path.read_text() for path in (stage.reports / "figures").iterdir()}
    assert figures == {"a_fig3.svg": "a_fig3"}
