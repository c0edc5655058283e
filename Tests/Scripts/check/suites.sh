#!/bin/sh
# Runs every test that `make test-build test-release-build` has built, in debug and in release, each with a PostgreSQL server of its
# own, and the scenarios of several servers that no test can show and that guard what a payer would notice:
#
#     kill, failover    what was acknowledged is stored and forwarded
#     outage            no genuine receipt is denied while the database is away
#     refund            a refund that one server receives changes the responses of the others
#     tls               certificate and password of a database on another host
#
# The other scenarios are in .ci/nightly. Tests of client libraries run if Tests/Scripts/check/clients.sh has installed these.
# Arguments are those of run_tests.py for the tests in debug.
#
#     Tests/Scripts/check/suites.sh [--strict]
set -u
cd "$(dirname "$0")/../../.."
[ ! -e .build/clients-venv/complete ] || export RECEIPT_BRIDGE_PYTHON="$PWD/.build/clients-venv/bin/python"
failed=""
# Runs the tests of one configuration: suite CONFIGURATION [ARGUMENT...]
suite() {
    bundle=.build/$1/receipt-bridgePackageTests.xctest
    shift
    Tests/Scripts/support/postgresql.sh python3 Tests/Scripts/check/run_tests.py "$bundle" "$@"
}
scenarios() { python3 Tests/Scripts/soak/cluster.py --tool .build/release/receipt-bridge "$@"; }

# PostgreSQL is installed once, not by both at the same time.
Tests/Scripts/support/postgresql.sh true || exit 1
# These mostly wait. The others have limits of two seconds, and a machine that is busy would exceed them.
scenarios kill outage tls &
beside=$!
trap 'kill $beside 2>/dev/null' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
suite debug "$@" || failed="$failed, the tests in debug"
suite release || failed="$failed, the tests in release"
wait $beside || failed="$failed, the scenarios kill outage tls"
scenarios refund failover || failed="$failed, the scenarios refund failover"
[ -z "$failed" ] || {
    echo "suites: failed: ${failed#, }" >&2
    exit 1
}
