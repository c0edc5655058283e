#!/bin/sh
# Tests the Debian package in a minimal Debian without the libraries that it needs, which runs systemd: lintian, installation by apt,
# the service with the example in its configuration and a shared secret, a reload, an upgrade that keeps configuration and store,
# removal and purge. Every line of the service in the journal must be JSON, and none a warning. Needs root, debootstrap, lintian, curl
# and Python, and the ports 8080, 18081 and 18090 of this machine.
#
#     Tests/Scripts/package/test_deb.sh .build-static/release/receipt-bridge [RELEASE [DIR]]
set -eu

tool=$(realpath "${1:?usage: test_deb.sh RECEIPT-BRIDGE [RELEASE [DIR]]}")
cd "$(dirname "$0")/../../.."
release=${2:-trixie}
bare=${3:-.build-static/systemd-$release}
[ "$(id -u)" = 0 ] || { echo "deb: needs root to create the minimal system" >&2; exit 2; }
for program in debootstrap lintian unshare curl; do
    command -v $program >/dev/null || { echo "deb: $program is missing" >&2; exit 2; }
done
fail() {
    echo "deb: $1" >&2
    exit 1
}

if [ ! -e "$bare/etc/debian_version" ]; then
    # The package mirror of this machine.
    mirror=$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/*.sources 2>/dev/null | head -n 1)
    mkdir -p "$(dirname "$bare")"
    debootstrap --variant=minbase --include=systemd,systemd-sysv "$release" "$bare" ${mirror:+"$mirror"} >"$bare.log" 2>&1 ||
        { tail -n 5 "$bare.log" >&2; fail "debootstrap failed"; }
fi
cp /etc/resolv.conf "$bare/etc/"
export COMPRESSION=gzip
folder=$(mktemp -d)
system=
trap 'kill -KILL $system 2>/dev/null || true; rm -rf "$folder"' EXIT # With the first process, all others end.

first=$(Tests/Scripts/package/deb.sh "$tool" "$folder" 2>/dev/null)
cp "$first" "$folder/again"
Tests/Scripts/package/deb.sh "$tool" "$folder" >/dev/null 2>&1
cmp "$first" "$folder/again" || fail "a second package differs"
echo "deb: $(basename "$first"), $(stat -c %s "$first") bytes, the same twice; needs $(dpkg-deb --field "$first" Depends)"
dpkg --compare-versions "$(dpkg-deb --field "$first" Version)" gt 0.1.0-1 || fail "the version is not after the last release"
problems=$(lintian --fail-on error,warning --allow-root "$first") || fail "lintian: $problems"
echo "deb: lintian has no errors and no warnings"
next=$(VERSION=99.0 Tests/Scripts/package/deb.sh "$tool" "$folder" 2>/dev/null)
rm -rf "$bare/srv/deb" && mkdir -p "$bare/srv/deb" && cp "$first" "$next" "$bare/srv/deb"

unshare --pid --mount --uts --ipc --cgroup --fork --kill-child=KILL Tests/Scripts/package/boot.sh "$bare" 2>"$folder/boot.log" &
boot=$!
until system=$(pgrep -P "$boot") && grep -q '^systemd$' "/proc/$system/comm"; do
    kill -0 $boot || fail "systemd does not start: $(cat "$folder/boot.log")"
    sleep 0.1
done
inside() {
    nsenter --target "$system" --mount --pid --uts --ipc --cgroup --root --wd \
        env -i DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}
apt() { inside apt-get "$@" -y -qq --no-install-recommends >"$bare.log" 2>&1 || { tail -n 20 "$bare.log" >&2; fail "apt-get $*"; }; }
journal() { inside journalctl --no-pager --output=cat _SYSTEMD_UNIT=receipt-bridge.service; }
pid() { inside systemctl show --property=MainPID --value receipt-bridge; }
until inside systemctl list-units >/dev/null 2>&1; do sleep 0.1; done
echo "deb: $(inside systemctl --version | head -n 1) runs"
inside systemctl stop receipt-bridge >/dev/null 2>&1 || true
inside dpkg --purge receipt-bridge >/dev/null 2>&1 || true
inside journalctl --quiet --rotate --vacuum-time=1s >/dev/null 2>&1

configuration=/etc/receipt-bridge/receipt-bridge.yaml
apt update
apt install "/srv/deb/$(basename "$first")"
inside receipt-bridge --version
inside receipt-bridge doctor --offline --config $configuration >"$folder/doctor" 2>&1 || fail "doctor: $(cat "$folder/doctor")"
[ "$(stat -c %a "$bare/etc/receipt-bridge/secrets")" = 700 ] || fail "all users can read the secrets"
[ "$(inside systemctl is-enabled receipt-bridge)" = disabled ] || fail "the service is enabled without its secrets"
echo "deb: installed by apt, with $(inside dpkg-query -W -f='${Package} ' 'libcurl4*' 'libssl3*' 'libsqlite3*')"

# The example of the configuration, with a shared secret and without a key. The simulated App Store is in place of Apple's.
simulator=$bare/srv/simulator
rm -rf "$simulator"
inside receipt-bridge simulate --listen 127.0.0.1:18090 --state /srv/simulator --customers 5 >"$folder/simulator.log" 2>&1 &

answers() { curl --silent --noproxy '*' --retry 50 --retry-delay 1 --retry-connrefused --max-time 10 "$@"; }
answers --output /dev/null http://127.0.0.1:18090/ || fail "the simulator does not respond: $(cat "$folder/simulator.log")"
chmod -R a+rX "$simulator" # The certificates; the folder is private.
sed -i 's/^#apps:/apps:/' "$bare$configuration"
cat >>"$bare$configuration" <<'END'
operations: {listen: 127.0.0.1:18081}
trust: {roots: [/srv/simulator/roots/SimulatorRoot.cer], intermediates: [/srv/simulator/intermediates/SimulatorDeveloperRelations.cer]}
upstream: {verifyReceipt: {production: "http://127.0.0.1:18090/production/verifyReceipt", sandbox: "http://127.0.0.1:18090/sandbox/verifyReceipt"}}
END
install -m 0600 "$simulator/shared-secret.txt" "$bare/etc/receipt-bridge/secrets/app-secret"
receipt=$(sed -n '1s/.*"receipt":"\([^"]*\)".*/\1/p' "$simulator/receipts.jsonl")
printf '{"receipt-data":"%s","password":"%s"}' "$receipt" "$(cat "$simulator/shared-secret.txt")" >"$folder/request.json"
# Posts a receipt, which the App Store answers only if the service has the secret: answered WHEN
answered() {
    answers --data-binary @"$folder/request.json" --dump-header "$folder/head" --output "$folder/answer.json" \
        http://127.0.0.1:8080/verifyReceipt || true
    grep -q '"status":0' "$folder/answer.json" && grep -qi '^receipt-bridge-source: apple' "$folder/head" ||
        fail "$1 a receipt is not answered: $(cat "$folder/answer.json"; inside systemctl status receipt-bridge; journal)"
    echo "deb: $1 a receipt is answered with status 0 and $(wc -c <"$folder/answer.json") bytes"
}
inside systemctl enable --quiet --now receipt-bridge || fail "$(inside systemctl status receipt-bridge)"
answered "started by systemd,"
inside receipt-bridge doctor --offline --config $configuration >"$folder/doctor" 2>&1 || fail "doctor: $(cat "$folder/doctor")"

