#!/bin/bash
# Loads the completion script of each shell that is installed and completes some command lines with it, and reads the
# manual page with the formatters that are installed. Those that are not are named and left out.
#
#     tests/shells.sh PROGRAM SOURCE_DIR
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ln -s "$(realpath "$1")" "$folder/trainyard"
TRAINYARD_DATA=$(realpath "$2")
export TRAINYARD_DATA PATH="$folder:$PATH" HOME="$folder"
cd "$folder"
touch note.csv
mkdir results
for shell in bash zsh fish; do trainyard completion $shell >"_$shell"; done
trainyard manual >trainyard.1

# Each answers with one candidate per line. $1 is the whole line, complete up to its last character.
in_bash() {
  # shellcheck disable=SC2016 # expanded by the inner shell
  bash --norc -c 'source _bash && complete -p trainyard >complete.log
    line=${1//=/ = }
    read -ra COMP_WORDS <<<"$line"
    [[ $line != *" " || $line == *"= " ]] || COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _trainyard && printf "%s\n" "${COMPREPLY[@]}"' bash "$1"
}
in_zsh() {
  # What only exists while a line is being edited is stood in for.
  # shellcheck disable=SC2016
  zsh -f -c 'compdef() { [[ "$*" == "_trainyard trainyard" ]] }
    _describe() { print -l -- ${(P)4%%:*} }
    compset() { PREFIX=${PREFIX#${~2}} }
    _files() { if [[ $1 == -/ ]] { print -l -- $PREFIX*(/N) } else { print -l -- $PREFIX*(N) } }
    source ./_zsh || exit 1
    words=(${=1}) && [[ $1 != *" " ]] || words+=("")
    CURRENT=$#words PREFIX=$words[-1]
    _trainyard' zsh "$1"
}
in_fish() {
  # shellcheck disable=SC2016
  fish --no-config -c 'source _fish; complete --do-complete "$argv[1]"' "$1" | cut -f 1
}
complete_in() {
  case $1 in
    bash) in_bash "$2" ;;
    zsh) in_zsh "$2" ;;
    fish) in_fish "$2" ;;
  esac
}

failed=0
# expect SHELL LINE HAS [HAS_NOT]
expect() {
  local answer
  answer=$(complete_in "$1" "$2" 2>errors) || :
  if [ -s errors ] || ! grep -qxF -e "$3" <<<"$answer" || { [ -n "${4:-}" ] && grep -qxF -e "$4" <<<"$answer"; }; then
    echo "$1, '$2': $3 should be there${4:+, $4 should not}, and no error:"
    printf '%s\n' "$answer"
    cat errors
    failed=1
  fi
}

for shell in bash zsh fish; do
  if ! command -v "$shell" >found.log; then
    echo "$shell is not installed: its completion is not tested"
    continue
  fi
  value=flow
  [ $shell = bash ] || value=--fidelity=flow # bash breaks words at "="
  expect $shell 'trainyard ru' run trace
  expect $shell 'trainyard run res' resnet50_dgx2 results
  expect $shell 'trainyard run resnet50_dgx2 --fidelity ' flow note.csv
  expect $shell 'trainyard run resnet50_dgx2 --fidelity=fl' "$value" rounds
  expect $shell 'trainyard run resnet50_dgx2 --json --' --fidelity --json
  expect $shell 'trainyard calibrate ' collectives run
  expect $shell 'trainyard calibrate gpu --scale-from v100_sxm2_1' v100_sxm2_16gb t4
  expect $shell 'trainyard collective all_reduce --platform dgx' dgx2 ts4
  expect $shell 'trainyard check no' note.csv
  expect $shell 'trainyard init platform no' note.csv
  expect $shell 'trainyard init platform --gpu v100_sxm2_1' v100_sxm2_16gb t4
done
expect bash 'trainyard run resnet50_dgx2 --out r' results note.csv

if command -v groff >found.log; then
  groff -man -Tutf8 -ww trainyard.1 >page 2>errors
  [ ! -s errors ] || { cat errors && failed=1; }
else
  echo 'groff is not installed: the manual page is not formatted'
fi
if command -v mandoc >found.log; then
  # without a date on purpose
  mandoc -Tlint -Wwarning trainyard.1 | grep -v 'missing date' && failed=1
else
  echo 'mandoc is not installed: it has not checked the manual page'
fi
exit $failed
