#!/bin/sh
# Checks the sources without building them: format, imports between targets, links of the documents, tests of each threat, cases of
# each alert, values in the log. Each part fails if it finds nothing to check.
#
#     Tests/Scripts/check/lint.sh
set -eu
cd "$(dirname "$0")/../../.."
"${SWIFT:-swift}" format lint --strict --recursive Sources Tests Package.swift
python3 Tests/Scripts/check/imports.py
python3 Tests/Scripts/check/links.py
python3 Tests/Scripts/check/language.py --columns Sources Tests Package.swift
python3 Tests/Scripts/check/threats.py
python3 Tests/Scripts/check/alerts.py --list
python3 Tests/Scripts/check/log_values.py
