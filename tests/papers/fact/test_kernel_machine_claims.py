"""Paper C's claims on kernel machines: measurements with a known answer, and rules on planted tables."""

import numpy as np
import pandas as pd
import pytest
import torch

from gramlab import tables
from gramlab.files import BadInput
from gramlab.streams import stream
from tasks.judging.rows import Rows
from tasks.papers.fact.claims import c_fig1, c_fig5, c_fig6, c_fig7, c_tab3
from tasks.papers.fact.experiments.c_modular import circulancy
from tasks.papers.fact.experiments.shared.classification_tables import data_sets


def test_circulancy():
    p = 13
    draw = stream("circulancy", p)
    i = torch.arange(p)
    line = lambda: torch.from_numpy(draw.normal(size=p))  # noqa: E731
    minus, plus = line()[(i[:, None] - i) % p], line()[(i[:, None] + i) % p]
    blocks = torch.cat([torch.cat([minus, plus], 1), torch.cat([plus, minus], 1)])
    assert circulancy(blocks + torch.diag(torch.arange(2.0 * p, dtype=blocks.dtype))) == pytest.approx(1)
    random = [circulancy(torch.from_numpy(draw.normal(size=(2 * p, 2 * p)))) for _ in range(20)]
    assert np.mean(random) < 2.5 / p
    assert circulancy(torch.eye(2 * p, dtype=torch.float64)) == 0


def transition(start: int, mass: float = 0.8) -> Rows:
    """Test accuracy rises at iterate ``start``; the training set is fitted from iterate 1 on."""
    records = [
        {"seed": seed, "x": step, "quantity": f"transition/{name}", "value": value + 0.001 * seed * step}
        for seed in range(4)
        for step in range(8)
        for name, value in (
            ("accuracy", 0.95 if step >= start else 0.5),
            ("train accuracy", 0.99 if step else 0.8),
            ("mass", mass if step >= start else 0.2),
        )
    ]
    return Rows(tables.table(records))


def test_a_phase_transition_needs_a_delay_and_the_support():
    assert c_fig1.rule(transition(4)).holds
    assert not c_fig1.rule(transition(1)).holds  # learned as soon as fitted
    assert not c_fig1.rule(transition(9)).holds  # never learned
    assert not c_fig1.rule(transition(4, mass=0.3)).holds


@pytest.mark.parametrize("degrees", [(2, 3), (2, 3, 4)])
def test_the_degrees_that_ran_are_named(degrees):
    records = [
        {"case": f"k = {k}, {update}", "seed": seed, "quantity": f"parity/chosen {name}", "value": value - 0.01 * seed}
        for k in degrees for update in ("FACT-RFM", "NFA-RFM") for seed in range(3)
        for name, value in (("mass", 0.7), ("accuracy", 0.99))
    ]  # fmt: skip
    finding = c_fig5.rule(Rows(tables.table(records)))
    assert finding.holds
    assert (
        finding.measured == f"k = {', '.join(map(str, degrees))}: on average 0.69 or more of the trace on the support"
    )


def test_table_3_counts_its_data_sets():
    methods = {"kernel": 0.82, "NFA-RFM": 0.85, "FACT-RFM": 0.852, "FACT-RFM, averaged": 0.851}
    records = [
        {"case": f"set {index}", "seed": index, "layer": method, "scale": "paper", "quantity": "tabular/accuracy",
         "value": value + 0.001 * (index % 3) + 0.001 * (index % 2) * (method == "kernel")}
        for index in range(12) for method, value in methods.items()
    ]  # fmt: skip
    finding = c_tab3.rule(Rows(tables.table(records)))
    assert finding.holds
    assert finding.measured.startswith("12 of 120 data sets: FACT-RFM 85.30 %, FACT-RFM, averaged 85.20 %")
    assert "over 12 data sets" in finding.rule
    assert "seeds" not in finding.rule


