#!/bin/sh
# Installs what spark.py needs, and runs it: PySpark from PyPI into .build/spark, and a Java runtime and GNU parallel from Debian
# (with apt-get, as root or with sudo).
#
#     Tests/Scripts/bench/spark.sh .build/release/receipt-bridge [ROWS]
set -eu

tool=$(realpath "${1:?usage: spark.sh RECEIPT-BRIDGE [ROWS]}")
cd "$(dirname "$0")/../../.."

missing=""
command -v java >/dev/null || missing="default-jre-headless"
command -v parallel >/dev/null || missing="$missing parallel"
if [ -n "$missing" ]; then
    sudo=""
    [ "$(id -u)" = 0 ] || sudo=sudo
    echo "spark.sh: installing $missing" >&2
    $sudo apt-get update -qq >&2
    # shellcheck disable=SC2086
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >&2
fi
python3 -m venv .build/spark
.build/spark/bin/pip install --quiet pyspark==4.3.0

exec .build/spark/bin/python Tests/Scripts/bench/spark.py --tool "$tool" --rows "${2:-200000}"
