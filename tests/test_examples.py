"""The examples run as they are; what they write lies in build/, which git does not see, or where one says."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import dummy_project
import pytest

ROOT = Path(__file__).resolve().parent.parent


def run(folder: Path, *arguments: str) -> str:
    """What an example prints, run in a folder of its own."""
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def example(name: str) -> str:
    return str(ROOT / "examples" / f"{name}.py")


def test_an_rfm_finds_the_inputs_of_the_target(tmp_path):
    printed = run(tmp_path, example("rfm"))
    diagonal = [float(number) for number in printed.split("[")[1].rstrip("]\n").split()]
    assert min(diagonal[:2]) > 5 * max(diagonal[2:])
    assert not list(tmp_path.iterdir())


def test_a_cnn_learns_a_folder_of_images(tmp_path):
    printed = run(tmp_path, example("images"))
    assert float(printed.split("test accuracy ")[1].split()[0]) > 0.9
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("*/*")] == ["build/images"]


def test_tables_are_read_with_pandas_and_duckdb(tmp_path):
    printed = run(tmp_path, example("tables"), str(ROOT / "reports/paper/tables"))
    assert "pearson/vcs_gram_diagonal" in printed
    assert not list(tmp_path.iterdir())


def test_a_transformer_is_recorded_as_the_page_does(tmp_path, printed):
    """The example reads no file of the clone, so it runs in a folder that has it."""
    (block,) = printed("docs/how-to/transformer.md")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    lines = block.run(tmp_path, dummy_project.environment(tmp_path / "home", PYTHONPATH=str(ROOT))).splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in lines if line.startswith(("embed", "block.", "head"))}
    assert len(rows) == 8, "the embedding, four projections of the attention, two layers and the readout"
    assert all(float(numbers[-1]) > 0.95 for numbers in rows.values()), "accumulated FACT is exact along the training"
    assert (tmp_path / "build/transformer/run.parquet").is_file()


@pytest.mark.parametrize(("trainer", "package"), [("lightning", "lightning"), ("hugging-face", "accelerate")])
def test_a_trainers_run_is_recorded(tmp_path, trainer, package):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    printed = run(tmp_path, "-W", "ignore", example("trainers"), trainer)
    first, *_, last = [line.split() for line in printed.splitlines() if line.split()[:1] and line.split()[0].isdigit()]
    assert first[0] == "0"
    assert float(last[1]) > float(first[1])  # the first layer's cosine with the AGOP
    heads = next(line for line in printed.splitlines() if line.startswith("quantity")).split()
    assert heads[1:] == ["nfa", "pearson_fact", "stationarity"]
    # as the example says: far from a critical point, so that FACT is far from WᵀW
    assert float(last[3]) < 0.9
    assert float(last[5]) > 0.1
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")] == [f"build/{trainer}.parquet"]


def test_a_mistyped_trainer_is_named(tmp_path):
    done = subprocess.run(
        [sys.executable, example("trainers"), "huggingface"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "the trainers are lightning and hugging-face, not 'huggingface'\n"


def test_git_does_not_see_what_examples_write():
    ignored = subprocess.run(["git", "check-ignore", "build/digits", "build/lightning.parquet"], cwd=ROOT)
    assert ignored.returncode == 0
