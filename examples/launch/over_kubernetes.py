"""Run a program in a pod that mounts the volume with the project's folder at the same path.

    python -m flows.reproduce --workers 8 --launch "python examples/launch/over_kubernetes.py IMAGE VOLUME --gpus 1 --"

IMAGE has Python and the libraries of .venv; VOLUME is a PersistentVolumeClaim that many pods may write to. The program
has the PATH of the image. A second try of a stage prefers other machines than those in GRAMLAB_AVOID. `kubectl` and its
settings say which cluster and which namespace.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import uuid
from typing import Any

PASSED_ON = ("DVC_", "GRAMLAB_", "OMP_", "OPENBLAS_", "MKL_")  # beginnings of variables' names
PENDING = "24h"  # how long a pod may wait for a free machine; kubectl's own limit is one minute


def pod(name: str, image: str, volume: str, gpus: int, words: list[str]) -> dict[str, Any]:
    """What differs from the pod that `kubectl run` makes by itself."""
    variables = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)}
    container = {
        "name": name,
        "image": image,
        "command": words,
        "workingDir": os.getcwd(),
        "env": [
            *({"name": variable, "value": value.replace("$(", "$$(")} for variable, value in variables.items()),
            {"name": "GRAMLAB_NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        ],
        "resources": {"limits": {"nvidia.com/gpu": gpus}} if gpus else {},
        "volumeMounts": [{"name": "project", "mountPath": os.getcwd()}],
    }
    claim = {"name": "project", "persistentVolumeClaim": {"claimName": volume}}
    spec = {"containers": [container], "volumes": [claim]}
    if avoid := os.environ.get("GRAMLAB_AVOID"):
        other = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": avoid.split(",")}
        preference = {"weight": 100, "preference": {"matchExpressions": [other]}}
        spec["affinity"] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preference]}}
    return {"apiVersion": "v1", "spec": spec}


def main() -> int:
    """Run the program; its exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("image")
    parser.add_argument("volume")
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("words", nargs="+", help="of the program, after --")
    chosen = parser.parse_args()
    name = f"gramlab-{uuid.uuid4()}"
    words = [word.replace("$(", "$$(") for word in chosen.words]  # else Kubernetes looks for a variable of this name
    overrides = json.dumps(pod(name, chosen.image, chosen.volume, chosen.gpus, words))
    command = ["kubectl", "run", name, "--image", chosen.image, "--restart", "Never", "--attach", "--quiet",
               "--pod-running-timeout", PENDING, "--overrides", overrides]  # fmt: skip
    kubectl = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, lambda *_: kubectl.terminate())
    status = kubectl.wait()
    # also the pod of a program that has ended; --now leaves the program a second
    subprocess.run(["kubectl", "delete", "pod", name, "--now", "--wait=false", "--ignore-not-found"],
                   stdout=subprocess.DEVNULL)  # fmt: skip
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
