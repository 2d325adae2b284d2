"""Snippets that run the programs of stages at the paper scale, which takes hours, on less.

They run as printed, in a copy of the project without DVC and Prefect. Its params.yaml has smaller networks and
scikit-learn's digits in place of photographs; the encoder and the texts are tiny ones, in folders of the hub's names.
"""

import json
from pathlib import Path

import dummy_project
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from dummy_project import ROOT
from nets.tiny_encoder import make_encoder

SMALL = "{source: digits, train: 100, test: 100}"
SMALLER = {
    "{SVHN: {source: svhn}, CIFAR-10: {source: cifar10}, CIFAR-100: {source: cifar100}}":
        f"{{SVHN: {SMALL}, CIFAR-10: {SMALL}, CIFAR-100: {SMALL}}}",
    "      affordable: [CIFAR-10]\n": "",  # of photo_benchmarks
    "momentum: 0.95, batch: 64, epochs: 20, seeds: 5, snapshots: 20,":  # of a_fig6
        "momentum: 0.95, batch: 64, epochs: 4, seeds: 5, snapshots: 4,",
    "held_out: null, examples: 2000,": "held_out: null, examples: 20,",  # of a_fig11
}  # fmt: skip
TABLES = ("a_fig6", "d_svd")  # of the committed tables; the claims of all others are not run in the copy
GLUE = """---
configs:
- config_name: sst2
  data_files:
  - {split: train, path: sst2.parquet}
  - {split: validation, path: sst2.parquet}
- config_name: mnli
  data_files:
  - {split: train, path: mnli.parquet}
  - {split: validation_matched, path: mnli.parquet}
---
"""


@pytest.fixture(scope="module")
def project(copy_project) -> Path:
    """The copy, with the entries of params.yaml without `affordable:` and with few committed tables."""
    project = copy_project("stages")
    params = project / "params.yaml"
    text = params.read_text()
    for old, new in SMALLER.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    start = text.index("         affordable:          # a few minutes")  # of a_fig11; its last brace closes another
    end = text.index("}}}}\n", start)
    params.write_text(text[:start].removesuffix(",\n") + text[end + 3 :])
    for table in (project / "reports/paper/tables").iterdir():
        if table.stem not in TABLES:
            table.unlink()
    return project


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """The environment of somebody in the project, whose machine does not reach the hub."""
    env = dummy_project.environment(tmp_path / "home")
    return {
        **env,
        "PYTHONPATH": "",
        "HF_HOME": str(tmp_path / "hub"),
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
    }


def finding(project: Path, claim: str) -> dict:
    return json.loads((project / f"data/paper/findings/weight_gram/{claim}.json").read_text())


def test_a_reduction_is_undone_and_all_claims_are_judged_again(project: Path, env: dict[str, str], printed) -> None:
    """The table that was measured here is judged, and not the committed one of the same experiment."""
    stages, report = printed("docs/how-to/paper-scale.md")
    stages.run(project, env)
    table = project / "data/paper/tables/a_fig6.parquet"
    measured = table.read_bytes()
    cases = pq.ParquetFile(table).read().to_pandas()["case"]
    assert {case.split(",")[0] for case in cases} == {"SVHN", "CIFAR-10", "CIFAR-100"}
    before = finding(project, "a_fig6")
    report.run(project, env)
    assert table.read_bytes() == measured != (ROOT / "reports/paper/tables/a_fig6.parquet").read_bytes()
    assert finding(project, "a_fig6") == before
    claims = json.loads((project / "reports/paper/claims.json").read_text())
    committed = json.loads((ROOT / "reports/paper/claims.json").read_text())
    assert claims.keys() == committed.keys()
    assert {name for name, claim in claims.items() if claim["verdict"] != "not run"} == {"A.fig6", "D.svd"}
    assert claims["D.svd"]["verdict"] == committed["D.svd"]["verdict"]


def write_texts(raw: Path) -> None:
    """The corpora of Figure 11, in files of the columns that the hub's have."""
    rng = np.random.default_rng(0)
    sentences = 5 * [f"the {noun} {verb}s" for noun in ("dog", "cat", "bird") for verb in ("bark", "sing", "play")]
    labels = np.arange(len(sentences)) % 3
    glue, conll = raw / "nyu-mll/glue", raw / "eriktks/conll2003"
    glue.mkdir(parents=True)
    conll.mkdir(parents=True)
    (glue / "README.md").write_text(GLUE)
    pd.DataFrame({"sentence": sentences, "label": labels % 2}).to_parquet(glue / "sst2.parquet")
    pairs = {"premise": sentences, "hypothesis": list(rng.permutation(sentences)), "label": labels}
    pd.DataFrame(pairs).to_parquet(glue / "mnli.parquet")
    words = [sentence.split() for sentence in sentences]
    tags = {"tokens": words, "pos_tags": [[0, 1, 2] for _ in words], "ner_tags": [[0, int(k), 0] for k in labels]}
    for part in ("train", "validation"):
        pd.DataFrame(tags).to_parquet(conll / f"{part}.parquet")


def test_figure_11_as_the_paper_has_it(project: Path, env: dict[str, str], printed) -> None:
    (block,) = printed("docs/text.md")
    raw = project / "data/raw"
    make_encoder(raw / "google-bert/bert-base-uncased", layers=6)
    write_texts(raw)
    block.run(project, env)
    rows = pq.ParquetFile(project / "data/paper/tables/a_fig11.parquet").read().to_pandas()
    assert set(rows["case"]) == {"SST-2", "MNLI", "CoNLL-2003 POS", "CoNLL-2003 NER"}
    assert set(rows["seed"]) == {0, 1, 2}
    assert finding(project, "a_fig11")["ran"]
