# shellcheck shell=bash
# A Slurm cluster of several nodes on this machine, for a test to source: its own configuration, key, sockets, ports
# and state in one folder, as whoever calls it, without systemd and beside any other Slurm. Needs Debian's slurmctld,
# slurmd, slurm-client and munge.
#
#     start_cluster FOLDER NODES   nodes n1 to nNODES of one processor each; exports SLURM_CONF
#     lose_node NODE               kills a node's daemon and all that runs on it, as a power cut does
#     stop_cluster                 ends all of it, jobs too; to be called at exit, whatever happened

die() {
  echo "${0##*/}: $*" >&2
  exit 1
}

declare -A daemons=() # process ids by name

# daemon NAME COMMAND...: in the foreground of a process of its own, with its output in FOLDER/NAME.log.
daemon() {
  local name=$1
  shift
  "$@" </dev/null >"$cluster/$name.log" 2>&1 &
  daemons[$name]=$!
  disown # bash would print a notice of its death
}

# wait_until SECONDS WHAT COMMAND...: fails with WHAT if COMMAND does not succeed in time.
wait_until() {
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@"; do
    [ $SECONDS -lt $end ] || die "$what"
    sleep 0.05
  done
}

is_free() { ! (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# free_ports COUNT: the first of so many neighbours that nobody listens at. They are below those that the kernel gives
# to outgoing connections (32768 and above).
free_ports() {
  local first=$((20000 + $$ % 12000)) port
  for ((port = first; port < first + $1; ++port)); do
    if ! is_free "$port"; then
      ((first = port + 1))
      [ "$first" -lt 32500 ] || first=10000
    fi
  done
  echo "$first"
}

# A node is lost when it has been silent for SlurmdTimeout. A requeued task waits until its old credential has expired
# (cred_expire): five seconds are the least, for less Slurm takes its default of two minutes.
write_configuration() {
  local nodes=$1 ports i
  ports=$(free_ports $((nodes + 1)))
  cat >"$SLURM_CONF" <<CONF
ClusterName=trainyard
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$ports
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$cluster/munge.socket,cred_expire=5
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool.%n
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/slurmd.%n.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SlurmdTimeout=5
SlurmctldTimeout=5
MessageTimeout=3
TCPTimeout=1
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1
CONF
  echo 'CgroupPlugin=cgroup/v1' >"$cluster/cgroup.conf" # without a choice slurmd looks for /sys
  for ((i = 1; i <= nodes; ++i)); do
    echo "NodeName=n$i NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$((ports + i)) CPUs=1 RealMemory=1000"
    mkdir "$cluster/spool.n$i"
  done >>"$SLURM_CONF"
  echo "PartitionName=all Nodes=n[1-$nodes] Default=YES MaxTime=INFINITE State=UP" >>"$SLURM_CONF"
}

idle_nodes() { sinfo -h -t idle -o %D 2>/dev/null; }
has_idle() { [ "$(idle_nodes)" = "$1" ]; }

start_cluster() {
  cluster=$1
  local nodes=$2 i
  export SLURM_CONF=$cluster/slurm.conf
  mkdir -p "$cluster/state"
  write_configuration "$nodes"
  (umask 077 && head -c 1024 /dev/urandom >"$cluster/munge.key")
  # Forced, munged takes a key, a socket and a log in a folder that others may write to, as /tmp is.
  daemon munged /usr/sbin/munged --foreground --force --key-file="$cluster/munge.key" \
    --socket="$cluster/munge.socket" --pid-file="$cluster/munged.pid" --seed-file="$cluster/munged.seed"
  wait_until 10 'munged does not start' test -S "$cluster/munge.socket"
  daemon slurmctld /usr/sbin/slurmctld -D
  for ((i = 1; i <= nodes; ++i)); do daemon "n$i" /usr/sbin/slurmd -D -N "n$i"; done
  wait_until 30 "not all of $nodes nodes come up" has_idle "$nodes"
}

# environment PID: a process's environment, a variable per line between line breaks.
environment() { printf '\n%s\n' "$(tr '\0' '\n' 2>/dev/null <"/proc/$1/environ")"; }

# running_on NODE: process ids of what this cluster's jobs run on a node ('*': on any), each of Slurm's shepherds
# before its flock, so that none lives to tell of the others' end.
running_on() {
  local process pid variables parent shepherds='' flock=''
  for process in /proc/[0-9]*; do
    pid=${process#/proc/}
    variables=$(environment "$pid") 2>/dev/null
    [[ $variables == *$'\n'SLURM_CONF="$SLURM_CONF"$'\n'* ]] || continue
    # shellcheck disable=SC2053 # a pattern
    [[ $variables == *$'\n'SLURMD_NODENAME=$1$'\n'* ]] || continue
    flock+=" $pid"
    parent=$(awk '/^PPid:/ {print $2}' "$process/status" 2>/dev/null) || continue
    [ "$(cat "/proc/$parent/comm" 2>/dev/null)" != slurmstepd ] || shepherds+=" $parent"
  done
  echo "$shepherds$flock"
}

lose_node() {
  local processes
  processes=$(running_on "$1")
  # shellcheck disable=SC2086 # a list
  kill -KILL "${daemons[$1]}" $processes 2>/dev/null || :
}

# is_alive PID: and not a zombie.
is_alive() { grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$1/status"; }

stop_cluster() {
  local processes pid tries
  [ -n "${SLURM_CONF:-}" ] || return 0
  processes="${daemons[*]} $(running_on '*')"
  # shellcheck disable=SC2086 # a list
  [ -z "${processes// /}" ] || kill -KILL $processes 2>/dev/null || :
  for pid in $processes; do # what still ends may still write into the folder
    for ((tries = 0; tries < 40; ++tries)); do
      is_alive "$pid" || break
      sleep 0.05
    done
  done
}
