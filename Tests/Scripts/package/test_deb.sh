#!/bin/sh
# Tests the Debian package in a minimal Debian without the libraries that it needs: lintian, installation by apt, the service's
# syntax, a receipt that the installed service answers, an upgrade that keeps configuration and store, removal and purge. Needs
# root, debootstrap, lintian, systemd-analyze and curl, and port 8080 of this machine.
#
#     Tests/Scripts/package/test_deb.sh .build-static/release/receipt-bridge [DIR]
set -eu

tool=$(realpath "${1:?usage: test_deb.sh RECEIPT-BRIDGE [DIR]}")
cd "$(dirname "$0")/../../.."
bare=${2:-.build-static/bare}
[ "$(id -u)" = 0 ] || { echo "deb: needs root to create the minimal system" >&2; exit 2; }
for program in debootstrap lintian systemd-analyze curl; do
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
children=
trap 'kill $children 2>/dev/null || true; umount "$bare/proc"; rm -rf "$folder"' EXIT

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

# The command of the unit, as systemd runs it: an ordinary user, a state directory, a secret as a credential. Three lines of
# configuration, of which two are for the simulated App Store.
user=61700
simulator=$bare/srv/simulator
credentials=$bare/run/credentials/receipt-bridge.service
state=$bare/var/lib/private/receipt-bridge
rm -rf "$simulator" "$state" && mkdir -p "$credentials" "$state" "$bare/tmp"
ln -sfn private/receipt-bridge "$bare/var/lib/receipt-bridge"
chroot "$bare" receipt-bridge simulate --listen 127.0.0.1:18090 --state /srv/simulator --customers 5 >"$folder/simulator.log" 2>&1 &
children=$!
answers() { curl --silent --noproxy '*' --retry 50 --retry-delay 1 --retry-connrefused --max-time 10 "$@"; }
answers --output /dev/null http://127.0.0.1:18090/ || fail "the simulator does not respond: $(cat "$folder/simulator.log")"
cat >>"$bare/etc/receipt-bridge/receipt-bridge.yaml" <<'END'
apps: [{bundleId: com.example.app, sharedSecret: {file: /run/credentials/receipt-bridge.service/app-secret}, answer: [apple]}]
trust: {roots: [/srv/simulator/roots/SimulatorRoot.cer], intermediates: [/srv/simulator/intermediates/SimulatorDeveloperRelations.cer]}
upstream: {verifyReceipt: {production: "http://127.0.0.1:18090/production/verifyReceipt", sandbox: "http://127.0.0.1:18090/sandbox/verifyReceipt"}}
END
cp "$simulator/shared-secret.txt" "$bare/etc/receipt-bridge/secrets/app-secret"
cp "$simulator/shared-secret.txt" "$credentials/app-secret"
chown -R $user:$user "$credentials" "$state"
chmod -R a+rX "$simulator" # The certificates; the folder is private.
command=$(sed -n 's/^ExecStart=//p' "$bare/lib/systemd/system/receipt-bridge.service")
# shellcheck disable=SC2086 # The words of the command.
chroot --userspec=$user:$user --groups= "$bare" $command >"$folder/service.log" 2>&1 &
service=$!
children="$children $service"
receipt=$(sed -n '1s/.*"receipt":"\([^"]*\)".*/\1/p' "$simulator/receipts.jsonl")
printf '{"receipt-data":"%s","password":"%s"}' "$receipt" "$(cat "$simulator/shared-secret.txt")" >"$folder/request.json"
answers --data-binary @"$folder/request.json" --output "$folder/answer.json" http://127.0.0.1:8080/verifyReceipt || true
grep -q '"status":0' "$folder/answer.json" || fail "the service does not answer a receipt: $(cat "$folder/answer.json" "$folder/service.log")"
kill $service
wait $service || fail "the service ends with exit code $?: $(cat "$folder/service.log")"
echo "deb: as user $user, the service answers a receipt with status 0 and $(wc -c <"$folder/answer.json") bytes"

echo '# mine' >>"$bare/etc/receipt-bridge/receipt-bridge.yaml"
kept() {
    grep -q mine "$bare/etc/receipt-bridge/receipt-bridge.yaml" && [ -s "$bare/etc/receipt-bridge/secrets/app-secret" ] &&
        [ -s "$state/receipt-bridge.sqlite" ] || fail "$1 does not keep configuration, secrets and store"
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
