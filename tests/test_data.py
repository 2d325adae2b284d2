"""Data sets from every source, and what happens when they are not there or not sound."""

import io
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

from gramlab.data import DataError, DataSet, prepare
from tasks.prepare import main
from tasks.settings import read

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def image(value: int, size=(5, 4), mode="RGB") -> Image.Image:
    return Image.fromarray(np.full((*size, 3) if mode == "RGB" else size, value, np.uint8))


def encoded(value: int) -> bytes:
    stream = io.BytesIO()
    image(value).save(stream, "PNG")
    return stream.getvalue()


def test_digits_are_scikit_learns_split_by_class(tmp_path):
    from sklearn.datasets import load_digits

    data = prepare("digits", tmp_path)
    x, y = load_digits(return_X_y=True)
    assert (data.inputs, data.outputs, len(data.x_train) + len(data.x_test)) == (64, 10, 1797)
    rows = torch.cat([data.x_train, data.x_test]).flatten(1).numpy()
    assert sorted(map(tuple, rows.tolist())) == sorted(map(tuple, x.astype(int).tolist()))
    assert torch.equal(torch.bincount(torch.cat([data.y_train, data.y_test])), torch.bincount(torch.from_numpy(y)))
    assert data.scaled(data.x_train, torch.float64).max() == 1.0


def test_folder_of_images(tmp_path):
    for part, values in (("train", (10, 20)), ("test", (30,))):
        for name in ("cat", "dog"):
            for value in values:
                (tmp_path / "pets" / part / name).mkdir(parents=True, exist_ok=True)
                image(value).save(tmp_path / "pets" / part / name / f"{value}.png")
    data = prepare("folder", tmp_path, path="pets")
    assert data.x_train.shape == (4, 3, 5, 4)
    assert data.y_train.tolist() == [0, 0, 1, 1]
    assert data.metadata["classes"] == ["cat", "dog"]
    image(1, size=(6, 4)).save(tmp_path / "pets" / "train" / "dog" / "big.png")
    with pytest.raises(DataError, match=r"several sizes.*big\.png"):
        prepare("folder", tmp_path, path="pets")
    (tmp_path / "pets" / "train" / "dog" / "big.png").write_bytes(b"no image")
    with pytest.raises(DataError, match=r"big\.png: not a readable image"):
        prepare("folder", tmp_path, path="pets")


