#!/bin/sh
# Runs a test command; what failed is said once more at the end, since of a long log often only the end is kept.
set -u
log=$(mktemp)
trap 'rm -f "$log" "$log.status"' EXIT
{
    "$@" 2>&1
    echo $? >"$log.status"
} | tee "$log"
status=$(cat "$log.status")
if [ "$status" -ne 0 ]; then
    echo "--- what failed (status $status):"
    grep -E '^(✘|↳)|error:|[Ff]atal error|Crash' "$log" | cut -c1-1000 | tail -n 60
fi
exit "$status"
