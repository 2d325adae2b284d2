"""Installs the wheel with each extra into an environment of its own, and tries what the extra is for.

``python tests/extras.py [PYTHON [EXTRA ...]]`` does so from a package index: on Python 3.11 with the versions of
constraints.txt, on another Python with the newest packages. An EXTRA is a name of pyproject.toml, or ``none`` for the
library alone; the default is all. ``tests/test_installation.py`` tries most of these programs without a network.
"""

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OTHERS = ("dvc", "prefect", "fastapi", "yaml", "seaborn", "matplotlib", "pytest", "ruff")
LIBRARY = f"""
import gramlab
from importlib.util import find_spec
for name in gramlab._HOME:
    getattr(gramlab, name)
import gramlab.cli, gramlab.theory, gramlab.data
present = [name for name in {OTHERS} if find_spec(name)]
assert not present, present
"""
PROBE = """
import numpy, pathlib, sys, tempfile
from gramlab.cli import main
folder = pathlib.Path(tempfile.mkdtemp())
numpy.save(folder / "x.npy", numpy.random.default_rng(0).standard_normal((20, 4)))
numpy.save(folder / "y.npy", numpy.arange(20) % 3)
(folder / "net.py").write_text("from torch import nn\\ndef network():\\n    return nn.Linear(4, 3)\\n")
try:
    main(["probe", f"{folder}/net.py:network", "--data", str(folder), "--out", str(folder)])
except SystemExit as ending:
    assert ending.code == 0, ending.code
assert (folder / "probe.png").stat().st_size > 1000
"""
TEXT = """
import pathlib, tempfile
from transformers import BertConfig, BertModel, BertTokenizer
from datasets import Dataset
from gramlab.data.texts import read_texts
from gramlab.nets.encoders import encoder_place, fine_tune, hidden_states, load_encoder, tokenize
root = pathlib.Path(tempfile.mkdtemp())
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "fine", "film", "bore"]
(root / "tiny").mkdir()
(root / "tiny/vocab.txt").write_text("\\n".join(words) + "\\n")
BertModel(BertConfig(vocab_size=len(words), hidden_size=8, num_hidden_layers=2, num_attention_heads=2,
                     intermediate_size=16, max_position_embeddings=16)).save_pretrained(root / "tiny")
BertTokenizer.from_pretrained(root / "tiny").save_pretrained(root / "tiny")
(root / "reviews").mkdir()
columns = {"sentence": ["a fine film", "a bore"] * 4, "label": ["good", "bad"] * 4}
Dataset.from_dict(columns).to_parquet(root / "reviews/train.parquet")
texts = read_texts(root, "reviews", "train", text=["sentence"], label="label")
place = encoder_place("tiny", root)
tokens = tokenize(texts, texts.classes, place, length=8)
model = load_encoder(place, 2, texts.words, pretrained=True, seed=0)
for _ in fine_tune(model, tokens, ("reviews", 0), epochs=1, batch=4, lr=1e-3):
    layers, y, accuracy = hidden_states(model, tokens)
assert len(layers) == 2 and layers[0].shape == (8, 8), [layer.shape for layer in layers]
"""
SITE = """
import os, sys, tempfile
# a process of its own: from Python 3.13 on, `python -c` names its text as the source of named tuples
sphinx = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", tempfile.mkdtemp()]
os.execv(sys.executable, sphinx)
"""
MODULES = """
import importlib, pathlib
for folder in ("tasks", "flows"):
    for path in sorted(pathlib.Path(folder).rglob("*.py")):
        if "counterexamples" not in path.parent.name:
            importlib.import_module(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
"""
TOOLS = """
import runpy, sys
sys.argv = ["pytest", "tests/test_streams.py", "tests/test_tables.py"]
runpy.run_module("pytest", run_name="__main__")
"""
IN_THE_PROJECT = ("pipeline", "docs", "dev")  # extras whose program needs the project's folder
PROGRAMS = {
    "": LIBRARY,
    "figures": PROBE,
    "text": TEXT,
    "pipeline": MODULES,
    "docs": SITE,
    "dev": TOOLS,
}


def extras() -> list[str]:
    """No extra, and the names of all that pyproject.toml has."""
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return ["", *content["project"]["optional-dependencies"]]


def main() -> None:
    """Make the environments, one after the other; exit with status 1 where a program fails."""
    wanted_extras = ["" if name == "none" else name for name in sys.argv[2:]] or extras()
    if unknown := set(wanted_extras) - set(extras()):
        sys.exit(f"no extra {', '.join(sorted(unknown))}; there are none, {', '.join(extras()[1:])}")
    python = sys.argv[1] if len(sys.argv) > 1 else f"{sys.version_info.major}.{sys.version_info.minor}"
    pinned = ["--constraint", str(ROOT / "constraints.txt")] if python.endswith("3.11") else []
    failed = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        # by way of the source archive: a wheel made in the project's folder also holds what an earlier build left there
        subprocess.run(["uv", "build", "--quiet", "--out-dir", str(folder), str(ROOT)], check=True)
        (wheel,) = folder.glob("*.whl")
        for extra in wanted_extras:
            clone = folder / (extra or "none")
            interpreter = str(clone / "bin/python")
            wanted = f"{wheel}[{extra}]" if extra else str(wheel)
            steps = [
                ["uv", "venv", "--quiet", "--python", python, str(clone)],
                ["uv", "pip", "install", "--quiet", "--python", interpreter, *pinned, wanted],
                [interpreter, "-c", PROGRAMS.get(extra, "import gramlab")],
            ]
            passed = all(
                subprocess.run(step, cwd=ROOT if extra in IN_THE_PROJECT else folder).returncode == 0 for step in steps
            )
            print(f"Python {python}, [{extra or 'none'}]: {'passed' if passed else 'failed'}", flush=True)
            failed += [] if passed else [extra]
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
