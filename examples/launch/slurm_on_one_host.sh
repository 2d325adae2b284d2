#!/bin/sh
# Starts a Slurm cluster of two nodes on this one machine, for trying `--launch "... over_slurm.sh ..."`; as root, on Debian:
#
#   apt-get install --no-install-recommends slurmctld slurmd slurm-client munge
#   examples/launch/slurm_on_one_host.sh start FOLDER      # FOLDER/slurm.conf is SLURM_CONF for srun and squeue
#   examples/launch/slurm_on_one_host.sh stop FOLDER
set -eu
folder=$2
export SLURM_CONF=$folder/slurm.conf

stop() {
  for name in n1 n2 slurmctld munged; do
    if [ -s "$folder/$name.pid" ]; then kill "$(cat "$folder/$name.pid")" 2>/dev/null || true; fi
  done
}

if [ "$1" = stop ]; then stop; exit 0; fi
mkdir -p "$folder/state" "$folder/n1" "$folder/n2"
chmod 755 "$folder"
head -c 64 /dev/urandom > "$folder/munge.key"
chmod 600 "$folder/munge.key"
cat > "$SLURM_CONF" <<CONF
ClusterName=one_host
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=27817
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
ReturnToService=1
InactiveLimit=0
KillWait=5
SlurmdTimeout=20
SlurmctldTimeout=20
StateSaveLocation=$folder/state
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/%n.pid
SlurmdSpoolDir=$folder/%n
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/%n.log
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n1 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=27821 CPUs=1
NodeName=n2 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=27822 CPUs=1
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
CONF
munged --force --key-file "$folder/munge.key" --socket "$folder/munge.socket" --pid-file "$folder/munged.pid" \
  --log-file "$folder/munged.log" --seed-file "$folder/munged.seed"
slurmctld -c
sleep 1
slurmd -N n1
slurmd -N n2
sleep 2
sinfo
