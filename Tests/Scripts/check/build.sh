#!/bin/sh
# Runs a build command. If a signal ended it or one of its compilers, which is a crash of the toolchain, it is run once more; what
# was built stays. Other errors are final. No build takes longer than 40 minutes. With QUIET=1 its lines are printed only if it fails.
set -u
log=$(mktemp)
trap 'rm -f "$log" "$log.status"' EXIT
limit=""
! command -v timeout >/dev/null 2>&1 || limit="timeout --kill-after=30 2400"
for attempt in 1 2; do
    {
        $limit "$@" 2>&1
        echo $? >"$log.status"
    } | if [ -n "${QUIET:-}" ]; then cat >"$log"; else tee "$log"; fi
    status=$(cat "$log.status")
    if [ "$status" -eq 0 ] || [ "$status" -eq 124 ]; then break; fi
    if [ "$status" -lt 128 ] && ! grep -qE 'compile command failed due to signal|failed with exit code (132|134|135|136|139)' "$log"; then
        break
    fi
    echo "build.sh: the toolchain crashed (exit status $status), attempt $attempt of 2" >&2
done
if [ -n "${QUIET:-}" ] && [ "$status" -ne 0 ]; then cat "$log" >&2; fi
exit "$status"
