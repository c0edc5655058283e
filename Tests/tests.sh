#!/bin/sh
# Runs a test command. Each line of its output appears at once, so that a test that hangs is the last line. What failed is
# repeated at the end, because of a long log often only the end is kept.
set -u
log=$(mktemp)
trap 'rm -f "$log" "$log.status"' EXIT
# Standard output into a pipe is buffered in blocks of 4 KB otherwise.
by_line=""
! command -v stdbuf >/dev/null 2>&1 || by_line="stdbuf -oL"
{
    $by_line "$@" 2>&1
    echo $? >"$log.status"
} | tee "$log"
status=$(cat "$log.status")
if [ "$status" -ne 0 ]; then
    echo "--- what failed (status $status):"
    grep -E '^(✘|↳)|error:|[Ff]atal error|Crash' "$log" | cut -c1-1000 | tail -n 60
fi
exit "$status"
