#!/bin/sh
# Starts a Ray cluster of two nodes on this one machine, for trying `--launch "python examples/launch/over_ray.py ..."`,
# with the `ray` of PATH:
#
#   python -m venv /var/tmp/ray_environment && /var/tmp/ray_environment/bin/pip install "ray[default]"
#   export PATH=/var/tmp/ray_environment/bin:$PATH RAY_AUTH_MODE=token RAY_AUTH_TOKEN=$(openssl rand -hex 32)
#   examples/launch/ray_on_one_host.sh start FOLDER      # the job server is http://127.0.0.1:8265
#   examples/launch/ray_on_one_host.sh lose two          # kills a node and all its programs, as a power cut does
#   examples/launch/ray_on_one_host.sh stop
#
# Without a token whoever reaches the job server can run commands.
set -eu

if [ "$1" = stop ]; then ray stop >/dev/null; exit 0; fi
if [ "$1" = lose ]; then
  for process in $(pgrep -x raylet); do
    if tr '\0' '\n' < "/proc/$process/environ" | grep -qx "NODE=$2"; then kill -9 "$process"; fi
  done
  exit 0
fi
common="--num-cpus 1 --disable-usage-stats --object-store-memory 100000000"
# shellcheck disable=SC2086
NODE=one ray start --head --port 6379 --dashboard-host 127.0.0.1 --dashboard-port 8265 --temp-dir "$2" $common >/dev/null
# each node has an agent that starts its jobs; on one host they need ports of their own
# shellcheck disable=SC2086
NODE=two ray start --address 127.0.0.1:6379 --dashboard-agent-listen-port 52366 $common >/dev/null
ray status
