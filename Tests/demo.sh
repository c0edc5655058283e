#!/bin/sh
# The main job, on this machine alone: a simulated App Store, the proxy in front of it, and what old clients get from
# it for receipts of both styles and environments, for a forged one, and while the App Store is down.
#
#   Tests/demo.sh PATH-OF-RECEIPT-BRIDGE
set -eu
bridge=$1
state=$(mktemp -d)
store=
proxy=
trap 'kill $store $proxy 2>/dev/null || true; rm -rf "$state"' EXIT
trap 'exit 130' INT TERM

# Waits until the log names an address, and prints it.
address() {
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        found=$(sed -n 's|.* \(http://[^ ]*\)$|\1|p' "$1" | head -n 1)
        [ -z "$found" ] || { echo "$found"; return; }
        sleep 0.5
    done
    cat "$1" >&2
    return 1
}

# Posts the receipt of that file as an old app does, and prints where the answer comes from and how it begins.
post() {
    printf '\n%s\n' "$2"
    printf '{"receipt-data":"%s"}' "$(cat "$1")" >"$state/request.json"
    curl -sS -D "$state/headers" -o "$state/answer" --data-binary @"$state/request.json" "$url/verifyReceipt"
    sed -n 's/^\(Receipt-Bridge-[^:]*: [A-Za-z]*\).*/    \1/p' "$state/headers"
    echo "    $(head -c 230 "$state/answer")"
}

# The first genuine receipt of an environment and a style.
receipt() {
    id=$(sed -n "s/.*\"id\":\"\([^\"]*\)\".*\"environment\":\"$1\",\"style\":\"$2\".*/\1/p" "$state/receipts.jsonl" | head -n 1)
    echo "$state/receipts/$id.b64"
}

"$bridge" simulate --state "$state" --listen 127.0.0.1:0 2>"$state/store.log" &
store=$!
echo "simulated App Store: $(address "$state/store.log")"
RECEIPT_BRIDGE_OPERATIONS_LISTEN=127.0.0.1:0 "$bridge" serve --config "$state/receipt-bridge.yaml" \
    --listen 127.0.0.1:0 --log-level error 2>"$state/proxy.log" &
proxy=$!
url=$(address "$state/proxy.log")
echo "the proxy:           $url"

post "$(receipt Production appReceipt)" "An App Receipt of production"
post "$(receipt Sandbox appReceipt)" "One of the sandbox: production says 21007, the sandbox is asked, the app sees neither"
post "$(receipt Production transactionReceipt)" "A transactionReceipt of iOS 6"
sed -n 's/.*"receipt":"\([^"]*\)".*"mangling":"tamperedByte".*/\1/p' "$state/hostile.jsonl" >"$state/tampered.b64"
post "$state/tampered.b64" "An App Receipt with one bit changed"

kill "$store"
wait "$store" 2>/dev/null || true
post "$(receipt Production appReceipt)" "The first one again, with the App Store down: the receipt answers for itself"
printf '\nThe whole answer has %s bytes.\n' "$(wc -c <"$state/answer" | tr -d ' ')"
