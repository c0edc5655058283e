#!/bin/sh
# Tests the binary of `make static` on a bare Debian without Swift: prints its help, decodes a receipt, responds to one. Prints sizes and
# times. Needs root, debootstrap and curl. The bare system is created once in DIR, and used again by later runs.
#
#     Tests/Scripts/package/static.sh .build-static/release/receipt-bridge [DIR]
set -eu

tool=${1:?usage: static.sh RECEIPT-BRIDGE [DIR]}
bare=${2:-.build-static/bookworm}
receipts=$(cd "$(dirname "$0")/../../../Receipts" && pwd)
[ "$(id -u)" = 0 ] || { echo "static: needs root to create the bare system" >&2; exit 2; }
for program in debootstrap curl; do
    command -v "$program" >/dev/null 2>&1 || { echo "static: $program is missing" >&2; exit 2; }
done

fail() {
    echo "static: $1" >&2
    [ ! -s "$bare/tmp/serve.log" ] || sed 's/^/    /' "$bare/tmp/serve.log" >&2
    exit 1
}

if [ ! -e "$bare/etc/debian_version" ]; then
    # The package mirror of this machine.
    mirror=$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/*.sources 2>/dev/null | head -n 1)
    mkdir -p "$(dirname "$bare")"
    debootstrap --variant=minbase --include=libcurl4,libssl3,libsqlite3-0,ca-certificates bookworm "$bare" \
        ${mirror:+"$mirror"} >"$bare.log" 2>&1 || { tail -n 5 "$bare.log" >&2; fail "debootstrap failed"; }
fi
[ -z "$(find "$bare" -name 'libswift*' -print -quit)" ] || fail "$bare contains Swift libraries"

install -D -m 0755 "$tool" "$bare/usr/local/bin/receipt-bridge"
rm -rf "$bare/srv/receipts" && cp -R "$receipts" "$bare/srv/receipts"
# Runs the binary in the bare system, and replaces the current subshell. It runs as the user `nobody`, because the binary must
# need no privileges. Swift reads its arguments from /proc, which is mounted for this process only.
run() {
    exec unshare --mount --propagation private sh -c 'mount -t proc proc "$0/proc" &&
        exec chroot --userspec=65534:65534 "$0" /usr/local/bin/receipt-bridge "$@"' "$bare" "$@"
}
milliseconds() { echo $(($(date +%s%N) / 1000000)); }

echo "binary: $(stat -c %s "$tool") bytes"
echo "needs: $(readelf -d "$tool" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | tr '\n' ' ')"
! chroot "$bare" ldd /usr/local/bin/receipt-bridge | grep -q 'not found' || fail "a shared library is missing"

begin=$(milliseconds)
run --help | grep -q verifyReceipt || fail "--help does not mention verifyReceipt"
echo "--help: $(($(milliseconds) - begin)) ms"

run decode --roots /srv/receipts/roots /srv/receipts/app-receipt-active/receipt.b64 | grep -q '"verified":true' ||
    fail "the receipt could not be decoded"
echo "decode: verified"

port=$((20000 + $$ % 20000))
printf 'listen: 127.0.0.1:%s\noperations: {listen: 127.0.0.1:%s}\nstore: sqlite:/tmp/bridge.sqlite\n' $port $((port + 1)) \
    >"$bare/tmp/bridge.yaml"
cat >>"$bare/tmp/bridge.yaml" <<'YAML'
trust: {roots: [/srv/receipts/roots], intermediates: [/srv/receipts/intermediates]}
upstream: {verifyReceipt: {production: "http://127.0.0.1:9/", sandbox: "http://127.0.0.1:9/"}}
apps: [{bundleId: com.example.app, answer: [receipt], staleSubscription: answer}]
YAML
rm -f "$bare"/tmp/bridge.sqlite* "$bare/tmp/serve.log"
begin=$(milliseconds)
run serve --config /tmp/bridge.yaml >/dev/null 2>"$bare/tmp/serve.log" &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
until grep -q 'listening on' "$bare/tmp/serve.log"; do
    kill -0 $server 2>/dev/null || fail "serve ended before it listened on its port"
    [ $(($(milliseconds) - begin)) -lt 30000 ] || fail "serve does not listen on its port after 30 seconds"
    sleep 0.005
done
echo "serve: listens after $(($(milliseconds) - begin)) ms"
curl --silent --show-error --noproxy '*' --max-time 20 --data-binary @"$receipts/app-receipt-active/request.json" \
    "http://127.0.0.1:$port/verifyReceipt" >"$bare/tmp/answer.json" || fail "serve does not respond"
grep -Eq '"status":(0|21006)' "$bare/tmp/answer.json" || fail "unexpected response: $(head -c 200 "$bare/tmp/answer.json")"
echo "serve: responds; $(awk '/VmRSS/ {print $2, $3}' "/proc/$server/status") resident"
[ -s "$bare/tmp/bridge.sqlite" ] || fail "serve created no store"
kill $server
wait $server || fail "serve ended with an error"
trap - EXIT
echo "static: all checks passed"
