"""What the experiments on kernel machines measure, on matrices and curves of which the answer is known."""

import numpy as np
import pandas as pd
import pytest
import torch

from gramlab import tables
from gramlab.files import BadInput
from gramlab.streams import stream
from tasks.judging.rules import Rows
from tasks.papers.fact.claims import c_fig1, c_fig5, c_fig6, c_fig7, c_tab3
from tasks.papers.fact.experiments.c_modular import circulancy
from tasks.papers.fact.experiments.c_tabular import tables as tables_of


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
    """Test accuracy that rises at iterate ``start``, of a training set fitted from iterate 1 on."""
    made = [
        {"seed": seed, "x": step, "quantity": f"transition/{what}", "value": value + 0.001 * seed * step}
        for seed in range(4)
        for step in range(8)
        for what, value in (
            ("accuracy", 0.95 if step >= start else 0.5),
            ("train accuracy", 0.99 if step else 0.8),
            ("mass", mass if step >= start else 0.2),
        )
    ]
    return Rows(tables.table(made))


def test_a_phase_transition_needs_a_delay_and_the_support():
    assert c_fig1.rule(transition(4)).holds
    assert not c_fig1.rule(transition(1)).holds  # learned as soon as fitted
    assert not c_fig1.rule(transition(9)).holds  # never learned
    assert not c_fig1.rule(transition(4, mass=0.3)).holds


@pytest.mark.parametrize("degrees", [(2, 3), (2, 3, 4)])
def test_the_parities_that_were_run_are_named(degrees):
    made = [
        {"case": f"k = {k}, {update}", "seed": seed, "quantity": f"parity/chosen {what}", "value": value - 0.01 * seed}
        for k in degrees for update in ("FACT-RFM", "NFA-RFM") for seed in range(3)
        for what, value in (("mass", 0.7), ("accuracy", 0.99))
    ]  # fmt: skip
    found = c_fig5.rule(Rows(tables.table(made)))
    assert found.holds
    assert found.measured == f"k = {', '.join(map(str, degrees))}: on average 0.69 or more of the trace on the support"


def test_table_3_is_over_data_sets_and_says_how_many():
    methods = {"kernel": 0.82, "NFA-RFM": 0.85, "FACT-RFM": 0.852, "FACT-RFM, averaged": 0.851}
    made = [
        {"case": f"set {index}", "seed": index, "layer": method, "scale": "paper", "quantity": "tabular/accuracy",
         "value": value + 0.001 * (index % 3) + 0.001 * (index % 2) * (method == "kernel")}
        for index in range(12) for method, value in methods.items()
    ]  # fmt: skip
    found = c_tab3.rule(Rows(tables.table(made)))
    assert found.holds
    assert found.measured.startswith("12 of 120 data sets: FACT-RFM 85.30 %, FACT-RFM, averaged 85.20 %")
    assert "over 12 data sets" in found.rule
    assert "seeds" not in found.rule


def addition(best: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0), late: int = 6, circulant: float = 0.9,
             fitted: float = 1.0) -> Rows:  # fmt: skip
    """Both machines fit at iterate 2 and reach their best test accuracy, by seed, some iterates later."""
    made = [
        {"case": case, "seed": seed, "x": step, "quantity": f"modular/{what}", "value": value}
        for case in ("FACT-RFM", "NFA-RFM")
        for seed, top in enumerate(best)
        for step in range(10)
        for what, value in (
            ("accuracy", top if step == 2 + late + seed % 2 else 0.96 if step > 2 + late else 0.1),
            ("train accuracy", fitted if step >= 2 else 0.5),
            ("circulancy", circulant + 0.01 * seed),
        )
    ]
    return Rows(tables.table(made))


def test_modular_addition_reaches_all_of_the_table():
    assert c_fig6.rule(addition()).holds
    some = c_fig6.rule(addition((1.0, 0.99, 1.0, 0.999)))  # all above 95 %
    assert some.holds is None
    assert some.measured.startswith("FACT-RFM reaches 100 % in 2 of 4 seeds, at least 99 %")
    assert c_fig6.rule(addition((0.99, 0.98, 0.99, 0.999))).holds is False
    assert not c_fig6.rule(addition(late=0, best=(1.0,) * 4)).holds  # in most seeds no delay
    assert c_fig6.rule(addition(circulant=0.2)).holds is False
    assert not c_fig6.rule(addition(fitted=0.9)).holds  # what is never fitted has no delay after it


def test_a_proportional_line_goes_through_the_origin():
    x = np.linspace(1, 2, 50)
    assert c_fig7.r_squared(x, 3 * x) == pytest.approx(1)
    assert c_fig7.r_squared(x, 3 * x - 6) < 0  # a line, but not a proportional one


ROWS = "1.5,red,yes\n?,blue,no\n2.5,red,no\n3.5,,yes\n"
ARFF = "@relation r\n@attribute a numeric\n@attribute b {red,blue}\n@attribute c {yes,no}\n@data\n"


def test_tables_of_three_kinds_are_one_data_set(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAMLAB_DATA", str(tmp_path))
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "a.arff").write_text(ARFF + ROWS.replace(",,", ",?,"))
    (tmp_path / "sets" / "b.csv").write_text("a,b,c\n" + ROWS.replace("?", ""))
    frame = pd.DataFrame({"y": [1, 0, 0, 1], "a": [1.5, None, 2.5, 3.5], "b": ["red", "blue", "red", None]})
    frame.to_parquet(tmp_path / "sets" / "c.parquet")
    (tmp_path / "sets" / "notes.txt").write_text("no table")
    a = np.array([-1, 0, 0, 1]) / np.std([1.5, 2.5, 3.5])  # what is missing is the mean
    for name, x, labels in tables_of("sets", 4):
        assert name in "abc"
        assert np.unique(labels, return_inverse=True)[1].tolist() == [1, 0, 0, 1]
        assert x[:, 0].tolist() == pytest.approx(a.tolist())
        assert x[:, 2].tolist() == pytest.approx([1, -1, 1, -1])  # red
    assert not list(tables_of("sets", 3))  # each has more rows than that


def test_a_folder_that_is_not_there_is_no_toy_data(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAMLAB_DATA", str(tmp_path))
    with pytest.raises(BadInput, match="uci: no such folder"):
        list(tables_of("uci", 10))
    assert [name for name, *_ in tables_of(None, 10)][:2] == ["iris", "wine"]


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
def test_tables_that_cannot_be_used_are_named(tmp_path, monkeypatch, name, content, says):
    monkeypatch.setenv("GRAMLAB_DATA", str(tmp_path))
    (tmp_path / name).write_text(content)
    with pytest.raises(BadInput, match=says):
        list(tables_of("", 10))
