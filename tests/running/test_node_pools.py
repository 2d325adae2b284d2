"""The deployments of examples/nodes/prefect.yaml, against the job templates that Prefect publishes for its pools."""

import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import prefect
import pytest
import yaml
from dummy_project import ROOT, ask, call

FILE = ROOT / "examples/nodes/prefect.yaml"
DEPLOYMENTS = {deployment["name"]: deployment for deployment in yaml.safe_load(FILE.read_text())["deployments"]}
PUBLISHED = Path(prefect.__file__).parent / "server/api/collections_data/views/aggregate-worker-metadata.json"


def variables(kind: str) -> dict[str, Any]:
    """The schema of the variables of a pool of this type; others than those are a mistake here."""
    workers = json.loads(PUBLISHED.read_text())[f"prefect-{kind}"]
    return {**workers[kind]["default_base_job_configuration"]["variables"], "additionalProperties": False}


@pytest.mark.parametrize("kind", ["docker", "kubernetes"])
def test_the_variables_are_those_of_the_pools_template(kind: str) -> None:
    pool = DEPLOYMENTS[kind]["work_pool"]
    assert pool["name"] == kind
    jsonschema.validate(pool["job_variables"], variables(kind))
    for wrong in ({"image_pull_policy": "Sometimes"}, {"gpus": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**pool["job_variables"], **wrong}, variables(kind))


def test_a_server_takes_both_deployments(server: dict[str, str], printed) -> None:
    (block,) = printed("examples/nodes/README.md")
    for command in block.commands():
        for kind in DEPLOYMENTS:  # the page says that the words are those of docker
            call(*(kind if word == "docker" else word for word in command), cwd=ROOT, env=server)
    for kind, declared in DEPLOYMENTS.items():
        deployment = ask(f"{server['PREFECT_API_URL']}/deployments/name/stage/{kind}")
        assert deployment["work_pool_name"] == kind
        assert deployment["job_variables"] == declared["work_pool"]["job_variables"]
        assert deployment["entrypoint"] == "flows/nodes.py:stage"
        *_, folder = deployment["pull_steps"]
        assert folder["prefect.deployments.steps.set_working_directory"] == {"directory": "/gramlab"}


def test_the_step_that_clones_does_so_once(tmp_path: Path) -> None:
    """Its script, with another folder in the place of /gramlab."""
    (script,) = [step["prefect.deployments.steps.run_shell_script"]["script"]
                 for step in yaml.safe_load(FILE.read_text())["pull"]
                 if "prefect.deployments.steps.run_shell_script" in step]  # fmt: skip
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    call("git", "init", "--quiet", str(origin), cwd=tmp_path)
    author = ("-c", "user.name=t", "-c", "user.email=t@localhost")
    call("git", *author, "commit", "--quiet", "--allow-empty", "-m", "start", cwd=origin)
    for _ in range(2):
        command = ["sh", "-c", script.replace("/gramlab", str(clone))]
        done = subprocess.run(command, env={"PATH": "/usr/bin:/bin", "REPOSITORY": str(origin)}, capture_output=True)
        assert done.returncode == 0, done.stderr
    assert (clone / ".git").is_dir()
