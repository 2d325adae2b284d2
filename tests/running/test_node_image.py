"""The Dockerfile of examples/nodes, as far as it can be checked unbuilt; benchmarks/node_image.py runs it."""

import json
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import yaml
from dummy_project import ROOT, call

FOLDER = ROOT / "examples/nodes"


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile with their arguments."""
    text = re.sub(r"^#.*\n", "", (FOLDER / "Dockerfile").read_text(), flags=re.M).replace("\\\n", " ")
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in text.splitlines() if line]


def argument(name: str) -> str:
    """That of the only instruction of this name."""
    (operand,) = [argument for instruction, argument in instructions() if instruction == name]
    return operand


def test_what_is_copied_is_there_and_is_all_that_the_build_reads() -> None:
    copied = [shlex.split(argument)[:-1] for name, argument in instructions() if name == "COPY"]
    names = {name for sources in copied for name in sources}
    tracked = subprocess.run(["git", "ls-files", "--error-unmatch", *names], cwd=ROOT, capture_output=True, text=True)
    assert tracked.returncode == 0, tracked.stderr
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {"pyproject.toml", project["readme"], *project["license-files"]} <= names
    (install,) = [argument for name, argument in instructions() if name == "RUN" and "pip install" in argument]
    (extra,) = re.findall(r"/build\[(\w+)\]", install)
    assert extra in project["optional-dependencies"]
    assert "--no-cache-dir" in install
    assert "--constraint /build/constraints.txt" in install


def test_the_base_has_a_tag_and_a_python_that_the_project_takes() -> None:
    (version,) = re.fullmatch(r"python:3\.(\d+)-slim", argument("FROM")).groups()  # type: ignore[union-attr]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert int(version) >= int(project["requires-python"].removeprefix(">=3."))
    assert f"Programming Language :: Python :: 3.{version}" in project["classifiers"]


def test_each_run_ends_at_the_first_mistake_and_leaves_no_lists_of_packages() -> None:
    for argument in (argument for name, argument in instructions() if name == "RUN"):
        assert ";" not in argument
        if "apt-get install" in argument:
            assert "--yes --no-install-recommends" in argument
            assert "rm -rf /var/lib/apt/lists/*" in argument


def test_the_command_starts_a_worker_of_the_deployments_pool(tmp_path: Path) -> None:
    shell, option, script = json.loads(argument("CMD"))
    call(shell, "-n", option, script, cwd=tmp_path)  # its syntax
    worker = shlex.split(script.split("exec ")[1])
    deployments = yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]
    (node,) = [deployment for deployment in deployments if deployment["name"] == "node"]
    assert worker[worker.index("--pool") + 1] == node["work_pool"]["name"]
    words = call(*worker[:3], "--help", cwd=tmp_path)
    assert {word for word in worker if word.startswith("--")} <= set(re.findall(r"--[a-z-]+", words))
    names = dict(pair.split("=") for pair in shlex.split(argument("ENV")))
    assert names["GRAMLAB_CLONE"] == names["PYTHONPATH"] == argument("WORKDIR") == argument("VOLUME")
    assert "printenv GRAMLAB_CLONE" in (ROOT / "prefect.yaml").read_text()


def test_kubernetes_gives_the_image_what_its_command_reads() -> None:
    *_, nodes = yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text())
    (container,) = nodes["spec"]["template"]["spec"]["containers"]
    assert {variable["name"] for variable in container["env"]} == {"PREFECT_API_URL", "REPOSITORY"}
    assert "$REPOSITORY" in argument("CMD").replace('\\"', '"')
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == [argument("VOLUME")]
