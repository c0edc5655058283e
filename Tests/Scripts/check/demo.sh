#!/bin/sh
# The main use cases on one screen: a simulated App Store and the proxy in front of it, both on this machine only. An old app
# version posts its receipts and gets its responses; then the stored receipts are migrated and both APIs are compared. Ends by
# itself; fails if a response is not the expected one. V=1 prints the responses, too.
#
#     Tests/Scripts/check/demo.sh .build/release/receipt-bridge [FOLDER for the results]
set -eu

tool=${1:?usage: demo.sh RECEIPT-BRIDGE [FOLDER]}
results=${2:-}
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

good="" bad="" bold="" plain=""
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
    good=$(printf '\033[32m') bad=$(printf '\033[31m') bold=$(printf '\033[1m') plain=$(printf '\033[0m')
fi

fail() {
    printf '%s✗%s %s\n' "$bad" "$plain" "$1"
    echo "demo: $1" >&2
    for log in "$state/store.log" "$state/proxy.log" "$state/api-proxy.log"; do [ ! -s "$log" ] || sed 's/^/    /' "$log" >&2; done
    exit 1
}

# Waits until a program listens, and sets `url` to the address in its log: listening COMMAND LOG PID. Not in a subshell, in which a
# program that has ended still seems to run, because only its parent can notice its end.
listening() {
    tries=0
    until grep -q 'http://[^ ]*:[0-9]' "$2"; do
        kill -0 "$3" 2>/dev/null || fail "$1 ended before it listened on its port"
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || fail "$1 does not listen on its port after 30 seconds"
        sleep 0.1
    done
    url=$(sed -n 's/.*\(http:[^ "]*:[0-9][0-9]*\).*/\1/p' "$2" | head -n 1)
}

# Prints the N-th receipt of a kind: receipt ENVIRONMENT STYLE [N]
receipt() {
    grep "\"environment\":\"$1\",\"style\":\"$2\"" "$state/receipts.jsonl" | sed -n "${3:-1}p" |
        sed 's/.*"receipt":"\([^"]*\)".*/\1/'
}

# Posts one receipt, checks the response and prints a row of the table: ask NAME EXPLANATION RECEIPT STATUS SOURCE ENVIRONMENT
ask() {
    printf '{"receipt-data":"%s","password":"%s"}' "$3" "$(cat "$state/shared-secret.txt")" >"$state/request.json"
    curl --silent --show-error --noproxy '*' --max-time 20 --dump-header "$state/head" --output "$state/answer.json" \
        --data-binary @"$state/request.json" "$proxy_url/verifyReceipt" || fail "the proxy does not respond"
    status=$(sed -n 's/.*"status":\([0-9][0-9]*\).*/\1/p' "$state/answer.json")
    source=$(header Receipt-Bridge-Source)
    environment=$(header Receipt-Bridge-Environment)
    [ "$status" = "$4" ] || fail "$1: status $status, expected $4"
    [ "$source" = "$5" ] || fail "$1: source $source, expected $5"
    [ "$environment" = "$6" ] || fail "$1: environment $environment, expected $6"
    printf '%s✓%s %-29s %6s   %-8s %-10s  %s\n' "$good" "$plain" "$1" "$status" "$source" "$environment" "$2"
    [ -z "${V:-}" ] || indented <"$state/answer.json"
}

header() { sed -n "s/^$1: *\([^ ]*\) *\$/\1/p" "$state/head" | tr -d '\r'; }

# Prints the members of the response, sorted. The time of the request is left out, and so is the latest receipt, which Apple
# signs again for each response.
facts() { tr -s '[]{},' '\n' <"$state/answer.json" | grep -v '^"request_date\|^"latest_receipt"' | sort; }

# Prints the response as indented JSON, long values truncated, and only as many lines as fit on the screen.
indented() {
    awk '
        function line() { if (text != "") lines[++count] = text; text = sprintf("%*s", 8 + 2 * depth, "") }
        { body = body $0 }
        END {
            text = sprintf("%8s", "")
            for (n = 1; n <= length(body); n++) {
                c = substr(body, n, 1)
                if (quoted) {
                    if (c == "\\") { c = c substr(body, ++n, 1) } else if (c == "\"") quoted = 0
                    size++
                    if (!quoted && size > 57) text = text "…"
                    if (!quoted || size <= 56) text = text c
                } else if (c == "\"") { quoted = 1; size = 0; text = text c }
                else if (c ~ /[{[]/ && substr(body, n + 1, 1) !~ /[]}]/) { text = text c; depth++; line() }
                else if (c ~ /[]}]/ && substr(body, n - 1, 1) !~ /[{[]/) { depth--; line(); text = text c }
                else if (c == ",") { text = text c; line() }
                else text = text (c == ":" ? ": " : c)
            }
            line()
            for (n = 1; n <= count; n++) if (count <= 24 || n <= 16 || n > count - 4) print lines[n]
            else if (n == 17) printf "%8s… %d more lines …\n", "", count - 20
        }'
}

