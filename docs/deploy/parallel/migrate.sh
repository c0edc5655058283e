#!/bin/sh
# Decodes stored receipts with GNU parallel, one process for each core. The results are in the order of the rows.
#
#     migrate.sh SOURCE.jsonl RESULT.jsonl [OPTION…]
#
# The options are those of `receipt-bridge migrate`.
set -eu
source=$1
result=$2
shift 2

# --halt ends with the exit code of a process that failed. The result has its name only if all of it was written.
parallel --will-cite --keep-order --halt now,fail=1 --pipe-part --block 16M --arg-file "$source" \
    receipt-bridge migrate - --to - --workers 1 "$@" >"$result.part"
mv "$result.part" "$result"
