#!/usr/bin/env python3
"""Decodes the same rows with one process, with PySpark and with GNU parallel, as docs/MIGRATION.md shows it, and compares the
results row by row. Prints rows per second and CPU time per row.

    make test-spark                  200,000 rows
    make test-spark ROWS=1000000

The programs of docs/deploy run as they stand. Needs pyspark, Java and GNU parallel; Tests/Scripts/bench/spark.sh installs them.
"""
import argparse
import ctypes
import itertools
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyspark

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import simulated

ROOT = Path(__file__).resolve().parents[3]


def fail(text):
    sys.exit(f"spark: {text}")


def write(path, count, genuine, hostile):
    """Writes rows; every fiftieth one is damaged. Some ids repeat, and some rows have none."""
    with open(path, "w") as file:
        for number in range(count):
            receipts = hostile if number % 50 == 49 else genuine
            row = {"id": f"r{number - number % 2 if number % 100 == 1 else number}",
                   "receipt": receipts[(number // 50 if receipts is hostile else number) % len(receipts)]}
            if number % 97 == 0:
                del row["id"]
            file.write(json.dumps(row) + "\n")


def adopt_orphans():
    """Makes this process the parent of processes whose parent ends first. Spark kills its Python workers without waiting for
    them, and only the CPU time of children that were waited for is counted."""
    PR_SET_CHILD_SUBREAPER = 36
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        fail("cannot adopt orphans")


def wait_for_orphans():
    """Waits until no descendant is left. They have nothing to do any more."""
    signal.alarm(30)
    try:
        while True:
            os.wait()
    except ChildProcessError:
        signal.alarm(0)


def run(name, words, environment, standard_input=None, standard_output=None, expected=0):
    """Runs a command, and returns its seconds and the CPU seconds of all its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    process = subprocess.run(words, env=environment, stdin=standard_input, stdout=standard_output, stderr=subprocess.PIPE)
    seconds = time.monotonic() - begin
    wait_for_orphans()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode != expected:
        fail(f"{name}: exit code {process.returncode}\n{process.stderr.decode(errors='replace')[-4000:]}")
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(name, expected, files, count):
    """Compares the lines of files, one after the other, with those of one process."""
    lines = itertools.chain.from_iterable(open(file, "rb") for file in files)
    with open(expected, "rb") as wanted:
        for number, (line, other) in enumerate(itertools.zip_longest(wanted, lines)):
            if line != other:
                fail(f"{name}: row {number} differs")
    if number + 1 != count:
        fail(f"{name}: {number + 1} rows, expected {count}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--customers", type=int, default=2_000)
    options = parser.parse_args()
    adopt_orphans()
    folder = Path(tempfile.mkdtemp(prefix="spark-"))
    try:
        tool = shutil.copy(options.tool, folder / "receipt-bridge")
        environment = os.environ | {
            "PATH": f"{folder}:{os.environ['PATH']}", "SPARK_HOME": os.path.dirname(pyspark.__file__),
            "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "TMPDIR": str(folder)}
        state = folder / "state"
        simulated.write(tool, state, options.customers)
        roots = ["--roots", str(state / "roots")]
        receipts = [[json.loads(line)["receipt"] for line in open(state / name)] for name in ("receipts.jsonl", "hostile.jsonl")]
        source, whole = folder / "in.jsonl", folder / "whole.jsonl"
        write(source, options.rows, *receipts)
        print(f"{options.rows:,} rows, {source.stat().st_size / options.rows:,.0f} bytes each; {os.cpu_count()} cores, "
              f"load {os.getloadavg()[0]:.1f}")
        print(f"{'':26}{'seconds':>8}{'rows/s':>10}{'CPU µs/row':>12}")

        def show(name, times, files=None):
            if files:
                compare(name, whole, files, options.rows)
            seconds, cpu = times
            print(f"{name:26}{seconds:8.1f}{options.rows / seconds:10,.0f}{cpu / options.rows * 1e6:12.1f}", flush=True)

        # Without ids, the migration to a file names rows by their numbers, so only its time is compared.
        show("file to file", run("file to file", [tool, "migrate", source, "--to", folder / "file.jsonl", *roots],
                                 environment, expected=1))
        with open(source) as rows, open(whole, "wb") as results:
            show("filter, one process", run("filter", [tool, "migrate", "-", "--to", "-", *roots], environment, rows, results))
        if sum(1 for _ in open(whole, "rb")) != options.rows:
            fail("the filter does not have a line for a line")

        result = folder / "parallel.jsonl"
        show("GNU parallel", run("parallel", [ROOT / "docs/deploy/parallel/migrate.sh", source, result, *roots], environment),
             [result])

        result = folder / "spark"
        # Spark as the parent of all its processes, so that their CPU time is counted.
        submit = [Path(sys.executable).parent / "spark-submit", "--master", "local[*]", "--conf", "spark.ui.enabled=false",
                  ROOT / "docs/deploy/spark/migrate.py"]
        decode = [tool, "migrate", "-", "--to", "-", "--workers", "1"]
        spark = run("spark", [*submit, source, result, *decode, *roots], environment)
        show("PySpark, with its start", spark, sorted(result.glob("part-*")))

        # A filter that fails must fail the job.
        broken = [*submit, source, folder / "broken", *decode, "--roots", folder / "missing"]
        if subprocess.run(broken, env=environment, capture_output=True).returncode == 0:
            fail("a job whose filter fails has succeeded")
        print("every row of every result is that of one process; a filter that fails fails the job")
    finally:
        shutil.rmtree(folder)


main()
