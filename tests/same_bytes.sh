#!/bin/sh
# Same input, same bytes out: runs PROGRAM three times and OTHER (another build of it) once, and compares all
# they print and write. Only what a run cost may differ, which --no-usage leaves out.
#
#     tests/same_bytes.sh PROGRAM OTHER
set -eu

program=$1 other=$2
if [ ! -x "$other" ]; then
  echo "$other is not built: nothing to compare with"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

# outputs PROGRAM FOLDER: one file per command and per file a run writes.
outputs() {
  mkdir "$2"
  "$1" run resnet50_dgx2 >"$2/run.txt"
  "$1" run resnet50_dgx2 --set nodes=4 --no-usage --out "$2/nodes4" >"$2/run_nodes4.txt"
  for fidelity in closed flow rounds steps; do
    "$1" run resnet50_dgx2 --set gpus=12 --set precision=amp --fidelity "$fidelity" --no-usage --json >"$2/run_$fidelity.json"
  done
  "$1" trace resnet50_dgx2 -o "$2/trace.csv"
  "$1" collective all_reduce --platform dgx2 --gpus 12 -b 8 -e 1G -f 8 >"$2/collective.txt"
  "$1" topology dgx2 >"$2/topology.txt"
  "$1" topology dgx2 --dot >"$2/topology.dot"
  "$1" model resnet50 --batch 128 >"$2/model.txt"
  for kind in platform gpu model stack experiment; do
    "$1" schema "$kind" >"$2/schema_$kind.json"
  done
  for json in "$2"/run_*.json "$2/nodes4/summary.json"; do
    grep -q '"step_time_s"' "$json"
  done
}

outputs "$program" "$work/first"
outputs "$program" "$work/second"
outputs "$program" "$work/third"
outputs "$other" "$work/other"
status=0
for folder in second third other; do
  diff -r "$work/first" "$work/$folder" || status=1
done
exit $status
