#!/bin/sh
# Runs a build command. If a signal ended it or one of its compilers, which is a crash of the toolchain, it is run once more; what
# was built stays. Other errors are final. No build takes longer than 40 minutes. With QUIET=1 its lines are printed only if it fails,
# and its progress every 20 seconds, on a terminal every second.
set -u
seconds=${BUILD_SECONDS:-2400}
limit=""
! command -v timeout >/dev/null 2>&1 || limit="timeout --kill-after=30 $seconds"
log=$(mktemp)
build="" watcher=""
ended() {
    kill $build 2>/dev/null
    kill -KILL $watcher 2>/dev/null
    rm -f "$log"
}
trap ended EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
begin=$(date +%s)

# Prints how far the build is, in SwiftPM's own numbers: "building, 140 s: [1197/1318] Compiling Server Routes.swift"
progress() {
    pause=${PROGRESS_SECONDS:-20} line='%s\n'
    if [ -t 3 ]; then pause=${PROGRESS_SECONDS:-1} line='\r\033[K%s'; fi
    while sleep "$pause" 3>&-; do
        step=$(grep '^\[[0-9]*/[0-9]*\]' "$log" | tail -n 1 | cut -c 1-55)
        # shellcheck disable=SC2059
        printf "$line" "building, $(($(date +%s) - begin)) s: ${step:-fetching packages and planning}" >&3
    done
}

for attempt in 1 2; do
    # In the background, so that a signal ends this script at once.
    $limit "$@" >"$log" 2>&1 &
    build=$!
    if [ -n "${QUIET:-}" ]; then progress 3>&2 >/dev/null 2>&1 & else tail -n +1 -f -s 0.2 --pid="$build" "$log" & fi
    watcher=$!
    wait "$build"
    status=$?
    build=""
    if [ -n "${QUIET:-}" ]; then
        kill -KILL "$watcher"
        [ ! -t 2 ] || printf '\r\033[K' >&2
    else
        wait "$watcher"
    fi
    watcher=""
    if [ $status -ne 0 ] && [ -n "$limit" ] && [ $(($(date +%s) - begin)) -ge "$seconds" ]; then
        echo "build.sh: the build was stopped after $((seconds / 60)) minutes; the same command continues where it stopped" >&2
        exit $status
    fi
    if [ $status -lt 128 ] && ! grep -qE 'compile command failed due to signal|failed with exit code (132|134|135|136|139)' "$log"; then
        break
    fi
    echo "build.sh: the toolchain crashed (exit status $status), attempt $attempt of 2" >&2
done
if [ -n "${QUIET:-}" ] && [ $status -ne 0 ]; then cat "$log" >&2; fi
exit $status