echo '# mine' >>"$bare$configuration"
inside systemctl reload receipt-bridge
for try in $(seq 50); do ! journal | grep -q 'configuration reloaded' || break; sleep 0.2; done
journal | grep -q 'configuration reloaded' || fail "the configuration was not reloaded"
answered "reloaded,"

kept() {
    grep -q mine "$bare$configuration" && [ -s "$bare/etc/receipt-bridge/secrets/app-secret" ] &&
        [ -s "$bare/var/lib/private/receipt-bridge/receipt-bridge.sqlite" ] || fail "$1 does not keep configuration, secrets and store"
    echo "deb: $1 keeps configuration, secrets and store"
}
before=$(pid)
apt install "/srv/deb/$(basename "$next")"
[ "$(inside dpkg-query -W -f='${Version}' receipt-bridge)" = 99.0-1 ] || fail "it was not upgraded"
kept "an upgrade"
answered "restarted by an upgrade,"
[ "$(pid)" != "$before" ] || fail "an upgrade does not restart the service"

journal >"$folder/journal"
python3 -c '
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
warnings = [line for line in lines if line["level"] not in ("info", "notice")]
assert lines and not warnings, warnings' "$folder/journal" || fail "the journal has other lines than JSON, or warnings: $(cat "$folder/journal")"
echo "deb: $(wc -l <"$folder/journal") lines of JSON in the journal, none of them a warning"

apt remove receipt-bridge
[ ! -e "$bare/usr/bin/receipt-bridge" ] || fail "remove leaves the program"
[ "$(pid)" = 0 ] || fail "remove does not stop the service"
kept "remove"
apt purge receipt-bridge
left=$(cd "$bare" && find etc var/lib usr -name '*receipt-bridge*' ! -path 'var/lib/apt/*' -print)
[ -z "$left" ] || fail "purge leaves $left"
apt autoremove --purge
echo "deb: purge leaves nothing"
