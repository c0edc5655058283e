#!/usr/bin/env python3
"""Compares two files that Tests/Scripts/bench/bench.py or Tests/Scripts/bench/http_bench.py wrote with --json, and names the rows that became slower or faster.

A row differs if its medians differ by more than 2 % and the middle halves of its values do not overlap. So a file needs several runs;
nine are enough. Lower values are better in every file. The exit code is 1 if a row became slower or is missing.

    python3 Tests/Scripts/bench/compare_benchmarks.py before.json after.json
"""
import argparse
import json
import statistics
import sys

# Smaller differences of the medians are not reported.
THRESHOLD = 0.02


def middle_half(values):
    """Returns the quartiles, or the only value twice."""
    if len(values) < 2:
        return values[0], values[0]
    quartiles = statistics.quantiles(values, n=4, method="inclusive")
    return quartiles[0], quartiles[2]


def verdict(before, after):
    change = statistics.median(after) / statistics.median(before) - 1
    (low, high), (newLow, newHigh) = middle_half(before), middle_half(after)
    if abs(change) <= THRESHOLD or (newLow <= high and low <= newHigh):
        return change, ""
    return change, "slower" if change > 0 else "faster"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    arguments = parser.parse_args()
    before, after = (json.load(open(path)) for path in (arguments.before, arguments.after))
    width = max(map(len, before.keys() | after.keys()), default=4)
    print(f"{'name':<{width}}{'least':>11}{'median':>11}{'least':>11}{'median':>11}{'change':>9}")
    failed = []
    for name, row in before.items():
        if name not in after:
            print(f"{name:<{width}}  missing in {arguments.after}")
            failed.append(name)
            continue
        values, new = row["values"], after[name]["values"]
        change, text = verdict(values, new)
        print(f"{name:<{width}}{min(values):>11,.2f}{statistics.median(values):>11,.2f}{min(new):>11,.2f}"
              f"{statistics.median(new):>11,.2f}{change:>+9.1%}  {text}")
        if text == "slower":
            failed.append(name)
    for name in after.keys() - before.keys():
        print(f"{name:<{width}}  new")
    counts = sorted({len(row["values"]) for figures in (before, after) for row in figures.values()})
    print(f"{len(failed)} slower; runs: {', '.join(map(str, counts))}")
    sys.exit(1 if failed else 0)


main()
