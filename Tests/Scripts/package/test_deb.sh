#!/bin/sh
# Tests the Debian package in a minimal Debian without the libraries that it needs: lintian, installation by apt, the service's
# syntax, an upgrade that keeps configuration and store, removal and purge. Needs root, debootstrap, lintian and systemd-analyze.
#
#     Tests/Scripts/package/test_deb.sh .build-static/release/receipt-bridge [DIR]
set -eu

tool=$(realpath "${1:?usage: test_deb.sh RECEIPT-BRIDGE [DIR]}")
cd "$(dirname "$0")/../../.."
bare=${2:-.build-static/bare}
[ "$(id -u)" = 0 ] || { echo "deb: needs root to create the minimal system" >&2; exit 2; }
for program in debootstrap lintian systemd-analyze; do
    command -v $program >/dev/null || { echo "deb: $program is missing" >&2; exit 2; }
done
fail() {
    echo "deb: $1" >&2
    exit 1
}
inside() { chroot "$bare" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
apt() { inside apt-get "$@" -y -qq --no-install-recommends >"$bare.log" 2>&1 || { tail -n 20 "$bare.log" >&2; fail "apt-get $*"; }; }

if [ ! -e "$bare/etc/debian_version" ]; then
    # The package mirror of this machine.
    mirror=$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/*.sources 2>/dev/null | head -n 1)
    mkdir -p "$(dirname "$bare")"
    debootstrap --variant=minbase bookworm "$bare" ${mirror:+"$mirror"} >"$bare.log" 2>&1 || { tail -n 5 "$bare.log" >&2; fail "debootstrap failed"; }
fi
export COMPRESSION=gzip
folder=$(mktemp -d)
mount -t proc proc "$bare/proc"
trap 'umount "$bare/proc"; rm -rf "$folder"' EXIT

first=$(Tests/Scripts/package/deb.sh "$tool" "$folder" 2>/dev/null)
cp "$first" "$folder/again"
Tests/Scripts/package/deb.sh "$tool" "$folder" >/dev/null 2>&1
cmp "$first" "$folder/again" || fail "a second package differs"
echo "deb: $(basename "$first"), $(stat -c %s "$first") bytes, the same twice; needs $(dpkg-deb --field "$first" Depends)"
problems=$(lintian --fail-on error,warning --allow-root "$first") || fail "lintian: $problems"
echo "deb: lintian has no errors and no warnings"
next=$(VERSION=99.0 Tests/Scripts/package/deb.sh "$tool" "$folder" 2>/dev/null)
dpkg-deb --fsys-tarfile "$first" | tar -xO ./lib/systemd/system/receipt-bridge.service |
    sed "s|/usr/bin/receipt-bridge|$tool|; /^Documentation=/d" >"$folder/receipt-bridge.service"
problems=$(systemd-analyze verify "$folder/receipt-bridge.service" 2>&1)
[ -z "$problems" ] || fail "systemd: $problems"

rm -rf "$bare/srv/deb" && mkdir -p "$bare/srv/deb" && cp "$first" "$next" "$bare/srv/deb"
inside dpkg --purge receipt-bridge >/dev/null 2>&1 || true
apt update
apt install "/srv/deb/$(basename "$first")"
inside receipt-bridge --version
inside receipt-bridge doctor --offline --config /etc/receipt-bridge/receipt-bridge.yaml 2>&1 | grep -q '^pass *configuration' ||
    fail "the configuration of the package is not valid"
[ "$(stat -c %a "$bare/etc/receipt-bridge/secrets")" = 700 ] || fail "all users can read the secrets"
echo "deb: installed by apt, with $(inside dpkg-query -W -f='${Package} ' 'libcurl4*' 'libssl3*' 'libsqlite3*')"

echo '# mine' >>"$bare/etc/receipt-bridge/receipt-bridge.yaml"
echo secret >"$bare/etc/receipt-bridge/secrets/app-secret"
mkdir -p "$bare/var/lib/private/receipt-bridge" && ln -sfn private/receipt-bridge "$bare/var/lib/receipt-bridge"
echo store >"$bare/var/lib/private/receipt-bridge/receipt-bridge.sqlite"
kept() {
    grep -q mine "$bare/etc/receipt-bridge/receipt-bridge.yaml" && [ -s "$bare/etc/receipt-bridge/secrets/app-secret" ] &&
        [ -s "$bare/var/lib/private/receipt-bridge/receipt-bridge.sqlite" ] || fail "$1 does not keep configuration, secrets and store"
    echo "deb: $1 keeps configuration, secrets and store"
}
apt install "/srv/deb/$(basename "$next")"
[ "$(inside dpkg-query -W -f='${Version}' receipt-bridge)" = 99.0-1 ] || fail "it was not upgraded"
kept "an upgrade"
apt remove receipt-bridge
[ ! -e "$bare/usr/bin/receipt-bridge" ] || fail "remove leaves the program"
kept "remove"
apt purge receipt-bridge
left=$(cd "$bare" && find etc var/lib usr lib/systemd -name '*receipt-bridge*' ! -path 'var/lib/apt/*' -print)
[ -z "$left" ] || fail "purge leaves $left"
apt autoremove --purge
echo "deb: purge leaves nothing"
