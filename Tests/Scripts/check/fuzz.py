#!/usr/bin/env python3
"""Runs the fuzz targets one after another. Prints for each the number of inputs, the inputs per second, and the code coverage.
An input that crashes, hangs for 5 seconds or uses more than 2 GB of memory is written to `.build-fuzz/crashes`, and the exit code
is then 1.

    make fuzz                                  one minute for each target
    make fuzz SECONDS=600 TARGETS="jws json"   ten minutes for each of two targets
    make fuzz RUNS=1000000                     a number of inputs for each target, without a time limit
    make fuzz SEEDS=/some/where                additional seeds, one folder for each target, for example `/some/where/jws`

Inputs that reached new code are written to `.build-fuzz/corpus`, so that the next run starts with them.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
WORK = ROOT / ".build-fuzz"
# Folders with additional seeds of a target, below `Fuzzing/Corpus`.
ADDITIONAL_SEEDS = {"certificate": ["trust/roots", "trust/intermediates"], "document": ["answer"],
                    "json": ["request", "claims", "answer"]}


def number(pattern, text):
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def run(tool, target, options):
    grown = WORK / "corpus" / target
    crashes = WORK / "crashes"
    for folder in [grown, crashes]:
        folder.mkdir(parents=True, exist_ok=True)
    seeds = [ROOT / "Tests/Fuzzing/Corpus" / name for name in [target, *ADDITIONAL_SEEDS.get(target, [])]]
    if options.seeds:
        seeds.append(pathlib.Path(options.seeds) / target)
    limit = f"-runs={options.runs}" if options.runs else f"-max_total_time={options.seconds}"
    command = [tool, target, limit, "-timeout=5", "-rss_limit_mb=2048", "-max_len=16384", "-print_final_stats=1",
               f"-artifact_prefix={crashes}/{target}-", str(grown), *(str(seed) for seed in seeds if seed.is_dir())]
    # The backtraces of the Swift toolchain can hang after those of AddressSanitizer.
    ended = subprocess.run(
        command, env=os.environ | {"SWIFT_BACKTRACE": "enable=no"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace")
    log = WORK / f"{target}.log"
    log.write_text(ended.stdout)
    inputs = number(r'number_of_executed_units: *([0-9]+)', ended.stdout)
    good = ended.returncode == 0 and inputs > 0
    print(f"{target:14}{inputs:>13,}"
          f"{number(r'average_exec_per_sec: *([0-9]+)', ended.stdout):>11,}"
          f"{number(r' cov: ([0-9]+)', ended.stdout):>8,}{number(r' ft: ([0-9]+)', ended.stdout):>9,}"
          f"{number(r' corp: ([0-9]+)', ended.stdout):>8,}{number(r'peak_rss_mb: *([0-9]+)', ended.stdout):>8,}"
          f"  {'ok' if good else f'FAILED, see {log}'}", flush=True)
    return good


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
    print(f"{'target':14}{'inputs':>13}{'per second':>11}{'edges':>8}{'features':>9}{'corpus':>8}{'MB':>8}", flush=True)
    ended = [run(options.tool, target, options) for target in targets]
    sys.exit(0 if ended and all(ended) else 1)


main()
