"""What the stages declare, as DVC reads it: code, settings and results, at both scales and for every paper."""

import ast
import re
from functools import cache
from pathlib import Path

import yaml

from tasks.settings import SHARED


def files(scale: str = "quick", project: Path = Path()) -> list[str]:
    """The scale's dvc.yaml files."""
    paths = sorted(path.relative_to(project).as_posix() for path in project.glob(f"pipeline/{scale}/**/dvc.yaml"))
    return [*paths, "dvc.yaml"] if scale == "quick" else paths


@cache  # DVC takes seconds to read them
def expanded_of_both_scales(project: Path) -> dict[str, dict[str, dict]]:
    """Every stage by file and name, with its templates filled in, as DVC itself reads them."""
    from dvc.repo import Repo

    stages: dict[str, dict[str, dict]] = {}
    with Repo(str(project)) as repo:
        for stage in repo.index.stages:
            stages.setdefault(Path(stage.path_in_repo).as_posix(), {})[stage.name] = {
                "cmd": [stage.cmd] if isinstance(stage.cmd, str) else stage.cmd,
                "deps": [dep.def_path for dep in stage.deps if not hasattr(dep, "params")],
                "params": sorted({key for dep in stage.deps if hasattr(dep, "params") for key in dep.params}),
                "outs": [out.def_path for out in stage.outs],
            }
    return stages


def expanded(project: Path = Path(), scale: str = "quick") -> dict[str, dict]:
    """Every stage of a scale."""
    stages = expanded_of_both_scales(project)
    return {name: stage for file in files(scale) for name, stage in stages.get(file, {}).items()}


def commands(stage: dict) -> list[tuple[str, str]]:
    """The programs of a stage with their keys."""
    pattern = r"python -m tasks\.(\w+)(?: ([\w.]+))?(?: --scale quick)?"
    return [re.fullmatch(pattern, command).groups() for command in stage["cmd"]]


def outside(files: set[str], stage: dict) -> set[str]:
    """gramlab/__init__.py alone is exempt: it holds a list of names, and loads what it names from elsewhere."""
    deps = stage["deps"]
    covered = {file for file in files if any(file == dep or file.startswith(dep + "/") for dep in deps)}
    return files - covered - {"gramlab/__init__.py"}


