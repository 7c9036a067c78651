#!/bin/bash
# A sweep as Slurm jobs, for real: on a cluster of four nodes on this machine PROGRAM submits 400 points in four
# shards, twice. The second time a node is lost in mid-sweep, and its task has to go on elsewhere. Both must end with
# the bytes that one process writes. Prints how long the first took.
#
#     tests/slurm/sweep.sh PROGRAM
set -euo pipefail

# shellcheck source=tests/slurm/cluster.sh
. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
program=$(realpath "${1:?PROGRAM}")
TRAINYARD_DATA=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export TRAINYARD_DATA

work=$(mktemp -d)
finish() {
  status=$?
  stop_cluster
  if [ $status != 0 ]; then
    tail -n 20 "$work"/*/slurm/*.log "$work/cluster/slurmctld.log" >&2 || :
  fi
  rm -rf "$work" || { sleep 1; rm -rf "$work"; }
  exit $status
}
trap finish EXIT
trap 'exit 1' INT TERM

# 5 models, 5 batches, 1 to 4 nodes with 2 to 8 GPUs; some do not fit into memory and are rows of failures.csv. The
# platform is a file in the folder from which the sweep is submitted.
cp "$TRAINYARD_DATA/platforms/dlperf.yaml" "$work/"
cd "$work"
sweep() {
  "$program" sweep resnet50_dlperf --set platform=dlperf.yaml --set model=resnet50,resnet152,vgg16,bert_base,gpt2_small \
    --set batch_per_gpu=8,16,32,64,128 --set nodes=1..4 --set gpus_per_node=2,4,6,8 "$@"
}

# job JOB: what Slurm says of a job, a line for each task.
job() { scontrol --oneliner show job "$1"; }
is_in_state() { job "$1" | grep -qE "JobState=($2)( |$)"; }

# submit FOLDER: a sweep, cut into shards; sets `array` and `merge`.
submit() {
  local submitted
  submitted=$(sweep --out "$1" --slurm --submit)
  [[ $submitted =~ ^array\ ([0-9]+),\ merge\ ([0-9]+)$ ]] || die "not told what was submitted: $submitted"
  array=${BASH_REMATCH[1]} merge=${BASH_REMATCH[2]}
}

await_merge() { wait_until 120 'the merge does not end' is_in_state "$merge" 'COMPLETED|FAILED|CANCELLED'; }

# Failed points end the merge as they end a sweep, with 4; tasks of the array have done their work.
check() {
  local folder=$1 file
  job "$array" | grep -c 'JobState=COMPLETED .*ExitCode=0:0' >"$work/completed" || :
  [ "$(cat "$work/completed")" = 4 ] || die "not all tasks have completed: $(job "$array")"
  job "$merge" | grep -q ' ExitCode=4:0 ' || die "the merge has not ended with 4: $(job "$merge")"
  for file in sweep.csv failures.csv report.html; do
    cmp "$work/one/$file" "$folder/$file" || die "$file is not that of a single process"
  done
}

echo 'one process ...'
status=0
sweep --out "$work/one" >/dev/null 2>&1 || status=$?
[ $status = 4 ] || die "the sweep of one process ended with $status"
[ "$(cat "$work/one/sweep.csv" "$work/one/failures.csv" | wc -l)" = 402 ] || die 'not 400 points'

mkdir "$work/cluster"
start_cluster "$work/cluster" 4
begun=$(date +%s%N)
# A folder with all that a shell or Slurm might read as something else.
odd=$work/"a \"sweep\", it's 50%a"
submit "$odd"
await_merge
took=$((($(date +%s%N) - begun) / 10000000))
check "$odd"
printf '400 points on 4 nodes: %d.%02d s from --submit to the merged files\n' $((took / 100)) $((took % 100))

# hold_shard FOLDER: stops the processes of the first shard once a tenth of it is done; false if it ended before. It runs
# in short bursts until then: on a busy machine it would end while this script looks.
# shellcheck disable=SC2086 # a list of processes
hold_shard() {
  local log=$1/slurm/shard-1.log pids='' last=$((SECONDS + 60))
  wait_until 30 'no shard begins' test -e "$log"
  while [ -z "$pids" ]; do
    ! grep -qs '100 %' "$log" || return 1
    [ $SECONDS -lt $last ] || die 'no shard begins'
    pids=$({ grep -lsxz '1[/]4' /proc/[0-9]*/cmdline || :; } | cut -d/ -f3)
  done
  while kill -STOP $pids 2>/dev/null && ! grep -qs '100 %' "$log"; do
    ! grep -qs '10 %' "$log" || return 0
    [ $SECONDS -lt $last ] || die 'the shard gets no further'
    kill -CONT $pids
    sleep 0.02
  done
  kill -CONT $pids 2>/dev/null || :
  return 1
}

for try in 1 2 3 4 5; do
  folder=$work/lost$try
  submit "$folder"
  ! hold_shard "$folder" || break
  folder=''
  await_merge
done
[ -n "$folder" ] || die 'every first shard ended before its node could be lost'
lost=$(squeue -h -t RUNNING -j "${array}_1" -o %N)
lose_node "$lost"
begun=$SECONDS
await_merge
job "${array}_1" | grep -q ' Restarts=1 ' || die "the task of $lost was not requeued: $(job "${array}_1")"
grep -qE '^[1-9][0-9]* of 100 points were ' "$folder/slurm/shard-1.log" || die 'the requeued task began anew'
check "$folder"
echo "lost $lost in shard 1: requeued and merged after $((SECONDS - begun)) s"
