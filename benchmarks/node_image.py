"""Run a node in a container of examples/nodes/Dockerfile: ``python benchmarks/node_image.py``, as root, on Debian.

It needs ``buildah`` and the image `gramlab-node`, as in examples/nodes/README.md. The image's own command
clones a dummy project of stages that cost nothing and serves a coordinator, which runs outside; git's and DVC's remotes
are folders that both see. Last output, where Debian 12 with its Python 3.11.2 stood in for python:3.11-slim:

    status 0 after 23 s
    stages that ran in the container: prepare@roll, train@run, measure@run
    stages that ran outside: none
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import dummy_project  # noqa: E402
from dummy_project import background, begun, call  # noqa: E402

IMAGE = "gramlab-node"


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        clone = dummy_project.make(folder / "coordinator", dummy_project.params(2), provenance=True)
        for name in ("flows", "gramlab", "tasks"):
            shutil.copytree(ROOT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("prefect.toml", "prefect.yaml"):
            shutil.copy(ROOT / name, clone)
        # a node's own clone has no orders.json, which git ignores; its stages then read this one
        program = (clone / "stage.py").read_text()
        (clone / "stage.py").write_text(program.replace('Path("orders.json")', f'Path("{clone}/orders.json")'))
        call("dvc", "remote", "add", "--quiet", "--default", "store", str(folder / "store"), cwd=clone)
        author = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
        call("git", "add", "--all", cwd=clone)
        call("git", *author, "commit", "--quiet", "-m", "code", cwd=clone)

        env = dummy_project.environment(folder / "home", **dummy_project.at(dummy_project.port()))
        with dummy_project.server(folder, env) as address:
            call("prefect", "work-pool", "create", "nodes", "--type", "process", cwd=clone, env=env)
            call("prefect", "--no-prompt", "deploy", "-n", "node", cwd=clone, env=env)
            container = call("buildah", "from", "--pull-never", IMAGE, cwd=folder).strip()
            try:
                words = json.loads(call("buildah", "inspect", container, cwd=folder))["OCIv1"]["config"]["Cmd"]
                settings = [f"--env={name}={value}" for name, value in
                            (("PREFECT_API_URL", address), ("REPOSITORY", str(clone)),
                             ("PREFECT_WORKER_QUERY_SECONDS", "2"))]  # fmt: skip
                mounts = [f"--volume={folder}:{folder}", f"--volume={folder / 'volume'}:/gramlab"]
                (folder / "volume").mkdir()
                node = ["buildah", "run", "--isolation", "chroot", *settings, *mounts, container, "--", *words]
                with background(node, folder, env, folder / "node.log"):
                    command = [sys.executable, "-m", "flows.reproduce", "--root", str(clone), "--nodes", "stage/node"]
                    began = time.monotonic()
                    done = subprocess.run([*command, "--workers", "1", "run"], cwd=ROOT, env=env, text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=500)  # fmt: skip
                    assert done.returncode == 0, done.stdout + (folder / "node.log").read_text()
                    print(f"status 0 after {time.monotonic() - began:.0f} s")
                    print("stages that ran in the container:", ", ".join(begun(folder / "volume")))
                    print("stages that ran outside:", ", ".join(begun(clone)) or "none")
            finally:
                call("buildah", "rm", container, cwd=folder)


if __name__ == "__main__":
    main()
