#!/bin/sh
# Golden outputs: runs the program with the arguments in each NAME.cmd of this folder and compares what it prints
# with NAME.out. `golden.sh PROGRAM --update` writes the .out files anew; read the diff before committing it.
set -eu
program=$(readlink -f "$1")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset COLUMNS  # the usual width
failed=0
for command in "$here"/*.cmd; do
  name=$(basename "$command" .cmd)
  # The file holds words for the shell, without quotes in them.
  # shellcheck disable=SC2046
  NO_COLOR=1 "$program" $(cat "$command") >"$name.out" 2>"$name.err" || {
    echo "$name: exit $?"
    cat "$name.err"
    failed=1
  }
  if [ "${2:-}" = --update ]; then
    cp "$name.out" "$here/$name.out"
  elif ! diff -u "$here/$name.out" "$name.out"; then
    failed=1
  fi
done
exit $failed
