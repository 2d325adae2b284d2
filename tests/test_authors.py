"""The comparison with the authors' code, on made-up checkouts: what it takes, what it measures, what it believes."""

import json
import subprocess
from dataclasses import asdict

import numpy as np
import pytest
import torch

from benchmarks.authors.__main__ import comparisons, write
from benchmarks.authors.checkout import Checkout
from benchmarks.authors.comparison import Comparison, Functions
from benchmarks.authors.gramlin import linearity
from benchmarks.authors.subject import network, subject

MODULE = """
import torch, a_library_that_is_not_here
from . import nothing
raise SystemExit("the file itself must not run")

def doubled(x: nothing.Annotation) -> torch.Tensor:
    return shift(x.cuda().to("cuda")) * 2

def shift(x):
    return x + OFFSET

class Holder:
    value = 3
"""
LEAST_SQUARES = """
import numpy as np

def target_linearity(Y, H):
    Y, H = Y.numpy(), H.numpy()
    fitted = H @ np.linalg.lstsq(H, Y, rcond=None)[0]
    return 1 - ((Y - fitted) ** 2).sum() / ((Y - Y.mean(0)) ** 2).sum()
"""


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "made_up").mkdir()
    (tmp_path / "made_up/code.py").write_text(MODULE)
    return Checkout(tmp_path / "made_up")


def test_functions_are_taken_out_of_a_file_and_run_on_the_cpu(checkout):
    taken = checkout.take("code.py", "doubled", "shift", "Holder", OFFSET=1)
    assert torch.equal(taken.doubled(torch.tensor([1.0, 2.0])), torch.tensor([4.0, 6.0]))
    assert taken.Holder.value == 3
    with pytest.raises(LookupError, match=r"made_up/code.py does not define halved"):
        checkout.take("code.py", "halved")


def test_the_commit_is_that_of_the_checkout_alone(checkout):
    assert checkout.commit == ""
    for arguments in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "A"],
    ):
        subprocess.run(["git", "-C", checkout.folder, *arguments], check=True)
    commit = Checkout(checkout.folder).commit
    assert len(commit) == 40
    (checkout.folder / "code.py").write_text(MODULE + "#")
    assert Checkout(checkout.folder).commit == commit + "+"
    (checkout.folder / "part").mkdir()
    assert Checkout(checkout.folder / "part").commit == ""  # the repository around it is another


def test_a_difference_is_of_entries_and_a_cause_is_tested(checkout):
    ours = np.array([[3.0, 0.0], [0.0, -4.0]])
    same = Functions(checkout, "f", "g").compare("M", ours, ours)
    assert (same.their_value, same.our_value, same.difference, same.rest, same.explained) == (5, 5, 0, 0, True)
    double = Functions(checkout, "f", "g").compare("M", torch.tensor(2 * ours), ours, "They double.", 2 * ours)
    assert (double.their_value, double.difference, double.rest, double.explained) == (10, 1, 0, True)
    wrong = Functions(checkout, "f", "g").compare("M", 2 * ours, ours, "They halve.", ours / 2)
    assert (wrong.rest, wrong.explained) == (3, False)
    assert not Functions(checkout, "f", "g").compare("M", 2 * ours, ours).explained
    near = ours + np.diag([0, 4e-8])
    assert not Functions(checkout, "f", "g").compare("M", near, ours).explained
    assert Functions(checkout, "f", "g").compare("M", near, ours, allowed=1.1e-8).explained
    trace = Functions(checkout, "f", "g").compare("M", [[-1.0]], ours, "The trace.", -1.0)
    assert (trace.their_value, trace.difference, trace.rest) == (-1, None, 0)
    assert not Functions(checkout, "f", "g").compare("M", [[float("nan")]], 1.0).explained
    with pytest.raises(ValueError, match="a cause is tested"):
        Functions(checkout, "f", "g").compare("M", ours, ours, "For no reason.")


def test_code_that_cannot_run_is_recorded_and_code_that_can_is_not(checkout):
    taken = checkout.take("code.py", "doubled", "shift", OFFSET=1)
    row = Functions(checkout, "code.py: shift", "g").broken("M", lambda: taken.shift(), 2.0, "It stops.")
    assert (row.their_value, row.difference, row.rest, row.explained) == (None, None, None, True)
    assert row.cause.startswith("It stops. (TypeError: shift() missing")
    with pytest.raises(RuntimeError, match="made_up, f runs"):
        Functions(checkout, "f", "g").broken("M", lambda: taken.shift(1.0), 2.0, "It stops.")


def test_causes_are_not_found_in_code_without_them(tmp_path):
    """A right implementation agrees where theirs differs, and the causes of theirs do not explain its values."""
    (tmp_path / "GramLin/src").mkdir(parents=True)
    (tmp_path / "GramLin/src/metric.py").write_text(LEAST_SQUARES)
    rows = list(linearity(Checkout(tmp_path / "GramLin"), subject(per_class=30, steps=5)))
    assert max(row.difference for row in rows) < 1e-9
    assert [row.explained for row in rows if row.cause] == [False] * 3
    assert all(row.explained for row in rows if not row.cause)


def test_the_subject_is_balanced_and_trained():
    prepared = subject(per_class=20, steps=50)
    assert prepared.labels.bincount().tolist() == [20] * 10
    assert len(set(prepared.uneven_labels.bincount().tolist())) > 1
    models = (prepared.model(), network(prepared.initial))
    losses = [torch.nn.functional.mse_loss(model(prepared.x), prepared.targets) for model in models]
    assert losses[0] < losses[1] / 2


def test_the_table_is_written_as_the_report_reads_it(checkout, tmp_path):
    with pytest.raises(SystemExit, match="has none of GramLin"):
        list(comparisons(tmp_path))
    row = Functions(checkout, "f", "g").compare("M", 2.0, 1.0, "They double.", 2.0)
    write(tmp_path / "authors.json", [row])
    (read,) = json.loads((tmp_path / "authors.json").read_text())["comparisons"]
    assert read.pop("explained") is True
    assert Comparison(**read) == row
    assert read == asdict(row)
