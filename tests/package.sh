#!/bin/sh
# Tries what ./dev package made, in the bare system that tests/clean_root.sh makes, which has no compiler and none of the
# libraries:
#
#     tests/clean_root.sh --carry build/packages ROOT 'tests/package.sh build/packages'
set -eux
packages=$(cd "$1" && pwd)
! command -v g++ || exit 1
work=$(mktemp -d)
cd "$work"

# try PROGRAM: all but the first need the shipped files, SimGrid, SQLite and the programs beside it.
try() {
  "$1" run resnet50_dgx2 | grep -q 'step time'
  "$1" list | grep -q '^dgx2 \|  dgx2 '
  "$1" run resnet50_dgx2 --set nodes=2 --set platform.fabric.nic="10 Gbps" --fidelity rounds | grep -q 'step time'
  "$1" sweep resnet50_dgx2 --set gpus=4,8 --out "$work/sweep"
  [ "$(wc -l <"$work/sweep/sweep.csv")" = 3 ]
  rm -r "$work/sweep"
  "$1" init platform --gpus 8 --gpu a100_sxm4_80gb --nvlink 12 | grep -q '^node:'
  "$1" calibrate host | grep -q '^import '
}

tar -xzf "$packages"/trainyard_*.tar.gz
mv trainyard_* 'moved here'
ln -s 'moved here/bin/trainyard' linked
try "$work/linked"

apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends "$packages"/trainyard_*.deb python3-pandas
try trainyard
/usr/bin/python3 -c 'import trainyard; assert trainyard.run("resnet50_dgx2")["step_time_s"] > 0'
