"""torchvision's own readers and checksums on tiny archives in its layouts, and on damaged archives."""

import hashlib
import pickle
import struct
import tarfile
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from helpers import NO_SERVER
from PIL import Image
from safetensors.torch import load_file
from torchvision import datasets

from gramlab.data import DataError, DataSet, Subset, prepare
from gramlab.data.downloaded import read_arrays, read_faces
from gramlab.nets import TrainingConfig, build, fit
from tasks.papers.centered_nfa.claims import b_fig9 as claim
from tasks.papers.centered_nfa.experiments import b_fig9
from tasks.settings import load

pytestmark = pytest.mark.usefixtures("offline")


def md5(path: Path) -> str:
    return hashlib.md5(path.read_bytes()).hexdigest()


def write_idx(path: Path, values: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack(f">I{values.ndim}I", 0x800 + values.ndim, *values.shape) + values.tobytes())


def write_mnist(root: Path) -> Path:
    raw = root / "MNIST" / "raw"
    for part, n in (("train", 12), ("t10k", 4)):
        images = np.arange(n * 28 * 28, dtype=np.uint32).astype(np.uint8).reshape(n, 28, 28)
        write_idx(raw / f"{part}-images-idx3-ubyte", images)
        write_idx(raw / f"{part}-labels-idx1-ubyte", (np.arange(n) % 10).astype(np.uint8))
    return raw


# ----------------------------------------------------------------------------------------- MNIST


@pytest.mark.parametrize("subfolder", [".", "mnist"])
def test_mnist_is_read_from_the_data_root_or_its_subfolder(tmp_path, subfolder):
    write_mnist(tmp_path / subfolder)
    data = prepare("mnist", tmp_path)
    assert data.x_train.shape == (12, 1, 28, 28)
    assert data.x_train[0, 0, 1, :3].tolist() == [28, 29, 30]
    assert data.y_train.tolist() == [*range(10), 0, 1]
    assert float(data.scaled(data.x_train, torch.float64).max()) == 1.0


