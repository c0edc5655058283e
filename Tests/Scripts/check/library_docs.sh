#!/bin/sh
# Makes the documentation of the library from the modules of a build, in .build/docs-library. Any warning is an error.
#
#     Tests/Scripts/check/library_docs.sh .build/debug
set -eu
modules=$(cd "$1/Modules" && pwd)
cd "$(dirname "$0")/../../.."
swift=${SWIFT:-swift}
value() { "$swift" -print-target-info | sed -n "s/^ *\"$1\": \"\(.*\)\",\{0,1\}\$/\1/p" | head -n 1; }
tools=$(value runtimeResourcePath)/../../bin
out=.build/docs-library
rm -rf $out
mkdir -p $out/symbols
# shellcheck disable=SC2046
"$tools/swift-symbolgraph-extract" -module-name AppStoreReceipts -target "$(value triple)" -I "$modules" -I Sources/COpenSSL \
    $(pkg-config --cflags-only-I libcrypto) -minimum-access-level public -skip-synthesized-members -output-dir $out/symbols
[ -s $out/symbols/AppStoreReceipts.symbols.json ]
"$tools/docc" convert Sources/AppStoreReceipts/AppStoreReceipts.docc --additional-symbol-graph-dir $out/symbols \
    --fallback-display-name AppStoreReceipts --fallback-bundle-identifier AppStoreReceipts --warnings-as-errors \
    --output-dir $out/AppStoreReceipts.doccarchive
