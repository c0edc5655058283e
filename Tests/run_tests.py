#!/usr/bin/env python3
"""Runs the built tests in several processes at once, and prints one sum.

    Tests/run_tests.py .build/debug/receipt-bridgePackageTests.xctest [--filter REGEX] [--jobs N]

Each process runs the tests of some suites one after the other. Suites are distributed by the times of the last run that was
recorded (Tests/times.json; --record writes it). Every test that the bundle lists must have run: a test that no process ran is an
error. Skipped tests are listed with their reason; with REFUSE_SKIPPED=1 they are errors.
"""
import argparse
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

TIMES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "times.json")
RESULT = re.compile(r"^(✔|✘) Test (?!run with)(.*?)(?: with \d+ test cases?)? (passed|failed) after ([0-9.]+) seconds")
SUITE = re.compile(r"^(✔|✘) Suite (.*) (passed|failed) after ([0-9.]+) seconds")
SKIPPED = re.compile(r'^➜ Test (.*?) skipped(?:: (.*)|[.])$')
END = re.compile(r"^(✔|✘) Test run with (\d+) tests?")
NOISE = re.compile(r"^◇|Test case passing|^↳ (Testing Library|Target Platform)")


def end_with_parent():
    """The kernel kills the tests if this process dies (PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def command(bundle, *arguments):
    return [bundle, "--testing-library", "swift-testing", *arguments]


def listed(bundle, pattern):
    """The ids of the tests, by suite: {"JSONTests.WriterTests": ["JSONTests.WriterTests/text()", …]}."""
    lines = subprocess.run(command(bundle, "--list-tests"), capture_output=True, text=True, check=True).stdout.splitlines()
    suites = {}
    for line in lines:
        if re.match(r"\w+[.]", line) and re.search(pattern, line):
            suites.setdefault(line.split("/")[0], []).append(line)
    return suites


def shares(suites, times, jobs):
    """Distributes the suites: the longest first, each to the process that has least to do."""
    parts = [[0.0, []] for _ in range(jobs)]
    for suite in sorted(suites, key=lambda name: -times.get(name, 0.2 * len(suites[name]))):
        part = min(parts)
        part[0] += times.get(suite, 0.2 * len(suites[suite]))
        part[1].append(suite)
    return [part[1] for part in parts if part[1]]


class Run:
    """One process and what its log says."""

    def __init__(self, bundle, part, suites, pattern):
        self.expected = sum(len(suites[name]) for name in part)
        self.log = tempfile.TemporaryFile("w+", errors="replace")
        names = "|".join(re.escape(name) for name in part)
        if pattern:
            # Only whole ids, because a pattern can select some tests of a suite.
            names = "|".join(re.escape(test) for name in part for test in suites[name])
        self.process = subprocess.Popen(
            command(bundle, "--no-parallel", "--filter", f"^({names})($|/)"), stdout=self.log,
            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, preexec_fn=end_with_parent,
            env=dict(os.environ, NO_COLOR="1"))

    def read(self):
        self.log.seek(0)
        # An argument that contains U+0000 ends its line without a line feed.
        lines = re.sub("(?<=[^\n])(?=[✔✘➜] Test )", "\n", self.log.read()).splitlines()
        self.tests = [(float(m[4]), m[2]) for m in map(RESULT.match, lines) if m]
        self.skipped = [(m[1], m[2] or "") for m in map(SKIPPED.match, lines) if m]
        ends = [int(m[2]) for m in map(END.match, lines) if m]
        self.count = ends[-1] if ends else 0
        self.failed = sum(1 for line in lines if line.startswith("✘ Test ") and RESULT.match(line))
        # A test that neither ended nor was skipped is missing from the log, although the runner counts it.
        seen = len(self.tests) + len(self.skipped)
        self.is_bad = self.process.returncode != 0 or not self.count == self.expected == seen
        return [line for line in lines if not NOISE.match(line)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bundle")
    parser.add_argument("--filter", default="")
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 2))
    parser.add_argument("--record", action="store_true", help="write the times of the suites to Tests/times.json")
    options = parser.parse_args()
    begin = time.monotonic()
    bundle = os.path.abspath(options.bundle)
    suites = listed(bundle, options.filter)
    if not suites:
        sys.exit(f"run_tests: no test matches {options.filter!r}")
    times = json.load(open(TIMES)) if os.path.exists(TIMES) else {}
    running = [Run(bundle, part, suites, options.filter) for part in shares(suites, times, options.jobs)]
    done = []
    while running:
        time.sleep(0.1)
        for run in [run for run in running if run.process.poll() is not None]:
            running.remove(run)
            done.append(run)
            print("\n".join(line[:1000] for line in run.read()), flush=True)
    slow = sorted((test for run in done for test in run.tests), reverse=True)
    print("\n--- the 20 slowest tests, in seconds:")
    for seconds, name in slow[:20]:
        print(f"{seconds:7.1f}  {name}")
    skipped = sorted(test for run in done for test in run.skipped)
    if skipped:
        print("--- skipped:")
    for name, reason in skipped:
        print(f"  {name}: {reason or 'the test states no reason'}")
    for run in done:
        if run.is_bad:
            print(f"--- exit status {run.process.returncode}, {run.count} of {run.expected} tests")
    failed = sum(run.failed for run in done)
    total = sum(run.count for run in done)
    print(f"\n{time.monotonic() - begin:.0f} s in {len(done)} processes")
    print(f"{total - failed - len(skipped)} passed, {failed} failed, {len(skipped)} skipped")
    refused = bool(skipped) and bool(os.environ.get("REFUSE_SKIPPED"))
    sys.exit(1 if failed or refused or any(run.is_bad for run in done) else 0)


if __name__ == "__main__":
    main()
