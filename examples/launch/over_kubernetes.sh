#!/bin/sh
# Runs a program in a pod that mounts the volume with the project's folder at the same path. Not tried on a cluster.
#
#   python -m flows.reproduce --workers 8 --launch "sh examples/launch/over_kubernetes.sh IMAGE VOLUME"
#
# IMAGE has Python and the libraries of .venv; VOLUME is a PersistentVolumeClaim that many pods may write to.
set -eu
image=$1 volume=$2
shift 2
pod="gramlab-$(date +%s)-$$"
variables=$(env | sed -n 's/^\(\(DVC\|GRAMLAB\|OMP\|OPENBLAS\|MKL\)_[A-Z_]*\)=\(.*\)$/{"name": "\1", "value": "\3"},/p')
words=$(for word in "$@"; do printf '"%s",' "$word"; done)
trap 'kubectl delete pod "$pod" --now --wait=false >/dev/null 2>&1' EXIT
trap 'exit 143' INT TERM
kubectl run "$pod" --image="$image" --restart=Never --attach --quiet --overrides="$(cat <<JSON
{"spec": {
  "restartPolicy": "Never",
  "volumes": [{"name": "project", "persistentVolumeClaim": {"claimName": "$volume"}}],
  "containers": [{
    "name": "$pod", "image": "$image", "command": [${words%,}], "workingDir": "$PWD",
    "env": [${variables%,}],
    "resources": {"limits": {"nvidia.com/gpu": 1}},
    "volumeMounts": [{"name": "project", "mountPath": "$PWD"}]
  }]
}}
JSON
)" &
wait $!
