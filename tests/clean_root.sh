#!/bin/bash
# Proves that the script installs all it needs: makes an empty system in the folder ROOT, puts a clean clone of the
# last commit there, and runs the commands in it (by default ./dev run and ./dev test), printing how long each took.
#
#     tests/clean_root.sh [--system bookworm|trixie|noble] [--base FILE] [--carry FOLDER] ROOT [COMMAND...]
#
# ROOT must not exist or be empty, and is yours to delete afterwards. The system is Debian 12 by default, 13 or Ubuntu
# 24.04. With --base the pristine system is unpacked from FILE, or kept there if FILE does not exist yet. --carry takes a
# folder of the checkout along, which git ignores. Needs root and debootstrap. Debian's mirror, and any proxy, are those of
# this machine's apt; Ubuntu's is $UBUNTU_MIRROR.
set -euo pipefail

die() {
  echo "clean_root.sh: $*" >&2
  exit 1
}

system=bookworm base='' carry=''
while :; do
  case ${1:-} in
    --system) system=${2:?--system needs a name} ;;
    --base) base=${2:?--base needs a file} ;;
    --carry) carry=${2:?--carry needs a folder} ;;
    *) break ;;
  esac
  shift 2
done
[ $# -ge 1 ] || die 'usage: clean_root.sh [--system NAME] [--base FILE] [--carry FOLDER] ROOT [COMMAND...]'
root=$1
shift
[ $# -gt 0 ] || set -- './dev run' './dev test'

[ "$(id -u)" = 0 ] || die 'only root can make a root'
[ ! -e "$root" ] || [ -d "$root" ] || die "$root is not a folder"
[ -z "$(ls -A "$root" 2>/dev/null)" ] || die "$root is not empty"
mkdir -p "$root"
root=$(cd "$root" && pwd)
repository=$(git -C "$(dirname "${BASH_SOURCE[0]}")" rev-parse --show-toplevel)
[ -z "$(git -C "$repository" status --porcelain)" ] ||
  echo 'clean_root.sh: there are uncommitted changes: they are not tested' >&2

# "URI SUITE COMPONENT" of each package list of the system, on the mirrors of Debian 12 that this machine's apt uses.
sources() {
  if [ "$system" = noble ]; then
    printf '%s\n' "$mirror noble main universe" "$mirror noble-updates main universe"
    return
  fi
  # shellcheck disable=SC2016 # apt-get's own variables
  apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    sed -n 's/^Debian \(.* bookworm\(-[^ ]*\)\? .*\)/\1/p' | sort -u | sed "s/ bookworm/ $system/"
}
how=("$system")
case $system in
  bookworm | trixie)
    mirror=$(sources | awk -v suite="$system" '$2 == suite {print $1; exit}')
    [ -n "$mirror" ] || die "this machine's apt knows no mirror of bookworm (is apt-get update due?)"
    ;;
  noble) # Debian has neither Ubuntu's keys nor a script of that name
    mirror=${UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu}
    how=(--no-check-gpg noble)
    ;;
  *) die "no system is called '$system': bookworm, trixie, noble" ;;
esac

if [ -n "$base" ] && [ -e "$base" ]; then
  tar -C "$root" -xf "$base"
else
  command -v debootstrap >/dev/null || die 'needs debootstrap'
  [ "$system" != noble ] || script=gutsy
  debootstrap --variant=minbase "${how[@]}" "$root" "$mirror" ${script:+"$script"}
  [ -z "$base" ] || tar -C "$root" -cf "$base" .
fi
sources | sed 's/^/deb /' >"$root/etc/apt/sources.list"
rm -f "$root/etc/apt/sources.list.d/"*
apt-config dump | grep -E '^Acquire::(https?|ftp|Check-|Retries|ForceIPv)' >"$root/etc/apt/apt.conf.d/99host" || :
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
git clone --quiet --no-hardlinks "$repository" "$root/trainyard"
[ -z "$carry" ] || (cd "$repository" && cp -r --parents "$carry" "$root/trainyard/")

# Nothing of this machine's own file system is mounted, so that deleting ROOT can do it no harm.
mount -t proc proc "$root/proc"
trap 'umount "$root/proc"' EXIT

proxies=()
for name in http_proxy https_proxy no_proxy; do
  [ -z "${!name:-}" ] || proxies+=("$name=${!name}")
done
echo "clean_root.sh: $(git -C "$repository" log -1 --format='%h %s')"
for command; do
  started=$SECONDS status=0
  chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "${proxies[@]}" \
    bash -c "cd /trainyard && $command" || status=$?
  echo "clean_root.sh: $command: exit $status after $((SECONDS - started)) s"
  [ $status = 0 ] || exit $status
done