@pytest.mark.usefixtures("offline")
def test_recompressed_pictures_stand_in_for_what_cannot_be_had_and_the_stage_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GRAMLAB_DATA", str(tmp_path / "raw"))
    monkeypatch.setattr("tasks.stage.ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["prepare", "photos", "--scale", "paper"])
    (tmp_path / "raw").mkdir()
    with pytest.raises(SystemExit):
        main()
    assert "cifar10 is neither complete under" in capsys.readouterr().err
    for part, labels in (("train", [0, 1, 2]), ("test", [1])):
        cells = pa.array([encoded(10 * label) for label in labels])
        (tmp_path / "raw" / "cifar10-jpeg").mkdir(exist_ok=True)
        pq.write_table(
            pa.table({"image": cells, "label": pa.array(labels)}), tmp_path / f"raw/cifar10-jpeg/{part}.parquet"
        )
    main()
    data = DataSet.load(tmp_path / "data" / "paper" / "sets" / "photos.safetensors")
    assert (data.source, data.y_train.tolist()) == ("cifar10-jpeg", [0, 1, 2])
    assert json.loads((tmp_path / "data/paper/altered/photos.json").read_text()) == {"": "JPEG-recompressed"}
    assert "cifar10-jpeg, JPEG-recompressed, stands in" in capsys.readouterr().err


def test_several_sets_are_prepared_together(tmp_path, monkeypatch):
    raw = read()
    sets = {"ones": {"source": "digits", "classes": [0, 1]}, "faces": {"source": "svhn"}, "all": {"source": "digits"}}
    raw["data"]["photos"] = {"paper": {"sets": sets, "affordable": ["ones", "all"]}, "quick": {}}
    monkeypatch.setattr("tasks.settings.read", lambda: raw)
    monkeypatch.setattr("tasks.stage.ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["prepare", "photos", "--scale", "paper"])
    main()
    file = tmp_path / "data" / "paper" / "sets" / "photos.safetensors"
    assert [DataSet.load(file, name).classes for name in ("ones", "all")] == [2, 10]
    with pytest.raises(ValueError, match="faces"):
        DataSet.load(file, "faces")


def test_parquet_of_images(tmp_path):
    for part, labels in (("train", [0, 1, 2]), ("test", [1])):
        cells = pa.array([encoded(10 * label) for label in labels])
        pq.write_table(pa.table({"image": cells, "label": labels}), tmp_path / f"{part}.parquet")
    data = prepare("parquet", tmp_path, path=".")
    assert data.classes == 3
    assert data.x_train[:, 0, 0, 0].tolist() == [0, 10, 20]
    (tmp_path / "test.parquet").write_bytes((tmp_path / "test.parquet").read_bytes()[:50])
    with pytest.raises(DataError, match=r"test\.parquet: not a readable Parquet file"):
        prepare("parquet", tmp_path, path=".")


def test_swiss_roll_lies_in_the_unit_square(tmp_path):
    data = prepare("swiss_roll", tmp_path, samples=50)
    assert data.x_train.shape == (50, 2)
    for part in (data.x_train, data.y_train):
        assert (float(part.min()), float(part.max())) == (0.0, 1.0)


def test_what_is_neither_there_nor_downloadable_says_where_it_was_sought(tmp_path, offline):
    with pytest.raises(DataError, match="GRAMLAB_DATA") as error:
        prepare("mnist", tmp_path)
    assert str(tmp_path) in str(error.value)


def test_half_a_download_is_refused_by_its_checksum(tmp_path, offline):
    (tmp_path / "cifar-10-python.tar.gz").write_bytes(b"half")
    with pytest.raises(DataError, match="cifar10 is neither complete under"):
        prepare("cifar10", tmp_path)


def test_subsets_are_reproducible_and_bounded(tmp_path):
    a, b = (prepare("digits", tmp_path, train=100, test=10) for _ in range(2))
    assert torch.equal(a.x_train, b.x_train)
    assert len(a.x_train.flatten(1).unique(dim=0)) > 95
    with pytest.raises(DataError, match="5000 train samples wanted, it has"):
        prepare("digits", tmp_path, train=5000)


def test_labels_outside_the_classes_are_named():
    x = torch.zeros(3, 2)
    with pytest.raises(DataError, match=r"labels \[7\] lie outside the 3 classes"):
        DataSet("mine", x, torch.tensor([0, 1, 7]), x, torch.tensor([0, 1, 2]), classes=3)


def test_a_file_is_whole_or_refused(tmp_path):
    data = prepare("digits", tmp_path, train=20, test=5)
    data.save(tmp_path / "set.safetensors")
    again = DataSet.load(tmp_path / "set.safetensors")
    assert torch.equal(again.x_train, data.x_train)
    assert (again.source, again.classes, again.factor) == ("digits", 10, 1 / 16)
    (tmp_path / "set.safetensors").write_bytes((tmp_path / "set.safetensors").read_bytes()[:200])
    with pytest.raises(DataError, match=r"set\.safetensors: not a readable data set"):
        DataSet.load(tmp_path / "set.safetensors")


@pytest.mark.skipif(not SHARED.is_dir(), reason="waits for MNIST and CIFAR-10 in ../shared/data; others do with digits")
def test_real_images_where_they_are_at_hand():
    """MNIST in torchvision's layout and CIFAR-10 as JPEGs in Parquet, when copies lie beside the project."""
    if (SHARED / "mnist").is_dir():
        data = prepare("mnist", SHARED)
        assert (data.x_train.shape, data.x_test.shape) == ((60000, 1, 28, 28), (10000, 1, 28, 28))
        assert data.y_train[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    if (SHARED / "cifar10-jpeg").is_dir():
        data = prepare("parquet", SHARED, path="cifar10-jpeg")
        assert (data.x_train.shape, data.x_test.shape) == ((50000, 3, 32, 32), (10000, 3, 32, 32))
        assert torch.bincount(data.y_train).tolist() == [5000] * 10
        # the means of the three colours that the copy's own description states, to a JPEG decoder's unit or two
        means = data.x_train.double().mean((0, 2, 3)) / 255
        assert means.tolist() == pytest.approx([0.49125, 0.48209, 0.44652], abs=1e-3)


@pytest.mark.parametrize(
    ("name", "cells", "labels", "says"),
    [
        ("train", [b"no image"], [0], r"train\.parquet row 0: not a readable image"),
        ("train", [None], [0], r"train\.parquet row 0: column image does not hold the bytes of an image file"),
        ("train", ["good"], [-1], r"train\.parquet row 0: label must be a whole number of at least 0, not -1"),
        ("train", ["good"], [None], r"train\.parquet row 0: label must be a whole number of at least 0, not None"),
        ("test", ["good"], [5], r"labels \[5\] lie outside the 1 classes"),
        ("test", ["large"], [0], "images of several sizes: .* to train, .* to test"),
        ("test", [], [], r"test\.parquet: no rows"),
        ("train-test", ["good"], [0], "its name says both train and test"),
    ],
)
def test_parquet_that_is_not_sound(tmp_path, name, cells, labels, says):
    large = io.BytesIO()
    image(1, size=(7, 7)).save(large, "PNG")
    stands_for = {"good": encoded(1), "large": large.getvalue()}
    for file, cell, label in (("train", ["good"], [0]), ("test", ["good"], [0]), (name, cells, labels)):
        content = pa.array([stands_for.get(content_name, content_name) for content_name in cell], pa.binary())
        columns = {"image": content, "label": pa.array(label, pa.int64())}
        pq.write_table(pa.table(columns), tmp_path / f"{file}.parquet")
    with pytest.raises(DataError, match=says):
        prepare("parquet", tmp_path, path=".")
    pq.write_table(pa.table({"picture": [b""]}), tmp_path / "train.parquet")
    (tmp_path / "train-test.parquet").unlink(missing_ok=True)
    with pytest.raises(DataError, match=r"train\.parquet: columns must be among picture, not 'image', 'label'"):
        prepare("parquet", tmp_path, path=".")


def test_a_folder_that_is_not_sound(tmp_path):
    base = tmp_path / "pets"
    with pytest.raises(DataError, match="pets: no folder of images"):
        prepare("folder", tmp_path, path="pets")
    (base / "train" / "cat").mkdir(parents=True)
    with pytest.raises(DataError, match=r"train/cat: no images in it"):
        prepare("folder", tmp_path, path="pets")
    image(3).save(base / "train" / "cat" / "a.png")
    (base / "train" / "cat" / ".thumbs").write_bytes(b"left alone")
    (base / "test" / "dog").mkdir(parents=True)
    image(3).save(base / "test" / "dog" / "a.png")
    with pytest.raises(DataError, match=r"classes \['dog'\] have no training images"):
        prepare("folder", tmp_path, path="pets")
    (base / "test" / "dog").rename(base / "test" / "cat")
    assert len(prepare("folder", tmp_path, path="pets").x_test) == 1
    Image.fromarray(np.zeros((5, 4), np.uint16)).save(base / "train" / "cat" / "deep.png")
    with pytest.raises(DataError, match=r"deep\.png: pixels of more than 8 bits"):
        prepare("folder", tmp_path, path="pets")
