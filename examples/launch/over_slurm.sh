#!/bin/sh
# Runs a program with srun; where this script is ended, the job is cancelled.
#
#   python -m flows.reproduce --workers 8 --launch "sh examples/launch/over_slurm.sh -N1 -n1 --gres=gpu:1"
#
# srun alone would do, but for one thing: the flow ends the whole process group of a launch command, and srun that is ended so
# leaves its job in the queue, where it keeps its node until the job's time limit. So srun has a session of its own here.
# A second try of a stage leaves out the nodes in GRAMLAB_AVOID, if another node answers.
set -u
avoid=${GRAMLAB_AVOID:-}
others=$(sinfo --noheader --Node --responding --format=%N | sort -u | grep -vxF "$(echo "$avoid" | tr , '\n')")
if [ -n "$avoid" ] && [ -n "$others" ]; then
  set -- "--exclude=$avoid" "$@"
fi
name="gramlab-$(hostname)-$$-$(date +%s)"
setsid srun --quiet --job-name "$name" "$@" </dev/null &
srun=$!
trap 'trap "" INT TERM; scancel --quiet --name "$name"; wait "$srun"; exit 143' INT TERM
wait "$srun"