@cache  # most stages reach the same files
def imports(file: str) -> set[str]:
    """The project's files that a file imports, anywhere in it; a name that gramlab lends stands for its home."""
    import gramlab

    imported = set()
    for node in ast.walk(ast.parse(Path(file).read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            top, _, attribute = name.partition(".")
            if top == "gramlab" and attribute in gramlab._HOME:
                name = gramlab._HOME[attribute]
            for path in (name.replace(".", "/") + ".py", name.replace(".", "/") + "/__init__.py"):
                if top in ("gramlab", "tasks") and Path(path).is_file():
                    imported.add(path)
    return imported


def reachable(task: str, key: str | None) -> set[str]:
    """All of the project's files that a program may import, its experiment or claim among them."""
    waiting = [f"tasks/{task}.py"]
    kind = {"measure": "experiments", "check": "claims"}.get(task)
    waiting += [path.as_posix() for path in Path().glob(f"tasks/papers/*/{kind}/{key}.py")] if kind else []
    patterns = {"report": ["__init__.py", "differences.py", "claims/*.py"], "site": ["__init__.py", "claims/*.py"]}
    waiting += [path.as_posix() for pattern in patterns.get(task, ())
                for path in Path("tasks/papers").glob(f"*/{pattern}")]  # fmt: skip
    files_reached: set[str] = set()
    while waiting:
        if (file := waiting.pop()) not in files_reached:
            files_reached.add(file)
            waiting += imports(file)
            waiting += [str(home) for folder in Path(file).parents if (home := folder / "__init__.py").is_file()]
    return files_reached


def test_what_any_stage_may_import_lies_under_its_dependencies():
    """Of all stages by their source; the test above by what is loaded, of a few."""
    for name, stage in expanded().items():
        for task, key in commands(stage):
            crossed = outside(reachable(task, key), stage)
            assert not crossed, f"{name} may import {crossed}"


def test_what_a_stage_reads_of_the_settings_lies_under_its_params():
    """By watching which entries a program reads."""
    raw = yaml.safe_load(Path("params.yaml").read_text())
    for name, stage in expanded().items():
        kind, _, key = name.partition("@")
        declared = set(stage["params"])
        if kind in ("report", "site"):
            assert not declared  # all of params.yaml
            continue
        if kind == "multiverse":
            assert not declared  # it reads tables alone
            continue
        if kind in ("cells", "chart"):  # the atlas, whose cells have a file of their own
            assert declared == {"groups", "seeds", key} | ({"machine.device", "machine.threads", "streams.root"}
                                                           if kind == "cells" else set())  # fmt: skip
            continue
        if kind == "prepare":
            expected = {f"data.{key}", "machine.data_root", "streams.root"}
        elif kind == "verdicts":
            expected = {f"{key}.claims"}
        else:
            (paper,) = [paper for paper in raw if paper not in SHARED
                        and any(key in raw[paper][section] for section in raw[paper])
                        and (kind != "check" or key in raw[paper]["claims"])]  # fmt: skip
            section = "train" if kind == "measure" else kind
            expected = {f"{paper}.claims.{key}"} if kind == "check" else {
                f"{paper}.{section}.{key}", "machine.device", "machine.threads", "streams.root",
            }  # fmt: skip
            expected |= {"machine.data_root"} if kind == "simulate" else set()
        assert declared == expected, name


def test_the_papers_scale_does_not_depend_on_the_quick_reductions():
    for name, stage in expanded(scale="paper").items():
        if name.partition("@")[0] in ("prepare", "train", "measure", "simulate"):
            (entry,) = (param for param in stage["params"] if not param.startswith(("machine.", "streams.")))
            assert re.fullmatch(r"(data|\w+\.(train|simulate))\.\w+\.paper", entry), name


def test_both_scales_have_the_same_stages():
    quick, paper = expanded(), expanded(scale="paper")
    assert quick.keys() - {"site", "cells@slice", "chart@slice", "multiverse"} == paper.keys()
    code_of_site = {dep for dep in quick["site"]["deps"] if dep.startswith(("gramlab/", "tasks/"))}
    assert {*quick["report"]["deps"], *code_of_site} == {
        name.removeprefix("../../").replace("data/paper", "data/quick") for name in paper["report"]["deps"]
    }
    for paper_file in [name for name in files("paper") if name != "pipeline/paper/dvc.yaml"]:
        quick_file = paper_file.replace("pipeline/paper/", "pipeline/quick/")
        both = [Path(name).read_text().split("\nstages:")[1] for name in (paper_file, quick_file)]
        assert both[0] == both[1].replace("wdir: .\n", "wdir: ../..\n")


def test_all_papers_have_the_same_stages():
    """But for their names: a fifth paper copies a file."""
    texts = set()
    for path in Path("pipeline/paper").glob("*/dvc.yaml"):
        if path.parent.name != "data":
            text = path.read_text().replace(path.parent.name, "PAPER")
            texts.add(text.split("\nstages:")[1])
    assert len(texts) == 1


def test_stages_of_the_papers_scale_name_no_other_scale():
    quick, paper = expanded(), expanded(scale="paper")
    for name, stage in paper.items():
        commands_at_paper_scale = [line.replace("--scale quick", "--scale paper") for line in quick[name]["cmd"]]
        # the pages are a stage of their own at the quick scale alone
        assert stage["cmd"] == commands_at_paper_scale + ["python -m tasks.site"] * (name == "report")
        assert not any(re.search(r"\bquick\b", path) for path in [*stage["deps"], *stage["outs"], *stage["params"]])
