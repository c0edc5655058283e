#!/bin/sh
# Tests the pages of a comparison, a migration, the status and a customer in a browser, with screenshots in .build/browser. Needs the
# tests of `make test-build`, Python and Chromium, which root installs from Debian.
#
#     Tests/Scripts/check/browser.sh
set -eu
cd "$(dirname "$0")/../../.."
pages=$PWD/.build/browser
rm -rf "$pages"
mkdir -p "$pages"
RECEIPT_BRIDGE_PAGES=$pages REFUSE_SKIPPED=1 python3 Tests/Scripts/check/run_tests.py .build/debug/receipt-bridgePackageTests.xctest \
    --filter '[.]((StatusPageTests|ReportTests)/sample|(ComparisonPageTests|CustomerPageTests)/recorded)[(]'
python3 Tests/Scripts/check/browser/page.py "$pages"
