#!/bin/sh
# Installs the client libraries of Tests/Scripts/check/clients from PyPI into .build/clients-venv, unless they are there, and prints
# the path of the Python that has them.
#
#     RECEIPT_BRIDGE_PYTHON=$(Tests/Scripts/check/clients.sh) make test FILTER=ClientTests
set -eu
cd "$(dirname "$0")/../../.."
folder=.build/clients-venv
set -- Tests/Scripts/check/clients/requirements.txt Tests/Scripts/check/clients/server_api-requirements.txt
if [ ! -e $folder/complete ] || [ "$1" -nt $folder/complete ] || [ "$2" -nt $folder/complete ]; then
    python3 -m venv --clear $folder >&2
    $folder/bin/pip install --quiet --disable-pip-version-check --requirement="$1" --requirement="$2" >&2
    touch $folder/complete
fi
echo "$PWD/$folder/bin/python"
