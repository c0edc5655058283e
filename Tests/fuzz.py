#!/usr/bin/env python3
"""Runs the fuzz targets one after the other and prints, for each, how many inputs were tried, how fast, and how much of the
code they reached. What crashes, hangs for 5 seconds or takes over 2 GB is kept in `.build-fuzz/crashes`; then the exit code
is 1.

    make fuzz                                  a minute for each target
    make fuzz SECONDS=600 TARGETS="jws json"   ten minutes for two of them
    make fuzz RUNS=1000000                     so many inputs for each, however long that takes
    make fuzz SEEDS=/some/where                more seeds: a folder for each target, `/some/where/jws` and so on

What reached something new is kept in `.build-fuzz/corpus`, so that the next run goes on from there.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
WORK = HERE.parent / ".build-fuzz"
# Targets whose seeds, or more of them, are somewhere else.
ELSEWHERE = {"certificate": ["trust/roots", "trust/intermediates"], "json": ["request", "claims", "answer"]}


def number(pattern, text):
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def run(tool, target, options):
    grown = WORK / "corpus" / target
    crashes = WORK / "crashes"
    for folder in [grown, crashes]:
        folder.mkdir(parents=True, exist_ok=True)
    seeds = [HERE / "Fuzzing/Corpus" / name for name in [target, *ELSEWHERE.get(target, [])]]
    if options.seeds:
        seeds.append(pathlib.Path(options.seeds) / target)
    limit = f"-runs={options.runs}" if options.runs else f"-max_total_time={options.seconds}"
    command = [tool, target, limit, "-timeout=5", "-rss_limit_mb=2048", "-max_len=16384", "-print_final_stats=1",
               f"-artifact_prefix={crashes}/{target}-", str(grown), *(str(seed) for seed in seeds if seed.is_dir())]
    # The toolchain's own backtraces can hang behind AddressSanitizer's.
    ended = subprocess.run(
        command, env=os.environ | {"SWIFT_BACKTRACE": "enable=no"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace")
    log = WORK / f"{target}.log"
    log.write_text(ended.stdout)
    print(f"{target:14}{number(r'number_of_executed_units: *([0-9]+)', ended.stdout):>13,}"
          f"{number(r'average_exec_per_sec: *([0-9]+)', ended.stdout):>10,}"
          f"{number(r' cov: ([0-9]+)', ended.stdout):>8,}{number(r' ft: ([0-9]+)', ended.stdout):>9,}"
          f"{number(r' corp: ([0-9]+)', ended.stdout):>8,}{number(r'peak_rss_mb: *([0-9]+)', ended.stdout):>8,}"
          f"  {'ok' if ended.returncode == 0 else f'FAILED, see {log}'}", flush=True)
    return ended.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--targets", default="")
    parser.add_argument("--seeds", default="")
    options = parser.parse_args()
    targets = options.targets.split() or subprocess.run(
        [options.tool], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.split()
    print(f"{'target':14}{'inputs':>13}{'a second':>10}{'edges':>8}{'features':>9}{'corpus':>8}{'MB':>8}", flush=True)
    ended = [run(options.tool, target, options) for target in targets]
    sys.exit(0 if ended and all(ended) else 1)


main()
