#!/bin/sh
# The main use case on one screen: a simulated App Store and the proxy in front of it, both on this machine only. An old app
# version posts its receipts and gets its responses. Ends by itself; fails if a response is not the expected one.
#
#     Tests/demo.sh .build/release/receipt-bridge
set -eu

tool=${1:?usage: demo.sh RECEIPT-BRIDGE}
command -v curl >/dev/null 2>&1 || { echo "demo: curl is missing" >&2; exit 2; }

state=$(mktemp -d)
store=""
proxy=""
api_proxy=""
clean_up() {
    code=$?
    trap - EXIT
    for child in $proxy $api_proxy $store; do kill "$child" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$state"
    exit "$code"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
    echo "demo: $1" >&2
    for log in "$state/store.log" "$state/proxy.log" "$state/api-proxy.log"; do [ ! -s "$log" ] || sed 's/^/    /' "$log" >&2; done
    exit 1
}

# Waits until a program listens, and prints the address from its log: address LOG PID
address() {
    tries=0
    until grep -q 'http://[^ ]*:[0-9]' "$1"; do
        kill -0 "$2" 2>/dev/null || fail "a program ended before it listened on its port"
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || fail "a program does not listen on its port after 30 seconds"
        sleep 0.1
    done
    sed -n 's/.*\(http:[^ "]*:[0-9][0-9]*\).*/\1/p' "$1" | head -n 1
}

# Prints the N-th receipt of a kind: receipt ENVIRONMENT STYLE [N]
receipt() {
    grep "\"environment\":\"$1\",\"style\":\"$2\"" "$state/receipts.jsonl" | sed -n "${3:-1}p" |
        sed 's/.*"receipt":"\([^"]*\)".*/\1/'
}

# Posts one receipt, prints the response and checks it: ask TITLE RECEIPT STATUS SOURCE ENVIRONMENT
ask() {
    printf '{"receipt-data":"%s","password":"%s"}' "$2" "$(cat "$state/shared-secret.txt")" >"$state/request.json"
    curl --silent --show-error --noproxy '*' --max-time 20 --dump-header "$state/head" --output "$state/answer.json" \
        --data-binary @"$state/request.json" "$proxy_url/verifyReceipt" || fail "the proxy does not respond"
    status=$(sed -n 's/.*"status":\([0-9][0-9]*\).*/\1/p' "$state/answer.json")
    source=$(header Receipt-Bridge-Source)
    environment=$(header Receipt-Bridge-Environment)
    printf '\n%s\n' "$1"
    printf '    POST /verifyReceipt  (%s bytes)\n' "$(wc -c <"$state/request.json" | tr -d ' ')"
    printf '    %s  Receipt-Bridge-Source: %s  Receipt-Bridge-Environment: %s\n' \
        "$(sed -n '1s/ *\r*$//p' "$state/head" | tr -d '\r')" "$source" "$environment"
    readable <"$state/answer.json"
    [ "$status" = "$3" ] || fail "$1: status $status, expected $3"
    [ "$source" = "$4" ] || fail "$1: source $source, expected $4"
    [ "$environment" = "$5" ] || fail "$1: environment $environment, expected $5"
}

header() { sed -n "s/^$1: *\([^ ]*\) *\$/\1/p" "$state/head" | tr -d '\r'; }

# Prints the members of the response, sorted. The time of the request is left out, and so is the latest receipt, which Apple
# signs again for each response.
facts() { tr -s '[]{},' '\n' <"$state/answer.json" | grep -v '^"request_date\|^"latest_receipt"' | sort; }

# Prints the response with one member per line, long values truncated, and only as many lines as fit on the screen.
readable() {
    sed 's/,"/,\
"/g; s/\([{[]\)"/\1\
"/g; s/\[{/[{\
/g' | sed -e 's/^/        /' -e 's/\("[^"]\{56\}\)[^"]*"/\1…"/g' | awk '
        { lines[NR] = $0 }
        END {
            for (n = 1; n <= NR; n++) if (NR <= 24 || n <= 16 || n > NR - 4) print lines[n]
            else if (n == 17) printf "        … %d more lines …\n", NR - 20
        }'
}

: >"$state/store.log"
: >"$state/proxy.log"
: >"$state/api-proxy.log"
"$tool" simulate --listen 127.0.0.1:0 --state "$state" --customers 20 >/dev/null 2>"$state/store.log" &
store=$!
store_url=$(address "$state/store.log" "$store")
"$tool" serve --config "$state/receipt-bridge.yaml" --listen 127.0.0.1:0 >/dev/null 2>"$state/proxy.log" &
proxy=$!
proxy_url=$(address "$state/proxy.log" "$proxy")

echo "simulated App Store: $store_url"
echo "receipt-bridge:      $proxy_url"

app=$(receipt Production appReceipt)
ask "An App Receipt from production, forwarded to Apple" "$app" 0 apple Production
facts >"$state/apple.facts"
ask "A sandbox receipt at the same address: after Apple's 21007 the proxy calls the sandbox" \
    "$(receipt Sandbox appReceipt)" 0 apple Sandbox
ask "A transactionReceipt, as posted by apps for iOS 6" "$(receipt Production transactionReceipt)" 0 apple Production
tampered=$(sed -n 's/.*"receipt":"\([^"]*\)".*"mangling":"tamperedByte".*/\1/p' "$state/hostile.jsonl")

sed 's/answer: \[apple, receipt\]/answer: [api, apple, receipt]/' "$state/receipt-bridge.yaml" >"$state/api.yaml"
"$tool" serve --config "$state/api.yaml" --listen 127.0.0.1:0 >/dev/null 2>"$state/api-proxy.log" &
api_proxy=$!
old_proxy_url=$proxy_url
proxy_url=$(address "$state/api-proxy.log" "$api_proxy")
ask "The first receipt with the App Store Server API as source: the same members without calling verifyReceipt" \
    "$app" 0 api Production
facts >"$state/api.facts"
proxy_url=$old_proxy_url
diff "$state/apple.facts" "$state/api.facts" || fail "the response from the App Store Server API differs from that of verifyReceipt"

ask "A forged receipt: one byte was changed" "$tampered" 21003 apple Production

kill "$store"
wait "$store" 2>/dev/null || true
store=""
ask "The first receipt again, with the App Store unavailable: Apple's last good response, from the archive" "$app" 0 stored Production
ask "A new receipt, with the App Store unavailable: answered from its own verified content" \
    "$(receipt Production appReceipt 3)" 0 receipt Production
ask "The forged receipt, with the App Store unavailable" "$tampered" 21003 receipt Production

printf '\nAll responses are as expected.\n'
