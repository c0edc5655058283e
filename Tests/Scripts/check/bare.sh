#!/bin/sh
# Runs the demo and every test on a bare Debian as an ordinary user with sudo and at most 1,024 descriptors. The make rules of the
# README install the missing packages. The system is created in DIR each time. Needs root, debootstrap and a Swift toolchain on the
# PATH, which is mounted into it read-only.
#
#     Tests/Scripts/check/bare.sh [RELEASE [COMMAND [DIR]]]
set -eu

release=${1:-trixie}
command=${2:-make demo && make test}
bare=${3:-.build-bare/$release}
say() { echo "bare: $1" >&2; }
fail() {
    say "$1"
    exit 2
}
[ "$(id -u)" = 0 ] || fail "needs root"
for program in debootstrap swift unshare; do
    command -v $program >/dev/null 2>&1 || fail "$program is missing"
done
# Mounts are private to this process and end with it.
[ "${BARE_MOUNTS:-}" = private ] || BARE_MOUNTS=private exec unshare --mount --propagation private "$0" "$@"

sources=$(cd "$(dirname "$0")/../../.." && pwd)
toolchain=$(swift -print-target-info | sed -n 's|.*"runtimeResourcePath" *: *"\(.*\)/lib/swift".*|\1|p')
[ -x "$toolchain/bin/swift" ] && [ "$toolchain" != /usr ] || fail "the Swift toolchain has no folder of its own: $toolchain"

say "creating $bare"
mkdir -p "$(dirname "$bare")"
rm -rf --one-file-system "$bare"
mirror=$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/*.sources 2>/dev/null | head -n 1)
debootstrap --variant=minbase "$release" "$bare" ${mirror:+"$mirror"} >"$bare.log" 2>&1 ||
    { tail -n 5 "$bare.log" >&2; fail "debootstrap failed"; }
bare=$(cd "$bare" && pwd)

cp /etc/resolv.conf /etc/hosts "$bare/etc/"
# What a clone needs, and sudo; then the packages that the toolchain needs on any Debian.
chroot "$bare" env DEBIAN_FRONTEND=noninteractive sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"' sh \
    ca-certificates git make sudo binutils g++ libcurl4 libncurses6 libsqlite3-0 libxml2 >>"$bare.log" 2>&1 ||
    { tail -n 5 "$bare.log" >&2; fail "apt-get failed"; }

chroot "$bare" useradd --create-home --shell /bin/bash builder
echo 'builder ALL=(ALL) NOPASSWD: ALL' >"$bare/etc/sudoers.d/builder"
mount -t proc proc "$bare/proc"
mount -t tmpfs -o mode=1777 tmpfs "$bare/dev/shm"
# For tests of the progress display on a terminal.
mkdir -p "$bare/dev/pts"
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$bare/dev/pts"
rm -f "$bare/dev/ptmx"
ln -s pts/ptmx "$bare/dev/ptmx"

# Mounts a folder of this machine read-only, at the same path or at another: show FOLDER [PATH]
show() {
    mkdir -p "$bare${2:-$1}"
    mount --bind "$1" "$bare${2:-$1}"
    mount -o remount,bind,ro "$bare${2:-$1}"
}
show "$toolchain" /opt/swift
# Copies the `insteadOf` rules of this machine's git configuration, and mounts the local folders that they name.
git config --system --get-regexp '^url\..*\.insteadof$' 2>/dev/null | while read -r key prefix; do
    git config --file "$bare/etc/gitconfig" --add "$key" "$prefix"
    folder=${key#url.}
    folder=${folder%.insteadof}
    [ -d "$folder" ] || continue
    git config --file "$bare/etc/gitconfig" --replace-all safe.directory '*'
    mountpoint -q "$bare$folder" || show "$folder"
done

tree=/home/builder/receipt-bridge
mkdir "$bare$tree"
tar -C "$sources" -c --exclude=./.git --exclude='./.build*' --exclude=./Package.resolved . | tar -x --no-same-owner -C "$bare$tree"
chroot "$bare" chown -R builder:builder "$tree"

say "running as an ordinary user: $command"
chroot --userspec=builder:builder "$bare" env -i HOME=/home/builder USER=builder LOGNAME=builder LANG=C.UTF-8 \
    PATH=/opt/swift/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    sh -c 'ulimit -n 1024 && cd "$0" && eval "$1"' "$tree" "$command"
say "all checks passed"
