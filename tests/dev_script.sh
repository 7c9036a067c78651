#!/bin/sh
# The script ./dev where programs are missing, and what it reads from a build's log.
#
#     tests/dev_script.sh ROOT
set -eu
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "dev_script.sh: $*" >&2
  exit 1
}

# macOS has no nproc: PATH has only what `./dev help` and an unsupported system's message need.
mkdir "$folder/bin"
for program in sh cat dirname; do ln -s "$(command -v "$program")" "$folder/bin/"; done
PATH=$folder/bin sh "$root/dev" help >"$folder/help" 2>"$folder/errors" || fail "help failed: $(cat "$folder/errors")"
grep -q '^usage: ./dev COMMAND' "$folder/help" || fail 'help does not print its usage'
[ ! -s "$folder/errors" ] || fail "help prints errors: $(cat "$folder/errors")"

# shellcheck source=dev
. "$root/dev"
printf '%s\n' '[3/9] Building CXX object a.o' '[4/9] Building CXX object b.o' >"$folder/log"
[ "$(steps_done "$folder/log")" = '4 of 9' ] || fail "steps: $(steps_done "$folder/log")"
printf 'Reading package lists... [1/2]\n' >"$folder/log"
[ -z "$(steps_done "$folder/log")" ] || fail 'a log of another program counts as a build'
