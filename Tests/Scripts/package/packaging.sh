#!/bin/sh
# Tests the files around the binary: the manual page equals the help of the tool and renders without a warning, the
# completions work in bash, `make install` installs every file, and systemd accepts the service.
#
#     Tests/Scripts/package/packaging.sh .build/release/receipt-bridge
set -eu

tool=$(realpath "${1:?usage: packaging.sh RECEIPT-BRIDGE}")
cd "$(dirname "$0")/../../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "packaging: $1" >&2
    exit 1
}

python3 docs/manual.py "$tool" >"$folder/manual.1"
diff -u docs/receipt-bridge.1 "$folder/manual.1" >&2 || fail "docs/receipt-bridge.1 is out of date: run make manual"
warnings=$(man --warnings -l docs/receipt-bridge.1 2>&1 >"$folder/manual.txt")
[ -z "$warnings" ] || fail "the manual page: $warnings"
grep -q -e '--original-transaction-id' "$folder/manual.txt" || fail "the manual page does not contain forget"
if command -v mandoc >/dev/null; then
    mandoc -T lint -W warning docs/receipt-bridge.1 >&2 || fail "mandoc reports problems"
else
    echo "SKIPPED mandoc, which is not installed"
fi
grep -q -e '--rewrite/--no-rewrite$' "$folder/manual.txt" || fail "the manual page lists a flag and its opposite separately"
echo "manual page: $(wc -l <"$folder/manual.txt") lines"

make --no-print-directory install TOOL="$tool" DESTDIR="$folder/root" PREFIX=/usr >/dev/null
(cd "$folder/root" && find . -type f -printf '%m %P\n' | sort -k 2) >"$folder/files"
diff -u - "$folder/files" >&2 <<'END' || fail "make install installed other files"
755 usr/bin/receipt-bridge
644 usr/share/bash-completion/completions/receipt-bridge
644 usr/share/fish/vendor_completions.d/receipt-bridge.fish
644 usr/share/man/man1/receipt-bridge.1
644 usr/share/zsh/site-functions/_receipt-bridge
END
echo "install: $(wc -l <"$folder/files") files"

code=0
make --no-print-directory install TOOL="$folder/none" DESTDIR="$folder/other" >"$folder/output" 2>&1 || code=$?
{ [ "$code" = 2 ] && grep -q 'Run make static first' "$folder/output" && [ ! -e "$folder/other" ]; } ||
    fail "make install without a binary ended with exit code $code: $(cat "$folder/output")"
echo "install: without a binary the message names the missing step"

completed=$(PATH="$folder/root/usr/bin:$PATH" bash --norc -c '
    source "$1"
    function=$(complete -p receipt-bridge | sed "s/.*-F \([^ ]*\).*/\1/")
    COMP_WORDS=(receipt-bridge for) COMP_CWORD=1 COMP_LINE="receipt-bridge for" COMP_POINT=18
    "$function" receipt-bridge for receipt-bridge
    printf "%s " "${COMPREPLY[@]}"' bash "$folder/root/usr/share/bash-completion/completions/receipt-bridge")
[ "$completed" = "forget forwarding " ] || [ "$completed" = "forwarding forget " ] || fail "unexpected completions in bash: $completed"
for shell in zsh fish; do
    command -v $shell >/dev/null || { echo "SKIPPED the completions of $shell, which is not installed" && continue; }
    $shell -n "$folder"/root/usr/share/$shell/*/*receipt-bridge* || fail "the completions for $shell have a syntax error"
done
echo "completions: for<TAB> gives $completed"

if command -v systemd-analyze >/dev/null; then
    # The binary and the manual page have these paths only on a machine on which the service is installed.
    sed "s|/usr/local/bin/receipt-bridge|$tool|; /^Documentation=/d" docs/systemd/receipt-bridge.service \
        >"$folder/receipt-bridge.service"
    problems=$(systemd-analyze verify "$folder/receipt-bridge.service" 2>&1)
    [ -z "$problems" ] || fail "systemd: $problems"
    echo "service: $(systemd-analyze security --offline=true docs/systemd/receipt-bridge.service | tail -n 1 | sed 's/.*Overall/overall/')"
else
    echo "SKIPPED the service, because there is no systemd-analyze"
fi
echo "packaging: all checks passed"
