"""Data sets in files: equal bytes for equal settings, written whole or not at all, and refused if damaged."""

import os
import resource
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from safetensors.torch import save_file

from gramlab.data import DataError, DataSet, prepare, save_sets
from gramlab.files import sha256

SETS = {
    "modular": {"modulus": 11, "random_labels": 0.5},
    "fact_population": {},
    "chain_monomial": {"samples": 99, "dimension": 9, "rank": 3, "decay": 1},
}


def test_the_same_settings_give_the_same_bytes_in_every_process(tmp_path):
    code = (
        "import sys; from pathlib import Path; from gramlab.data import prepare, save_sets\n"
        f"sets = {{source: prepare(source, Path(), **options) for source, options in {SETS}.items()}}\n"
        "for source, data in sets.items():\n"
        "    data.save(Path(sys.argv[1], source))\n"
        "save_sets(Path(sys.argv[1], 'several'), sets)"
    )
    hashes = []
    for process in range(2):
        environment = {**os.environ, "PYTHONHASHSEED": str(process)}
        subprocess.run([sys.executable, "-c", code, str(tmp_path / str(process))], env=environment, check=True)
        hashes.append([sha256(tmp_path / str(process) / name) for name in (*SETS, "several")])
    assert hashes[0] == hashes[1]


def test_each_of_several_sets_in_one_file_is_loaded_by_name(tmp_path):
    sets = {source: prepare(source, tmp_path, **options) for source, options in SETS.items()}
    save_sets(tmp_path / "all.safetensors", sets)
    for name, data in sets.items():
        data.save(tmp_path / "once.safetensors")
        DataSet.load(tmp_path / "all.safetensors", name).save(tmp_path / "again.safetensors")
        assert sha256(tmp_path / "once.safetensors") == sha256(tmp_path / "again.safetensors")
    for part in ("", "digits"):
        with pytest.raises(DataError, match=rf"all\.safetensors: not a readable data set .*{part}"):
            DataSet.load(tmp_path / "all.safetensors", part)


@pytest.mark.parametrize(
    ("source", "options"),
    [("fact_population", {}), ("sparse_parity", {"samples": 9, "dimension": 5, "degree": 2}), ("digits", {"train": 9})],
)
def test_a_loaded_data_set_equals_the_saved_one(tmp_path, source, options):
    data = prepare(source, tmp_path, **options)
    data.save(tmp_path / "set.safetensors")
    again = DataSet.load(tmp_path / "set.safetensors")
    for name in ("x_train", "y_train", "x_test", "y_test", "weight_train", "clean_train"):
        a, b = getattr(data, name), getattr(again, name)
        assert (a is None and b is None) or (a.dtype == b.dtype and torch.equal(a, b))
    for name in ("source", "classes", "factor", "metadata"):
        assert getattr(data, name) == getattr(again, name)


def test_a_full_disk_leaves_the_earlier_file(tmp_path):
    """RLIMIT_FSIZE makes a write fail half-way, as a full disk does."""
    path = tmp_path / "set.safetensors"
    prepare("digits", tmp_path, train=20, test=5).save(path)
    before = path.read_bytes()
    code = (
        "import sys; from pathlib import Path; from gramlab.data import DataError, prepare\n"
        "try: prepare('digits', Path()).save(Path(sys.argv[1]))\n"
        "except DataError as error: print(error)"
    )

    def limit_file_size():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    command = [sys.executable, "-c", code, str(path)]
    process = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit_file_size)
    assert process.returncode == 0, process.stderr
    assert process.stdout.startswith(f"{path}: could not be written (")
    assert process.stdout.count("\n") == 1
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_file_in_place_of_the_folder_is_a_clear_error(tmp_path):
    (tmp_path / "sets").write_text("a file where a folder should be")
    with pytest.raises(DataError, match=r"set\.safetensors: could not be written"):
        prepare("digits", tmp_path, train=20).save(tmp_path / "sets" / "set.safetensors")


@pytest.mark.parametrize("damage", ["empty", "half", "text", "foreign", "short"])
def test_a_damaged_file_is_named(tmp_path, damage):
    path = tmp_path / "set.safetensors"
    data = prepare("digits", tmp_path, train=20, test=5)
    data.save(path)
    if damage == "foreign":  # safetensors, but no data set
        save_file({"x": torch.zeros(2)}, path)
    elif damage == "short":  # a data set without its targets
        save_file({"x_train": data.x_train}, path, {"dataset": '{"source": "digits"}'})
    else:
        path.write_bytes({"empty": b"", "half": path.read_bytes()[:900], "text": b"x,y\n1,2\n"}[damage])
    with pytest.raises(DataError, match=r"set\.safetensors: not a readable data set") as error:
        DataSet.load(path)
    assert "\n" not in str(error.value)
    with pytest.raises(DataError, match=r"absent\.safetensors: not a readable data set"):
        DataSet.load(tmp_path / "absent.safetensors")


def test_inconsistent_data_sets_are_refused():
    data = prepare("fact_population", ".")
    x, w = data.x_train, data.weight_train
    for change, says in (
        ({"weight_train": w[:5]}, "the weights must be 81 numbers"),
        ({"weight_train": 2 * w}, "with sum 1"),
        ({"weight_train": torch.cat([-w[:1], w[1:]])}, "none negative"),
        ({"y_train": data.y_train[:5]}, "81 train samples but 5 targets"),
        ({"x_train": x.clone().index_fill_(0, torch.tensor([3]), float("nan"))}, "train sample 3 is not finite"),
        ({"y_train": torch.ones(81).index_fill_(0, torch.tensor([7]), float("inf"))}, "train target 7 is not finite"),
        ({"x_train": x[:0], "y_train": data.y_train[:0], "weight_train": None}, "no training samples"),
        ({"classes": 3}, "the train targets must be one integer class per sample"),
        ({"clean_train": torch.zeros(3)}, "81 training samples but 3 clean labels"),
    ):
        with pytest.raises(DataError, match=says):
            replace(data, **change)


def test_numbers_leaves_the_stored_samples_unchanged():
    data = prepare("sparse_parity", ".", samples=5, dimension=4, degree=2)
    for stored in (data.x_train, data.x_train.double()):
        before = stored.clone()
        numbers = data.scaled(stored, torch.float64)
        assert numbers.dtype == torch.float64
        assert torch.equal(numbers, before.double() * 0.5)
        assert torch.equal(stored, before)