@pytest.mark.parametrize("name", ["train-images-idx3-ubyte", "t10k-labels-idx1-ubyte"])
@pytest.mark.parametrize("damage", ["half", "header", "longer"])
def test_a_damaged_idx_file_is_named(tmp_path, name, damage):
    file = write_mnist(tmp_path) / name
    content = file.read_bytes()
    file.write_bytes({"half": content[: len(content) // 2], "header": b"<html>", "longer": content + b"!"}[damage])
    with pytest.raises(DataError, match=f"{name}: damaged .*; remove it") as error:
        prepare("mnist", tmp_path)
    assert "\n" not in str(error.value)


def test_wrong_labels_are_refused(tmp_path):
    raw = write_mnist(tmp_path)
    write_idx(raw / "train-labels-idx1-ubyte", np.full(12, 11, np.uint8))
    with pytest.raises(DataError, match=r"mnist: labels \[11\] lie outside the 10 classes"):
        prepare("mnist", tmp_path)
    write_idx(raw / "train-labels-idx1-ubyte", np.zeros(11, np.uint8))
    with pytest.raises(DataError, match="mnist: 12 train samples but 11 targets"):
        prepare("mnist", tmp_path)


# ----------------------------------------------------------------------------------------- CIFAR, SVHN


def cifar(root: Path) -> type:
    """torchvision's CIFAR10 with an archive of 6 + 2 pictures, and its checksums."""
    folder = root / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    lists = {}
    for part, n in (("data_batch_1", 6), ("test_batch", 2)):
        pixels = np.zeros((n, 3, 32, 32), np.uint8)
        pixels[:, 0], pixels[:, 1, :, 3], pixels[:, 2, 5] = 1, 2, 3  # red everywhere, a green column, a blue row
        (folder / part).write_bytes(pickle.dumps({"data": pixels.reshape(n, -1), "labels": list(range(n))}))
        lists[part] = [[part, md5(folder / part)]]
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": [str(k) for k in range(10)]}))
    meta = {**datasets.CIFAR10.meta, "md5": md5(folder / "batches.meta")}
    parts = {"train_list": lists["data_batch_1"], "test_list": lists["test_batch"]}
    return type("Tiny", (datasets.CIFAR10,), {**parts, "meta": meta, "url": NO_SERVER})


def test_cifar_images_have_channels_first(tmp_path):
    data = read_arrays(cifar(tmp_path), tmp_path, "cifar10", 10)
    assert data.x_train.shape == (6, 3, 32, 32)
    assert data.x_train.is_contiguous()
    assert data.x_train[4, :, 5, 3].tolist() == [1, 2, 3]
    assert data.x_train[4, :, 3, 5].tolist() == [1, 0, 0]
    assert data.y_test.tolist() == [0, 1]


def test_a_changed_byte_fails_the_checksum(tmp_path):
    tiny = cifar(tmp_path)
    batch = tmp_path / "cifar-10-batches-py" / "data_batch_1"
    batch.write_bytes(batch.read_bytes()[:-1] + b"!")
    with pytest.raises(DataError, match=f"cifar10 is neither complete under {tmp_path} nor downloadable") as error:
        read_arrays(tiny, tmp_path, "cifar10", 10)
    assert "GRAMLAB_DATA" in str(error.value)
    assert "\n" not in str(error.value)


def test_missing_photographs_are_downloaded_as_the_page_does(tmp_path, monkeypatch, printed):
    """From a server on this machine, with 7600 + 10 pictures: torchvision's reader with this archive's checksums."""
    (block,) = printed("docs/how-to/data.md")
    served, parts = tmp_path / "served", {"data_batch_1": 7600, "test_batch": 10}
    served.mkdir()
    checksums = {}
    with tarfile.open(served / "cifar.tar.gz", "w:gz", compresslevel=1) as archive:
        for name in (*parts, "batches.meta"):
            pixels = np.zeros((parts.get(name, 0), 3072), np.uint8)
            pixels[:, 0] = np.arange(len(pixels)) % 251
            labels = [i % 10 for i in range(len(pixels))]
            names = [str(k) for k in range(10)]
            (served / name).write_bytes(pickle.dumps({"data": pixels, "labels": labels, "label_names": names}))
            checksums[name] = md5(served / name)
            archive.add(served / name, f"cifar-10-batches-py/{name}")
    for field, part in (("train_list", "data_batch_1"), ("test_list", "test_batch")):
        monkeypatch.setattr(datasets.CIFAR10, field, [[part, checksums[part]]])
    monkeypatch.setattr(datasets.CIFAR10, "meta", {**datasets.CIFAR10.meta, "md5": checksums["batches.meta"]})
    monkeypatch.setattr(datasets.CIFAR10, "tgz_md5", md5(served / "cifar.tar.gz"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")  # for this server; all others stay out of reach
    monkeypatch.chdir(tmp_path)
    handler = partial(SimpleHTTPRequestHandler, directory=str(served))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(datasets.CIFAR10, "url", f"http://127.0.0.1:{server.server_port}/cifar.tar.gz")
        names = {"prepare": prepare}
        exec(block.text(), names)
        server.shutdown()
    photos = names["photos"]
    assert photos.y_train.bincount().tolist() == 10 * [750]
    first = photos.scaled(photos.x_train, torch.float64)[:, 0, 0, 0]
    assert float(first.mean()) == pytest.approx(0, abs=1e-6)
    assert float(first.var()) == pytest.approx(1, abs=1e-5)
    assert prepare("cifar10", "data/raw", train=7500).y_train.shape == (7500,), "the server is gone, the files are here"


def test_svhn_images_have_channels_first_and_label_ten_is_the_digit_zero(tmp_path):
    from scipy.io import savemat

    lists = {}
    for part, n in (("train", 5), ("test", 2)):
        pixels = np.zeros((32, 32, 3, n), np.uint8)  # the .mat files' order: row, column, channel, sample
        pixels[5, 3, 1] = np.arange(n) + 10
        file = tmp_path / f"{part}_32x32.mat"
        savemat(file, {"X": pixels, "y": np.array([[10], [1], [2], [3], [9]][:n], np.uint8)})
        lists[part] = [NO_SERVER, file.name, md5(file)]
    tiny = type("Tiny", (datasets.SVHN,), {"split_list": lists})
    data = read_arrays(tiny, tmp_path, "svhn", 10, names_parts=True)
    assert data.x_train.shape == (5, 3, 32, 32)
    assert data.x_train[:, 1, 5, 3].tolist() == [10, 11, 12, 13, 14]
    assert int(data.x_train.sum()) == 60
    assert data.y_train.tolist() == [0, 1, 2, 3, 9]


# ----------------------------------------------------------------------------------------- CelebA


def celeba(root: Path, n: int = 10) -> type:
    """torchvision's CelebA with n pictures, the last two of them for tests; every third one has glasses."""
    base = root / "celeba"
    (base / "img_align_celeba").mkdir(parents=True)
    names = [f"{index + 1:06}.jpg" for index in range(n)]
    for index, name in enumerate(names):
        pixels = np.full((218, 178, 3), 20 * index, np.uint8)
        pixels[:16] = 255  # cut off with the rest above the middle square; 16 rows are whole blocks of a JPEG
        Image.fromarray(pixels).save(base / "img_align_celeba" / name, quality=95)
    rows = [f"{name} {1 if index % 3 == 0 else -1} -1" for index, name in enumerate(names)]
    texts = {
        "list_attr_celeba.txt": "\n".join([str(n), "Eyeglasses Smiling ", *rows]),
        "list_eval_partition.txt": "\n".join(f"{name} {0 if k < n - 2 else 2}" for k, name in enumerate(names)),
        "identity_CelebA.txt": "\n".join(f"{name} 1" for name in names),
        "list_bbox_celeba.txt": "\n".join([str(n), "image_id x", *(f"{name} 1" for name in names)]),
        "list_landmarks_align_celeba.txt": "\n".join([str(n), "x y", *(f"{name} 1 1" for name in names)]),
    }
    for file, text in texts.items():
        (base / file).write_text(text + "\n")
    return type("Tiny", (datasets.CelebA,), {"file_list": [("none", md5(base / file), file) for file in texts]})


def test_celeba_classes_are_the_attribute_and_images_the_middle_square(tmp_path):
    data = read_faces(celeba(tmp_path), tmp_path, "Eyeglasses", 16, Subset())
    assert data.x_train.shape == (8, 3, 16, 16)
    assert data.y_train.tolist() == [1, 0, 0, 1, 0, 0, 1, 0]
    assert data.y_test.tolist() == [0, 1]
    shades = data.x_train.double().mean((1, 2, 3))
    assert shades.tolist() == pytest.approx([20 * index for index in range(8)], abs=1)


def test_celeba_balanced(tmp_path):
    data = read_faces(celeba(tmp_path), tmp_path, "Eyeglasses", 8, Subset(train=6, test=0, balanced=True))
    assert torch.bincount(data.y_train).tolist() == [3, 3]
    assert data.x_test.shape == (0, 3, 8, 8)
    with_glasses = data.x_train[data.y_train == 1].double().mean((1, 2, 3))
    assert sorted(with_glasses.round().tolist()) == pytest.approx([0, 60, 120], abs=1)
    with pytest.raises(DataError, match="4 train samples of class 1 wanted, it has 3"):
        read_faces(celeba(tmp_path / "more"), tmp_path / "more", "Eyeglasses", 8, Subset(train=8, balanced=True))


def test_figure_9_of_paper_b_runs_from_torchvisions_files(tmp_path, monkeypatch):
    """The paper's settings with fewer faces, pixels and epochs: prepare, train, measure and draw."""
    monkeypatch.setattr(datasets.CelebA, "file_list", celeba(tmp_path, 11).file_list)  # checksums of the tiny files
    settings = load("paper")
    options = {**settings.data["glasses"].options(), "train": 6, "test": 2, "size": 24}
    prepare("celeba", tmp_path, **options).save(tmp_path / "glasses.safetensors")
    data = DataSet.load(tmp_path / "glasses.safetensors")
    assert data.x_train.shape == (6, 3, 24, 24)
    assert [torch.bincount(y).tolist() for y in (data.y_train, data.y_test)] == [[3, 3], [1, 1]]
    training = settings.train["b_fig9"]
    names = set(TrainingConfig.__dataclass_fields__) & set(type(training).model_fields) - {"snapshots", "grid"}
    config = TrainingConfig(**{name: getattr(training, name) for name in names}, name=("b_fig9",))
    config = replace(config, snapshots=(0, 2), epochs=2)

    def network():
        return build("mlp", data.x_train.shape[1:], data.outputs, **training.model.options())

    snapshots, history = fit(network(), data, config, 2, tmp_path / "scratch")
    trained = load_file(snapshots[2])

    def model(epoch, seed):
        trained_network = network()
        trained_network.load_state_dict({key: value[seed] for key, value in trained.items()})
        return trained_network

    run = SimpleNamespace(data=data, epochs=(0, 2), seeds=range(2), model=model, steps_per_epoch=1, history=history)
    rows = pd.DataFrame(b_fig9.measure(run))
    W = next(model(2, 0).parameters())
    diagonal = rows[rows["quantity"] == "diagonal/NFM"].sort_values("x")["value"]
    assert diagonal.to_numpy() == pytest.approx(W.detach().double().square().sum(0).numpy(), rel=1e-5)
    assert rows[rows["quantity"] == "pearson/K"]["value"].between(-1, 1).all()
    assert claim.draw(rows, claim).axes


def test_celeba_errors_name_the_cause(tmp_path):
    tiny = celeba(tmp_path)
    with pytest.raises(DataError, match="attribute must be one of Eyeglasses, Smiling, not 'Glasses'; did you mean"):
        read_faces(tiny, tmp_path, "Glasses", 8, Subset())
    (tmp_path / "celeba" / "img_align_celeba" / "000003.jpg").write_bytes(b"half")
    with pytest.raises(DataError, match=r"000003\.jpg: not a readable image"):
        read_faces(tiny, tmp_path, "Eyeglasses", 8, Subset())
    (tmp_path / "celeba" / "img_align_celeba" / "000001.jpg").unlink()
    with pytest.raises(DataError, match=r"000001\.jpg: not a readable image"):
        read_faces(tiny, tmp_path, "Eyeglasses", 8, Subset())
    (tmp_path / "celeba" / "list_attr_celeba.txt").write_text("changed")
    with pytest.raises(DataError, match="celeba is neither complete under"):
        read_faces(tiny, tmp_path, "Eyeglasses", 8, Subset())
