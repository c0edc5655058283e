#!/bin/sh
# Runs a test command, for at most 90 minutes. Each line of its output appears at once, so that the last line names a test that
# hangs. The failures are repeated at the end, because often only the end of a long log is stored. If REFUSE_SKIPPED is set, it
# also fails if a test was skipped.
set -u
log=$(mktemp)
trap 'rm -f "$log" "$log.status"' EXIT
# Otherwise standard output to a pipe is buffered in blocks of 4 KB.
by_line=""
! command -v stdbuf >/dev/null 2>&1 || by_line="stdbuf -oL"
limit=""
! command -v timeout >/dev/null 2>&1 || limit="timeout --kill-after=30 5400"
{
    $limit $by_line "$@" 2>&1
    echo $? >"$log.status"
} | tee "$log"
status=$(cat "$log.status")
if [ "$status" -eq 0 ] && [ -n "${REFUSE_SKIPPED:-}" ] && grep -E '(Test|Suite) .* skipped' "$log"; then
    echo "tests.sh: these tests did not run"
    exit 1
fi
if [ "$status" -ne 0 ]; then
    echo "--- failures (exit status $status):"
    grep -E '^(✘|↳)|error:|[Ff]atal error|Crash' "$log" | cut -c1-1000 | tail -n 60
fi
exit "$status"
