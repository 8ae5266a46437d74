#!/usr/bin/env bash
# What a newcomer with a bare Debian 12 sees: scripts/demo.sh of the committed state in a fresh root with nothing installed. Needs to be
# root, and debootstrap with a mirror; where that cannot be had it says so and exits with 0. Takes about five minutes and 3 GB.
# Usage: check_bare_root.sh [COMMAND...]   (default: scripts/demo.sh; each is run in the project's folder, one after another)
source "$(dirname "$0")/../common.sh"
skip() { say "bare root: skipped, since $*"; exit 0; }

[ "$(id -u)" = 0 ] || skip "this is not root"
git rev-parse -q --verify HEAD >/dev/null 2>&1 || skip "there is no committed state (or no git)"
if ! command -v debootstrap >/dev/null; then
  apt-get install -y -qq --no-install-recommends debootstrap >/dev/null 2>&1 || skip "debootstrap cannot be installed"
fi
folder=$(mktemp -d)
root=$folder/root
leave() {
  for name in proc dev; do umount -l "$root/$name" 2>/dev/null || true; done
  if mountpoint -q "$root/dev"; then echo "still mounted: $root" >&2; else rm -rf --one-file-system "$folder"; fi
}
trap leave EXIT

# The mirror, and how apt reaches it, are this machine's.
shopt -s nullglob
sources=(/etc/apt/sources.lis[t] /etc/apt/sources.list.d/*)
mirror=$(cat "${sources[@]}" 2>/dev/null | sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)\?\([a-z]*:[^ ]*\) .*/\2/p' | grep -v security | head -1 || true)
mkdir -p "$root"
debootstrap --variant=minbase bookworm "$root" ${mirror:+"$mirror"} >"$folder/log" 2>&1 ||
  skip "debootstrap failed: $(tail -n 1 "$folder/log")"
rm -rf "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d
mkdir "$root/etc/apt/sources.list.d"
for from in "${sources[@]}"; do cp -aL "$from" "$root/${from#/}"; done
apt-config dump Acquire >"$root/etc/apt/apt.conf.d/99host"
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
mount --bind /dev "$root/dev" && mount -t proc proc "$root/proc" || skip "nothing can be mounted here"
mkdir "$root/project"
git archive HEAD | tar -x -C "$root/project"
say "bare root: made after $SECONDS s"

[ $# -gt 0 ] || set -- scripts/demo.sh
for command in "$@"; do
  start=$SECONDS
  chroot "$root" /usr/bin/env -i HOME=/root TERM=dumb LANG=C PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    bash -c "cd /project && $command" </dev/null >"$folder/output" 2>&1 || { cat "$folder/output"; say "bare root: $command failed"; exit 1; }
  grep '^==' "$folder/output"
  say "bare root: $command: $((SECONDS - start)) s"
done
