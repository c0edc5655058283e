#!/bin/sh
# Builds every test in debug with AddressSanitizer, in .build-asan, and runs them with leak checking. Tests of FoundationNetworking,
# which only tests use, leak in libcurl, so those of our own client run a second time without that exception.
#
#     Tests/Scripts/check/asan.sh
set -eu
cd "$(dirname "$0")/../../.."
export SWIFT_DETERMINISTIC_HASHING=1 WARNINGS_AS_ERRORS=1 SWIFT_BACKTRACE=enable=no
check=Tests/Scripts/check
$check/build.sh "${SWIFT:-swift}" build --build-tests --sanitize=address --scratch-path .build-asan
grep -v libcurl $check/leaks.supp >.build-asan/leaks.supp
# Runs tests with a list of leaks that are not ours: run LIST [ARGUMENT...]
run() {
    leaks=$1
    shift
    ASAN_OPTIONS=suppressions=$PWD/$check/asan.supp LSAN_OPTIONS=suppressions=$PWD/$leaks:print_suppressions=0 \
        python3 $check/run_tests.py .build-asan/debug/receipt-bridgePackageTests.xctest "$@"
}
run .build-asan/leaks.supp --filter '^(TransportTests|AppStoreTests|ServerTests)[.]'
run $check/leaks.supp
