#!/usr/bin/env python3
"""Runs `receipt-bridge bench` several times and prints the least and the median of each row.

With --json FILE all values are written, for Tests/Scripts/bench/compare_benchmarks.py.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from measuring import write_figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True, help="the binary of receipt-bridge")
    parser.add_argument("--runs", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument("--only", default="", help="only rows whose name has this prefix")
    parser.add_argument("--json", metavar="FILE", help="write the values of all runs to this file")
    arguments = parser.parse_args()
    figures, limits = {}, {}
    for _ in range(arguments.runs):
        command = [arguments.tool, "bench", "--json", *(["--only", arguments.only] if arguments.only else [])]
        for row in json.loads(subprocess.run(command, check=True, capture_output=True).stdout):
            figures.setdefault(row["name"], []).append(row["microseconds"])
            limits.setdefault(row["name"], []).append(row["limitMicroseconds"])
    width = max(map(len, figures), default=4)
    print(f"{'name':<{width}}{'least µs':>12}{'median µs':>12}{'limit µs':>12}{'ratio':>9}")
    for name, values in figures.items():
        limit = min(limits[name])
        print(f"{name:<{width}}{min(values):>12,.2f}{statistics.median(values):>12,.2f}{limit:>12,.2f}{min(values) / limit:>9.2f}")
    if arguments.json:
        write_figures(arguments.json, {name: {"unit": "µs", "values": values} for name, values in figures.items()})


main()
