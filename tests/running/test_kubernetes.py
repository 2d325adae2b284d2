"""The examples for Kubernetes: the real kubectl before a stand-in for a cluster, and the manifest of the nodes.

kubectl and the package `kubernetes-validate`, which has the schemas of Kubernetes, are no dependencies. Without kubectl
the tests that need it are skipped; without the schemas less is checked.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest
import yaml
from dummy_project import ROOT, alive, background, begun, order, traces, until, until_hanging

LAUNCH = [sys.executable, str(ROOT / "examples/launch/over_kubernetes.py"), "image:1", "claim"]
MANIFEST = list(yaml.safe_load_all((ROOT / "examples/nodes/kubernetes.yaml").read_text()))
PODS = "/api/v1/namespaces/default/pods"
NODE = "GRAMLAB_NODE"
VERBS = ["create", "delete", "get", "list", "watch"]
DISCOVERY: dict[str, Any] = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [
        {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": VERBS}]},
}  # fmt: skip
with_kubectl = pytest.mark.skipif(
    shutil.which("kubectl") is None, reason="waits for kubectl on the PATH, the client that the example calls"
)


def against_the_schema(content: dict[str, Any]) -> None:
    """Refuse what Kubernetes would refuse, where its schemas are installed: unknown fields and wrong types."""
    try:
        import kubernetes_validate
    except ImportError:
        return
    kubernetes_validate.validate(content, "1.32", strict=True)


def is_whole(spec: dict[str, Any], claims: set[str]) -> None:
    """Each mounted volume is there, names are valid, and a limit of GPUs is a whole number."""
    volumes = claims | {volume["name"] for volume in spec.get("volumes", [])}
    for container in spec["containers"]:
        assert container["image"]
        assert len(container["name"]) <= 63
        assert container["name"] == container["name"].lower()
        assert {mount["name"] for mount in container.get("volumeMounts", [])} <= volumes
        for variable in container.get("env", []):
            if variable["name"] == NODE:  # the kubelet fills it in
                assert variable["valueFrom"]["fieldRef"]["fieldPath"] == "spec.nodeName"
            else:
                assert isinstance(variable["value"], str)
        assert all(str(limit).isdigit() for limit in container.get("resources", {}).get("limits", {}).values())


class Cluster(ThreadingHTTPServer):
    """What kubectl asks of a cluster in order to run a pod; the program of a pod runs here, as a process."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Api)
        self.pods: dict[str, dict[str, Any]] = {}
        self.logs: dict[str, str] = {}
        self.programs: dict[str, subprocess.Popen[str]] = {}
        self.deleted: list[str] = []

    def begin(self, pod: dict[str, Any]) -> None:
        (container,) = pod["spec"]["containers"]
        name = pod["metadata"]["name"]
        pod["metadata"]["namespace"] = "default"
        pod["status"] = {"phase": "Pending"}
        words = [word.replace("$$(", "$(") for word in container["command"]]  # as the kubelet does
        variables = {
            variable["name"]: variable.get("value", "pod").replace("$$(", "$(") for variable in container["env"]
        }
        program = subprocess.Popen(
            words, cwd=container["workingDir"], env={"PATH": os.environ["PATH"], **variables},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        self.pods[name], self.programs[name] = pod, program
        threading.Thread(target=self.follow, args=(name,), daemon=True).start()

    def follow(self, name: str) -> None:
        self.logs[name], _ = self.programs[name].communicate()
        status = self.programs[name].returncode
        state = {"terminated": {"exitCode": status}}
        self.pods[name]["status"] = {
            "phase": "Failed" if status else "Succeeded",
            "containerStatuses": [{"name": name, "ready": False, "restartCount": 0, "image": "", "imageID": "",
                                   "state": state}],
        }  # fmt: skip


class Api(BaseHTTPRequestHandler):
    server: Cluster

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def answer(self, content: Any, status: int = 200, kind: str = "application/json") -> None:
        body = content if isinstance(content, str) else json.dumps(content)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body.encode())

    def do_GET(self) -> None:
        path = urlparse(self.path).path
        name, _, action = path.removeprefix(PODS).strip("/").partition("/")
        if path in DISCOVERY:
            self.answer(DISCOVERY[path])
        elif "watch=" in self.path:  # tells once, at the pod's end
            pod = next(pod for key, pod in self.server.pods.items() if key in self.path)
            until(lambda: pod["status"]["phase"] != "Pending", 60)
            self.answer({"type": "MODIFIED", "object": pod})
        elif path == PODS:
            items = [pod for key, pod in self.server.pods.items() if key in self.path]
            self.answer({"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items})
        elif action == "log":
            self.answer(self.server.logs[name], kind="text/plain")
        elif name in self.server.pods:
            self.answer(self.server.pods[name])
        else:
            self.answer({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404}, 404)

    def do_POST(self) -> None:
        pod = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        against_the_schema(pod)
        is_whole(pod["spec"], set())
        self.server.begin(pod)
        self.answer(pod, 201)

    def do_DELETE(self) -> None:
        name = urlparse(self.path).path.removeprefix(PODS).strip("/")
        if name not in self.server.pods:
            return self.answer({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404}, 404)
        self.server.deleted.append(name)
        if self.server.programs[name].poll() is None:
            os.killpg(self.server.programs[name].pid, signal.SIGKILL)
        self.answer(self.server.pods[name])


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A cluster that kubectl finds through its usual settings."""
    with Cluster() as cluster:
        threading.Thread(target=cluster.serve_forever, daemon=True).start()
        settings = {
            "apiVersion": "v1", "kind": "Config", "current-context": "here",
            "clusters": [{"name": "here", "cluster": {"server": f"http://127.0.0.1:{cluster.server_port}"}}],
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "nobody"}}],
            "users": [{"name": "nobody", "user": {}}],
        }  # fmt: skip
        (tmp_path / "kubeconfig").write_text(yaml.safe_dump(settings))
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        monkeypatch.setenv("KUBECACHEDIR", str(tmp_path / "kubecache"))
        yield cluster
        cluster.shutdown()


@with_kubectl
def test_a_pod_runs_the_words_as_they_are_and_gives_its_status(cluster: Cluster, tmp_path: Path) -> None:
    program = "import os, sys; print(sys.argv[1:], os.environ['DVC_STAGE']); sys.exit(3)"
    words = ["two words", 'a "quoted" one', "back\\slash", "$(HOME)", "--option"]
    env = {**os.environ, "DVC_STAGE": 'a "name"', "SECRET": "not passed on"}
    done = subprocess.run(
        [*LAUNCH, "--gpus", "1", "--", sys.executable, "-c", program, *words],
        cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert done.stdout == f'{words} a "name"\n'
    ((name, pod),) = cluster.pods.items()
    (container,) = pod["spec"]["containers"]
    assert container["workingDir"] == str(tmp_path)
    assert container["resources"] == {"limits": {"nvidia.com/gpu": "1"}}
    assert pod["spec"]["restartPolicy"] == "Never"
    assert "SECRET" not in {variable["name"] for variable in container["env"]}
    assert cluster.deleted == [name], "nothing is left behind"


@with_kubectl
def test_a_pod_of_a_second_try_prefers_other_nodes(cluster: Cluster, tmp_path: Path) -> None:
    for more in ({}, {"GRAMLAB_AVOID": "one,two"}):
        subprocess.run([*LAUNCH, "--", "true"], cwd=tmp_path, env={**os.environ, **more}, check=True, timeout=120)
    first, second = (pod["spec"].get("affinity") for pod in cluster.pods.values())
    assert first is None
    (preference,) = second["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    (other,) = preference["preference"]["matchExpressions"]
    assert other == {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["one", "two"]}


@with_kubectl
def test_a_flow_sends_its_programs_to_pods_and_cancelling_ends_them(
    cluster: Cluster, project: Path, tmp_path: Path, server: dict[str, str]
) -> None:
    env = {**server, "KUBECONFIG": os.environ["KUBECONFIG"], "KUBECACHEDIR": os.environ["KUBECACHEDIR"]}
    command = [sys.executable, "-m", "flows.reproduce", "--root", str(project), "--launch", " ".join([*LAUNCH, "--"])]
    done = subprocess.run([*command, "s0"], cwd=ROOT, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [trace["node"] for trace in traces(project) if trace["stage"] == "simulate@s0"] == ["pod", "pod"]
    assert begun(project).count("simulate@s0") == len(cluster.pods) == 1
    order(project, hang=["train@run"])
    with background([*command, "run"], ROOT, env, tmp_path / "log") as process:
        remote = until_hanging(project)
        os.kill(process.pid, signal.SIGINT)
        assert until(lambda: not any(map(alive, remote)), 30)
        assert until(lambda: process.poll() is not None, 30)
    assert until(lambda: set(cluster.deleted) == set(cluster.pods), 10)


def test_the_manifest_of_the_nodes_is_one_that_kubernetes_takes() -> None:
    service, nodes = MANIFEST
    for content in MANIFEST:
        against_the_schema(content)
    assert (service["kind"], nodes["kind"]) == ("Service", "StatefulSet")
    assert service["metadata"]["name"] == nodes["spec"]["serviceName"]
    labels = nodes["spec"]["template"]["metadata"]["labels"]
    assert nodes["spec"]["selector"]["matchLabels"] == service["spec"]["selector"] == labels
    claims = {claim["metadata"]["name"] for claim in nodes["spec"]["volumeClaimTemplates"]}
    is_whole(nodes["spec"]["template"]["spec"], claims)