: >"$state/store.log"
: >"$state/proxy.log"
: >"$state/api-proxy.log"
"$tool" simulate --listen 127.0.0.1:0 --state "$state" --customers 20 >/dev/null 2>"$state/store.log" &
store=$!
listening simulate "$state/store.log" "$store"
store_url=$url
"$tool" serve --config "$state/receipt-bridge.yaml" --listen 127.0.0.1:0 >/dev/null 2>"$state/proxy.log" &
proxy=$!
listening serve "$state/proxy.log" "$proxy"
proxy_url=$url

echo "simulated App Store  $store_url"
echo "receipt-bridge       $proxy_url"
printf '\n%s  %-29s %6s   %-8s %s%s\n' "$bold" "request" "status" "source" "environment" "$plain"

app=$(receipt Production appReceipt)
ask "App Receipt" "by Apple" "$app" 0 apple Production
facts >"$state/apple.facts"
ask "sandbox receipt" "same address" "$(receipt Sandbox appReceipt)" 0 apple Sandbox
ask "transactionReceipt" "of iOS 6" "$(receipt Production transactionReceipt)" 0 apple Production
tampered=$(sed -n 's/.*"receipt":"\([^"]*\)".*"mangling":"tamperedByte".*/\1/p' "$state/hostile.jsonl")

sed 's/answer: \[apple, receipt\]/answer: [api, apple, receipt]/' "$state/receipt-bridge.yaml" >"$state/api.yaml"
"$tool" serve --config "$state/api.yaml" --listen 127.0.0.1:0 >/dev/null 2>"$state/api-proxy.log" &
api_proxy=$!
old_proxy_url=$proxy_url
listening serve "$state/api-proxy.log" "$api_proxy"
proxy_url=$url
ask "App Receipt, Server API" "same members" "$app" 0 api Production
facts >"$state/api.facts"
proxy_url=$old_proxy_url
diff "$state/apple.facts" "$state/api.facts" || fail "the response from the App Store Server API differs from that of verifyReceipt"

ask "forged receipt" "one byte off" "$tampered" 21003 apple Production

# The migration and the comparison need the App Store; what they print comes below the table.
results=${results:-$state/results}
mkdir -p "$results"
for file in customers.jsonl differences.jsonl; do rm -f "$results/$file" "$results/$file.progress"; done
"$tool" migrate "$state/receipts.jsonl" --to "$results/customers.jsonl" --report "$results/migration.html" --with-api \
    --config "$state/receipt-bridge.yaml" >/dev/null 2>"$state/migrate.log" || fail "migrate: $(cat "$state/migrate.log")"
"$tool" compare "$state/receipts.jsonl" --config "$state/receipt-bridge.yaml" --to "$results/differences.jsonl" \
    --report "$results/comparison.html" --fail-on-diff 2>"$state/compare.log" || fail "compare: $(cat "$state/compare.log")"

kill "$store"
wait "$store" 2>/dev/null || true
store=""
ask "App Receipt, Apple down" "from the archive" "$app" 0 stored Production
ask "new receipt, Apple down" "by its content" "$(receipt Production appReceipt 3)" 0 receipt Production
ask "forged receipt, Apple down" "still refused" "$tampered" 21003 receipt Production
printf '\nAll responses are as expected.\n'

# Prints a number of a summary: count NAME LOG
count() { sed -n "s/^$1  *\([0-9,]*\)\$/\1/p" "$2"; }

migrated=$(count rows "$state/migrate.log") customers=$(count customers "$state/migrate.log")
compared=$(count compared "$state/compare.log") differing=$(count "differ unexpectedly" "$state/compare.log")
for number in "$migrated" "$customers" "$compared"; do
    [ "${number:-0}" != 0 ] || fail "nothing was migrated or compared: $(cat "$state/migrate.log" "$state/compare.log")"
done

printf '\n%sStored receipts%s\n' "$bold" "$plain"
printf '%s✓%s migrate  %s receipts, %s customers, records of the App Store Server API\n' "$good" "$plain" \
    "$migrated" "$customers"
printf '%s✓%s compare  %s receipts by both APIs, %s differ unexpectedly\n' "$good" "$plain" \
    "$compared" "$differing"
[ "$results" != "$state/results" ] || exit 0
folder=$(cd "$results" && pwd)
printf '\nOpen in a browser:\n  %s\n  %s\n' "$folder/comparison.html" "$folder/migration.html"
printf '\nNext: README.md, "Step by step". make demo V=1 shows the responses.\n'
