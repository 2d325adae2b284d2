"""How a recorder starts, stops and starts again, and what it refuses."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from recordings import DECAY, data, network, recorder
from torch.nn import functional as F

import gramlab
from gramlab import tables

torch.set_num_threads(1)


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=DECAY)


def test_misuse_is_refused(tmp_path):
    for every in (0, 2.5, "5"):
        with pytest.raises(ValueError, match=f"every must be a whole number of at least 1, not {every!r}"):
            recorder(network(), tmp_path / "t", every=every)
    with pytest.raises(ValueError, match="at must be a sequence of steps, not 3"):
        recorder(network(), tmp_path / "t", at=3)
    for step in (2.5, -1, "5"):
        with pytest.raises(ValueError, match=f"a step of at must be a whole number of at least 0, not {step!r}"):
            recorder(network(), tmp_path / "t", at=[4, step])
    with pytest.raises(ValueError, match=r"is the folder .*: name the Parquet file"):
        recorder(network(), tmp_path)
    with pytest.raises(ValueError, match="read only once"):
        gramlab.Recorder(network(), iter([data()]), None, tmp_path / "t")
    with pytest.raises(ValueError, match=r"the first ones are \['0', "):
        recorder(network(), tmp_path / "t", layers="7")
    with pytest.raises(RuntimeError, match="begin"):
        recorder(network(), tmp_path / "t").step()
    with pytest.raises(AttributeError):
        _ = recorder(network(), tmp_path / "t").callback().training


def test_labels_and_path_are_checked_before_the_training(tmp_path):
    """A table that cannot be written would lose its numbers at the end."""
    (tmp_path / "file").write_text("")
    for options in ({"seed": 3_000_000_000}, {"seed": "a"}, {"case": 3}, {"experiment": None}, {"seed": 0.5}):
        with pytest.raises(ValueError, match=f"{next(iter(options))} (is|must be) "):
            recorder(network(), tmp_path / "t", **options)
    with pytest.raises(ValueError, match=r"cannot be written: .*file is no folder"):
        recorder(network(), tmp_path / "file" / "below" / "t")
    for name in ("a" * 300, "a" * 250):  # the second is too long with what is added while the table is written
        with pytest.raises(ValueError, match=r"a{250} cannot be written: File name too long$"):
            recorder(network(), tmp_path / name)
    recording = recorder(network(), tmp_path / "a" / "new" / "folder" / "t", seed=np.int64(3))
    recording.begin()
    recording.write()
    assert set(tables.read(recording.path).column("seed").to_pylist()) == {3}


def test_nothing_is_written_before_the_beginning(tmp_path):
    """An empty table would be in the way of the next run."""
    recording = recorder(network(), tmp_path / "t")
    with pytest.raises(RuntimeError, match=r"write\(\) comes before begin\(\), so that nothing is measured .* attach"):
        recording.write()
    assert not list(tmp_path.iterdir())
    recording.begin()
    assert {row["step"] for row in tables.read(recording.write()).to_pylist()} == {0}


def test_two_recorders_of_one_path_do_not_overwrite_each_other(tmp_path):
    """Both are made before either of them writes, when the file does not exist yet."""
    first, second, third = (recorder(network(seed), tmp_path / "t", seed=seed) for seed in (1, 2, 3))
    for recording in (first, second):
        recording.begin()
    first.write()
    first.write()  # its own table, once more
    with pytest.raises(
        ValueError, match=r"t has the table of another recorder, .*: give each recorder a path of its own"
    ):
        second.write()
    with pytest.raises(ValueError, match="has the table of another recorder"):
        second.write_without_measuring()
    with pytest.raises(ValueError, match="has the table of another recorder"):
        third.begin()
    assert set(tables.read(first.path).column("seed").to_pylist()) == {1}
    second.path = str(tmp_path / "second")
    assert set(tables.read(second.write()).column("seed").to_pylist()) == {2}
    first.path.unlink()
    third.begin()
    assert set(tables.read(third.write()).column("seed").to_pylist()) == {3}


@pytest.mark.parametrize("steps", [[1, 4], torch.tensor([1, 4]), np.array([1, 4]), [1.0, 4.0], {1, 4}])
def test_further_steps_of_any_type_are_measured(steps, tmp_path):
    model, (x, y) = network(), data()
    recording, optimizer = recorder(model, tmp_path / "t", every=100, at=steps), sgd(model)
    with recording.attach(optimizer):
        for _ in range(6):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    assert sorted({row["step"] for row in recording.rows}) == [0, 1, 4, 6]


def test_attaching_twice_is_refused(tmp_path):
    """Each step would count twice. After detach() it may follow again."""
    model = network()
    optimizer, recording = sgd(model), recorder(model, tmp_path / "t", every=1)
    recording.attach(optimizer)
    with pytest.raises(RuntimeError, match="attached to this optimizer already"):
        recording.attach(optimizer)
    recording.detach()
    recording.attach(optimizer)
    optimizer.step()
    assert recording.steps == 1


def error_after_a_first_step(before, after, rate, gradient):
    """‖P − WᵀW‖ / ‖WᵀW‖ after one step of SGD, where P = W₀ᵀW₀ − γ (W₀ᵀD + DᵀW₀) with D = g + λW₀."""
    W, W0 = after.double().numpy(), before.double().numpy()
    D = gradient.double().numpy() + DECAY * W0
    P = W0.T @ W0 - rate * (W0.T @ D + D.T @ W0)
    return np.linalg.norm(P - W.T @ W) / np.linalg.norm(W.T @ W)


def one_step(model, optimizer):
    x, y = data()
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()


def test_accumulated_fact_is_not_taken_up_after_a_gap(tmp_path):
    """P lacks the steps after detach(); before them it is measured as ever."""
    model = network()
    before, optimizer = model[0].weight.detach().clone(), sgd(model)
    recording = recorder(model, tmp_path / "t", accumulate=True).attach(optimizer)
    one_step(model, optimizer)
    expected = error_after_a_first_step(before, model[0].weight.detach(), 0.1, model[0].weight.grad)
    recording.detach()
    recording.write()
    one_step(model, optimizer)
    callback, trainer = recording.callback(), SimpleNamespace(optimizers=[optimizer], global_step=2)
    for go_on in (lambda: recording.attach(optimizer), lambda: callback.on_train_start(trainer, model), recording.step):
        with pytest.raises(RuntimeError, match=r"after detach\(\) some may have gone by: make a new recorder"):
            go_on()
    one_step(model, optimizer)
    assert recording.steps == 1
    rows = {(row["step"], row["layer"], row["quantity"]): row["value"] for row in recording.rows}
    assert {step for step, *_ in rows} == {0, 1}
    assert rows[1, "0", "accumulated_fact_error"] == pytest.approx(expected, rel=1e-4)


def test_a_training_that_counts_from_0_again_needs_a_new_recorder(tmp_path):
    """A new trainer does; the table would have two rows for a step."""
    model = network()
    optimizer, recording = sgd(model), recorder(model, tmp_path / "t", every=1)
    hugging_face_start(recording, optimizer)
    one_step(model, optimizer)
    recording.callback().on_step_end(None, SimpleNamespace(global_step=1), None)
    recording.callback().on_train_end(
        SimpleNamespace(load_best_model_at_end=False), SimpleNamespace(global_step=1), None
    )
    rows = list(recording.rows)
    with pytest.raises(RuntimeError, match="has measured step 1, and this training begins at step 0: make a new"):
        hugging_face_start(recording, optimizer)
    assert recording.rows == rows
    assert not optimizer._optimizer_step_pre_hooks
    recording.callback().on_train_begin(None, SimpleNamespace(global_step=1), None, optimizer=optimizer)  # goes on


def hugging_face_start(recording, optimizer):
    state = SimpleNamespace(global_step=0)
    recording.callback().on_train_begin(object(), state, object(), optimizer=optimizer)


@pytest.mark.parametrize("start", [gramlab.Recorder.attach, hugging_face_start], ids=["attach", "hugging_face"])
def test_a_start_that_fails_leaves_nothing_behind(start, tmp_path):
    """The optimizer is without hooks, and with sound weights the same recorder starts from these."""
    model, (x, y) = network(), data()
    sound, optimizer = copy.deepcopy(model), sgd(model)
    recording = recorder(model, tmp_path / "t", every=100, accumulate=True)
    with torch.no_grad():
        model[0].weight.fill_(float("nan"))
    with pytest.raises(ValueError, match="holds a NaN"):
        start(recording, optimizer)
    hooks = (optimizer._optimizer_step_pre_hooks, optimizer._optimizer_step_post_hooks)
    assert [len(of_step) for of_step in hooks] == [0, 0]
    assert recording.accumulated is None
    with pytest.raises(RuntimeError, match=r"call begin\(\)"):
        recording.step()

    model.load_state_dict(sound.state_dict())
    start(recording, optimizer)
    one_step(model, optimizer)
    recording.measure_at(1)
    rows = {(row["step"], row["layer"], row["quantity"]): row["value"] for row in recording.rows}
    assert {step for step, *_ in rows} == {0, 1}
    m = gramlab.measure(model, x, y, loss="cross_entropy", initial=sound)["0"]
    assert rows[1, "0", "centered_nfa"] == pytest.approx(gramlab.cosine(m.centered_gram, m.centered_agop), rel=1e-9)
    expected = error_after_a_first_step(sound[0].weight.detach(), model[0].weight.detach(), 0.1, model[0].weight.grad)
    assert rows[1, "0", "accumulated_fact_error"] == pytest.approx(expected, rel=1e-4)
