#!/bin/sh
# The static binary on a bare Debian without Swift: shows its help, decodes a receipt, serves one. Prints sizes and times.
# Needs root, debootstrap and curl; the bare system is made once, in DIR, or taken from there.
#
#     Tests/static.sh .build-static/release/receipt-bridge [DIR]
set -eu

tool=${1:?usage: static.sh RECEIPT-BRIDGE [DIR]}
bare=${2:-.build-static/bookworm}
receipts=$(cd "$(dirname "$0")/../Receipts" && pwd)
[ "$(id -u)" = 0 ] || { echo "static: a bare system is made by root only" >&2; exit 2; }
for program in debootstrap curl; do
    command -v "$program" >/dev/null 2>&1 || { echo "static: $program is missing" >&2; exit 2; }
done

fail() {
    echo "static: $1" >&2
    [ ! -s "$bare/tmp/serve.log" ] || sed 's/^/    /' "$bare/tmp/serve.log" >&2
    exit 1
}

if [ ! -e "$bare/etc/debian_version" ]; then
    # Where this machine has its packages from.
    mirror=$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/*.sources 2>/dev/null | head -n 1)
    mkdir -p "$(dirname "$bare")"
    debootstrap --variant=minbase --include=libcurl4,libssl3,libsqlite3-0,ca-certificates bookworm "$bare" \
        ${mirror:+"$mirror"} >"$bare.log" 2>&1 || { tail -n 5 "$bare.log" >&2; fail "debootstrap failed"; }
fi
[ -z "$(find "$bare" -name 'libswift*' -print -quit)" ] || fail "there is Swift in $bare"

install -D -m 0755 "$tool" "$bare/usr/local/bin/receipt-bridge"
rm -rf "$bare/srv/receipts" && cp -R "$receipts" "$bare/srv/receipts"
# In place of a subshell. Nobody's: what runs there must need no rights. Swift reads its arguments from /proc, which is there for this process alone.
run() {
    exec unshare --mount --propagation private sh -c 'mount -t proc proc "$0/proc" &&
        exec chroot --userspec=65534:65534 "$0" /usr/local/bin/receipt-bridge "$@"' "$bare" "$@"
}
milliseconds() { echo $(($(date +%s%N) / 1000000)); }

echo "binary: $(stat -c %s "$tool") bytes"
echo "needs: $(readelf -d "$tool" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | tr '\n' ' ')"
! chroot "$bare" ldd /usr/local/bin/receipt-bridge | grep -q 'not found' || fail "a library is missing"

begin=$(milliseconds)
run --help | grep -q verifyReceipt || fail "--help does not help"
echo "--help: $(($(milliseconds) - begin)) ms"

run decode --roots /srv/receipts/roots /srv/receipts/app-receipt-active/receipt.b64 | grep -q '"verified":true' ||
    fail "a receipt does not decode"
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
    kill -0 $server 2>/dev/null || fail "serve ended before it listened"
    [ $(($(milliseconds) - begin)) -lt 30000 ] || fail "serve does not listen after 30 seconds"
    sleep 0.005
done
echo "serve: listens after $(($(milliseconds) - begin)) ms"
curl --silent --show-error --noproxy '*' --max-time 20 --data-binary @"$receipts/app-receipt-active/request.json" \
    "http://127.0.0.1:$port/verifyReceipt" >"$bare/tmp/answer.json" || fail "serve does not answer"
grep -Eq '"status":(0|21006)' "$bare/tmp/answer.json" || fail "not the answer: $(head -c 200 "$bare/tmp/answer.json")"
echo "serve: answers; $(awk '/VmRSS/ {print $2, $3}' "/proc/$server/status") resident"
[ -s "$bare/tmp/bridge.sqlite" ] || fail "there is no store"
kill $server
wait $server || fail "serve does not end well"
trap - EXIT
echo "static: all well"
