"""Two clones share results through an S3-compatible server on this machine: ``python benchmarks/s3_remote.py``.

Needs ``dvc-s3`` and ``moto[server]`` beside the extra [pipeline]. The first clone runs a dummy project of stages that
cost nothing and pushes; the second clone pulls. The program reports the stages that ran, whether both clones have the
same results and provenance, the objects in the bucket, and seconds. Last output, with dvc-s3 3.3.0 and moto 5.2.5,
on two cores that many other jobs kept busy (load 20), which the seconds show:

    first clone, --push: 10 stages ran, 487 s
    second clone, --pull: 0 stages ran, 534 s
    the second clone has the results and the provenance of the first: True
    objects in the bucket: {'files': 11, 'runs': 20}
"""

import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import dummy_project  # noqa: E402

KEYS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": "us-east-1"}


def contents(project: Path) -> dict[str, bytes]:
    """The outputs of a clone's stages, and their provenance."""
    return {
        str(path.relative_to(project)): path.read_bytes() for path in project.glob("data/quick/**/*") if path.is_file()
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder, port = Path(temporary), dummy_project.port()
        address = f"http://127.0.0.1:{port}"
        env = dummy_project.environment(folder / "home", **KEYS)
        first = dummy_project.make(folder / "first", dummy_project.params(3), provenance=True)
        server = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        with dummy_project.background(server, folder, env, folder / "server.log"):
            assert dummy_project.until(lambda: answers(address), 120), (folder / "server.log").read_text()
            program = "import boto3, sys; boto3.client('s3', endpoint_url=sys.argv[1]).create_bucket(Bucket='store')"
            dummy_project.call(sys.executable, "-c", program, address, cwd=folder, env=env)
            for command in (["add", "--quiet", "--default", "store", "s3://store/gramlab"],
                            ["modify", "--quiet", "store", "endpointurl", address]):  # fmt: skip
                dummy_project.call("dvc", "remote", *command, cwd=first, env=env)
            dummy_project.call("git", "add", "--all", cwd=first)
            author = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
            dummy_project.call("git", *author, "commit", "--quiet", "-m", "remote", cwd=first)
            second = folder / "second"
            dummy_project.call("git", "clone", "--quiet", str(first), str(second), cwd=folder)
            dummy_project.order(second)
            for clone, option in ((first, "--push"), (second, "--pull")):
                began = time.monotonic()
                command = [sys.executable, "-m", "flows.reproduce", "--root", str(clone), "measure", "check", option]
                done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
                assert done.returncode == 0, done.stdout + done.stderr
                seconds = time.monotonic() - began
                print(f"{clone.name} clone, {option}: {len(dummy_project.begun(clone))} stages ran, {seconds:.0f} s")
            same = contents(first) == contents(second)
            print(f"the second clone has the results and the provenance of the first: {same}")
            program = (
                "import boto3, sys, collections; s3 = boto3.client('s3', endpoint_url=sys.argv[1]); "
                "keys = [item['Key'] for item in s3.list_objects_v2(Bucket='store')['Contents']]; "
                "print(dict(collections.Counter(key.split('/')[1] for key in keys)))"
            )
            print(
                "objects in the bucket:",
                dummy_project.call(sys.executable, "-c", program, address, cwd=folder, env=env),
            )


def answers(address: str) -> bool:
    """Whether the server answers."""
    try:
        urllib.request.urlopen(address, timeout=5).close()
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main()