def addition(best: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0), late: int = 6, circulant: float = 0.9,
             fitted: float = 1.0) -> Rows:  # fmt: skip
    """Both machines fit at iterate 2 and reach their best test accuracy, by seed, some iterates later."""
    records = [
        {"case": case, "seed": seed, "x": step, "quantity": f"modular/{name}", "value": value}
        for case in ("FACT-RFM", "NFA-RFM")
        for seed, top in enumerate(best)
        for step in range(10)
        for name, value in (
            ("accuracy", top if step == 2 + late + seed % 2 else 0.96 if step > 2 + late else 0.1),
            ("train accuracy", fitted if step >= 2 else 0.5),
            ("circulancy", circulant + 0.01 * seed),
        )
    ]
    return Rows(tables.table(records))


def test_modular_addition_reaches_the_entire_table():
    assert c_fig6.rule(addition()).holds
    mixed = c_fig6.rule(addition((1.0, 0.99, 1.0, 0.999)))  # all above 95 %
    assert mixed.holds is None
    assert mixed.measured.startswith("FACT-RFM reaches 100 % in 2 of 4 seeds, at least 99 %")
    assert c_fig6.rule(addition((0.99, 0.98, 0.99, 0.999))).holds is False
    assert not c_fig6.rule(addition(late=0, best=(1.0,) * 4)).holds  # in most seeds no delay
    assert c_fig6.rule(addition(circulant=0.2)).holds is False
    assert not c_fig6.rule(addition(fitted=0.9)).holds  # no delay without a fit


def test_a_proportional_line_goes_through_the_origin():
    x = np.linspace(1, 2, 50)
    assert c_fig7.r_squared(x, 3 * x) == pytest.approx(1)
    assert c_fig7.r_squared(x, 3 * x - 6) < 0  # a line, but not a proportional one


ROWS = "1.5,red,yes\n?,blue,no\n2.5,red,no\n3.5,,yes\n"
ARFF = "@relation r\n@attribute a numeric\n@attribute b {red,blue}\n@attribute c {yes,no}\n@data\n"


def test_three_file_formats_hold_the_same_data_set(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAMLAB_DATA", str(tmp_path))
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "a.arff").write_text(ARFF + ROWS.replace(",,", ",?,"))
    (tmp_path / "sets" / "b.csv").write_text("a,b,c\n" + ROWS.replace("?", ""))
    frame = pd.DataFrame({"y": [1, 0, 0, 1], "a": [1.5, None, 2.5, 3.5], "b": ["red", "blue", "red", None]})
    frame.to_parquet(tmp_path / "sets" / "c.parquet")
    (tmp_path / "sets" / "notes.txt").write_text("no table")
    a = np.array([-1, 0, 0, 1]) / np.std([1.5, 2.5, 3.5])  # a missing number is the mean
    for name, x, labels in data_sets("sets", 4):
        assert name in "abc"
        assert np.unique(labels, return_inverse=True)[1].tolist() == [1, 0, 0, 1]
        assert x[:, 0].tolist() == pytest.approx(a.tolist())
        assert x[:, 2].tolist() == pytest.approx([1, -1, 1, -1])  # red
    assert not list(data_sets("sets", 3))  # each table has four rows


def test_a_missing_folder_is_refused_and_not_replaced(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAMLAB_DATA", str(tmp_path))
    with pytest.raises(BadInput, match="uci: no such folder"):
        list(data_sets("uci", 10))
    assert [name for name, *_ in data_sets(None, 10)][:2] == ["iris", "wine"]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", "a,y\n1,0\n2,0\n", "at least two classes"),
        ("a.csv", "a,y\n1,0\n2,\n3,1\n", "one in every row"),
        ("a.csv", "y\n0\n1\n", "beside the classes"),
        ("a.csv", "", "not a readable table"),
        ("a.arff", "@relation r\n@attribute a string\n@data\nx\n", "not a readable table"),
        ("a.parquet", "no Parquet", "not a readable table"),
        ("a.txt", "", "no .parquet, .arff, .csv files"),
    ],
)
def test_unusable_tables_are_named(tmp_path, monkeypatch, name, content, says):
    monkeypatch.setenv("GRAMLAB_DATA", str(tmp_path))
    (tmp_path / name).write_text(content)
    with pytest.raises(BadInput, match=says):
        list(data_sets("", 10))
