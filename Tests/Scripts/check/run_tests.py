#!/usr/bin/env python3
"""Runs the built tests in several processes at once, and prints one sum.

    Tests/Scripts/check/run_tests.py .build/debug/receipt-bridgePackageTests.xctest [--filter REGEX] [--jobs N] [--strict] [--verbose]

Each process runs the tests of some suites one after the other. The suites are distributed by their times in a run before, see
Tests/Scripts/check/times.json, which --record writes. Every test that the bundle lists must end or be skipped: a test that no process ran is an
error, and so is a filter that selects nothing, or only tests that are skipped. What the tests leave behind, processes and temporary files, is removed and
reported; with --strict it is an error.

What tests print, for example seeds, is printed if a test of the same process fails, or with --verbose. Skipped tests are listed with
their reason; with REFUSE_SKIPPED=1 they are errors.

With --slow, a test that takes more than 3 s is an error, unless Tests/Scripts/check/slow_tests.txt allows it: on a machine of one's own,
because seconds say nothing on a shared one. The processes are more than the cores, so a test that seems slow is measured once more by
itself before it counts.
"""
import argparse
import collections
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
TIMES = os.path.join(FOLDER, "times.json")
SLOW = os.path.join(FOLDER, "slow_tests.txt")
# Seconds that a test may take, and that a run may take before it is ended as hanging.
TEST_LIMIT, RUN_LIMIT = 3, 40 * 60
# Bytes that must be free in memory for temporary files. In debug the tests used 42 MB at a time.
MEMORY = 1 << 30
# Seconds between two lines of progress.
PROGRESS = 15
# Suites that run when all others have ended, because they stop a server that others use, or cause deadlocks, which others count.
LAST = re.compile(r"^StorageTests[.]PostgreSQL(Client|Outage)Tests$")
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
libc = ctypes.CDLL(None)


def command(bundle, *arguments):
    return [bundle, "--testing-library", "swift-testing", *arguments]


def end_with_parent():
    """The kernel kills the tests if this process dies."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def name_of(test_id, tests):
    """The id of a test as it is listed: BaseTests.WriterTests/text()/WriterTests.swift:97:6 without the last part, unless two
    functions have the same name."""
    return test_id if test_id in tests else re.sub(r"/[^/]*[.]swift:\d+:\d+$", "", test_id)


def listed(bundle, pattern):
    """The tests, by suite: {"BaseTests.WriterTests": ["BaseTests.WriterTests/text()", …]}."""
    lines = subprocess.run(command(bundle, "--list-tests"), capture_output=True, text=True, check=True).stdout.splitlines()
    suites = collections.defaultdict(list)
    for line in lines:
        if re.match(r"\w+[.]", line) and re.search(pattern, line):
            suites[line.split("/")[0]].append(line)
    return suites


def seconds_of(suite, tests, times):
    """The expected time of a suite: that of the last record, or a guess for a new one."""
    return times.get(suite, 0.1 * len(tests))


def shares(suites, times, jobs):
    """Distributes the suites: the longest first, each to the process that has least to do."""
    parts = [[0.0, index, []] for index in range(jobs)]
    for suite in sorted(suites, key=lambda name: -seconds_of(name, suites[name], times)):
        part = min(parts)
        part[0] += seconds_of(suite, suites[suite], times)
        part[2].append(suite)
    return [part[2] for part in parts if part[2]]


def memory_folder():
    """A folder in memory, where writes do not wait for a disk, if it has space and programs can run there; otherwise `None`."""
    try:
        state = os.statvfs("/dev/shm")
    except OSError:
        return None
    fits = state.f_bavail * state.f_frsize >= MEMORY and not state.f_flag & os.ST_NOEXEC
    return "/dev/shm" if fits and os.access("/dev/shm", os.W_OK) and "TMPDIR" not in os.environ else None


class Result:
    """What the events of one test say."""

    def __init__(self):
        self.start = self.seconds = self.skipped = None
        self.issues = []


class Run:
    """One process: the tests of some suites, its log, and the stream of events that Swift Testing writes."""

    def __init__(self, bundle, tests, folder, verbose):
        self.tests, self.verbose = tests, verbose
        self.results = collections.defaultdict(Result)
        # Issues without a test, for example of a task that outlives its test.
        self.issues = []
        self.running = self.last = None
        events = os.path.join(folder, "events")
        os.mkfifo(events)
        # Opened for both directions, so that the open does not wait for a writer and the read does not end before it.
        self.events = os.open(events, os.O_RDWR | os.O_NONBLOCK)
        self.rest = b""
        self.log = open(os.path.join(folder, "log"), "w+b")
        names = "|".join(re.escape(test) for test in tests)
        self.process = subprocess.Popen(
            command(bundle, "--no-parallel", "--filter", f"^({names})($|/)", "--event-stream-output-path", events,
                    "--event-stream-version", "0"),
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT, preexec_fn=end_with_parent,
            env=dict(os.environ, NO_COLOR="1"))

    def read(self):
        """Reads the events that were written since the last call."""
        while True:
            try:
                chunk = os.read(self.events, 1 << 16)
            except BlockingIOError:
                return
            *lines, self.rest = (self.rest + chunk).split(b"\n")
            for line in lines:
                record = json.loads(line)
                if record["kind"] == "event":
                    self.add(record["payload"])

    def add(self, event):
        test = name_of(event.get("testID", ""), self.tests)
        if "/" not in test:
            if event["kind"] == "testSkipped":
                # The tests of a skipped suite have events of their own only if the suite's condition is theirs, too.
                for other in self.tests:
                    if other.startswith(test + "/"):
                        self.results[other].skipped = reason_of(event)
            elif event["kind"] == "issueRecorded" and not event.get("issue", {}).get("isKnown"):
                self.issues.append(issue_of(event))
            return
        result, now = self.results[test], event["instant"]["absolute"]
        if event["kind"] == "testStarted":
            result.start = now
            self.running = self.last = test
        elif event["kind"] == "testEnded":
            result.seconds = now - result.start
            self.running = None
        elif event["kind"] == "testSkipped":
            result.skipped = reason_of(event)
        elif event["kind"] == "issueRecorded" and not event.get("issue", {}).get("isKnown"):
            result.issues.append(issue_of(event))

    def end(self):
        """Reads the rest of the events. Prints the log if a test failed, without the lines that a reader does not need."""
        self.read()
        os.close(self.events)
        if not (self.verbose or self.process.returncode or any(result.issues for result in self.results.values())):
            return
        self.log.seek(0)
        # An argument that contains U+0000 ends its line without a line feed.
        text = re.sub("(?<=[^\n])(?=[✔✘➜] Test )", "\n", self.log.read().decode(errors="replace"))
        noise = r"^◇|Test case passing|^↳ (Testing Library|Target Platform)|^\s*$|\" started[.]$" + (
            "" if self.verbose else r"|^(✔|➜) ")
        for line in text.splitlines():
            if not re.search(noise, line):
                print(line[:1000], flush=True)

    @property
    def missing(self):
        return [test for test in self.tests
                if self.results[test].seconds is None and self.results[test].skipped is None]


def issue_of(event):
    place = event.get("issue", {}).get("sourceLocation", {})
    text = "\n".join(message["text"] for message in event["messages"])
    return f"{place.get('fileID', '')}:{place.get('line', '')}: {text}"[:2000]


def reason_of(event):
    text = " ".join(message["text"] for message in event["messages"])
    found = re.search(r"skipped: (.*)", text)
    return found[1].strip('"') if found else ""


class Runner:
    """Processes at the same time, until all have ended."""

    def __init__(self, bundle, folder, verbose):
        self.bundle, self.folder, self.verbose = bundle, folder, verbose
        self.runs, self.begin, self.shown = [], time.monotonic(), 0

    def run(self, parts, total=None):
        begun = [self.start(part) for part in parts]
        waiting = list(begun)
        while waiting:
            time.sleep(0.05)
            hangs = time.monotonic() - self.begin > RUN_LIMIT
            for run in list(waiting):
                run.read()
                if hangs and run.process.poll() is None:
                    print(f"--- ended after {RUN_LIMIT} s, in {run.running}", flush=True)
                    run.process.kill()
                    run.process.wait()
                if run.process.poll() is not None:
                    waiting.remove(run)
                    run.end()
            if total:
                self.show(total)
        return begun

    def start(self, tests):
        folder = os.path.join(self.folder, f"run{len(self.runs)}")
        os.mkdir(folder)
        run = Run(self.bundle, tests, folder, self.verbose)
        self.runs.append(run)
        return run

    def show(self, total):
        seconds = int(time.monotonic() - self.begin)
        if seconds // PROGRESS == self.shown:
            return
        self.shown = seconds // PROGRESS
        results = [result for run in self.runs for result in run.results.values()]
        ended = sum(1 for result in results if result.seconds is not None or result.skipped is not None)
        failed = sum(1 for result in results if result.issues)
        names = ", ".join(run.running for run in self.runs if run.running)
        print(f"{seconds} s: {ended} of {total} tests, {failed} failed; {names}", file=sys.stderr, flush=True)


def allowed():
    """The tests of Tests/Scripts/check/slow_tests.txt and their seconds."""
    with open(SLOW) as file:
        rows = [line.split(None, 2) for line in file if line.strip() and not line.startswith("#")]
    return {row[1]: float(row[0]) for row in rows}


def measured_alone(runner, test, limit):
    """The seconds of a test that runs by itself; the lesser of two runs if the first takes longer than the limit."""
    def once():
        return runner.run([[test]])[0].results[test].seconds or float("inf")

    first = once()
    return first if first <= limit else min(first, once())


def children_left():
    """Ends the processes that were started by tests and still run. They belong to this process now, see main(). What the end of
    a test process ends has a second for it."""
    end = time.monotonic() + 1
    while children(kill=False) and time.monotonic() < end:
        time.sleep(0.05)
    return children(kill=True)


def children(kill):
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as file:
                state, parent = file.read().rsplit(")", 1)[1].split()[:2]
            if int(parent) != os.getpid() or state == "Z":
                continue
            with open(f"/proc/{entry}/cmdline") as file:
                line = file.read().replace("\0", " ")
            # The server of Tests/Scripts/support/postgresql.sh, which a test has stopped and started.
            if "/postgres " not in line:
                found.append(line[:200])
                if kill:
                    os.kill(int(entry), signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bundle")
    parser.add_argument("--filter", default="", help="only tests whose id matches this regular expression")
    parser.add_argument("--jobs", type=int, default=2 * len(os.sched_getaffinity(0)))
    parser.add_argument("--record", action="store_true", help="write the times of the suites to Tests/Scripts/check/times.json")
    parser.add_argument("--strict", action="store_true", help="what tests leave behind is an error")
    parser.add_argument("--slow", action="store_true", help="slow tests are errors")
    parser.add_argument("--verbose", action="store_true", help="print the line of each test, and what tests print")
    options = parser.parse_args()
    bundle = os.path.abspath(options.bundle)
    suites = listed(bundle, options.filter)
    if not suites:
        sys.exit(f"run_tests: no test matches {options.filter!r}")
    with open(TIMES) as file:
        times = json.load(file)
    total = sum(map(len, suites.values()))
    # Processes whose parent has died become children of this process.
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    work = tempfile.mkdtemp(prefix="receipt-bridge-run.", dir=memory_folder())
    scratch = os.path.join(work, "tmp")
    os.mkdir(scratch)
    # Sockets below TMPDIR have a limit of 107 bytes.
    os.environ["TMPDIR"] = scratch
    try:
        sys.exit(run(options, bundle, suites, times, total, work, scratch))
    finally:
        children_left()
        shutil.rmtree(work, ignore_errors=True)


def run(options, bundle, suites, times, total, work, scratch):
    runner = Runner(bundle, work, options.verbose)
    first = {name: suites[name] for name in suites if not LAST.match(name)}
    last = [test for name in suites if LAST.match(name) for test in suites[name]]
    runner.run([[test for name in part for test in suites[name]] for part in shares(first, times, options.jobs)], total)
    if last:
        runner.run([last], total)
    elapsed = time.monotonic() - runner.begin
    runs = list(runner.runs)
    results = {test: result for each in runs for test, result in each.results.items()}

    slow = sorted(((result.seconds, test) for test, result in results.items() if result.seconds), reverse=True)
    print("\n--- the 20 slowest tests, in seconds:")
    for seconds, test in slow[:20]:
        print(f"{seconds:7.1f}  {test}")
    errors = []
    if options.slow:
        exceptions, crowd = allowed(), max(1, options.jobs / len(os.sched_getaffinity(0)))
        for seconds, test in slow:
            limit = exceptions.get(test, TEST_LIMIT)
            if seconds > limit * crowd and not results[test].issues:
                again = measured_alone(runner, test, limit)
                if again > limit:
                    errors.append(f"{test} took {seconds:.1f} s, and {again:.1f} s by itself; {limit:.1f} s are allowed")
    skipped = collections.defaultdict(list)
    for test, result in results.items():
        if result.skipped is not None:
            skipped[result.skipped or "the test states no reason"].append(test)
    if skipped:
        print("--- skipped:")
    for reason, tests in sorted(skipped.items()):
        print(f"{len(tests):5}  {reason}")
        for test in tests if len(tests) < 4 else tests[:3] + ["…"]:
            print(f"         {test}")
    left = children_left() + sorted(os.listdir(scratch))
    if left:
        print(f"--- left behind, and removed: {len(left)}")
        for name in left[:20]:
            print(f"  {name}")
        if options.strict:
            errors.append(f"{len(left)} processes or temporary files were left behind")
    for each in runs:
        if each.missing:
            errors.append(f"{len(each.missing)} tests have no result, first {each.missing[0]}"
                          f" (exit status {each.process.returncode}, in {each.running})")
    failed = [test for test, result in results.items() if result.issues]
    if failed:
        print("--- failed:")
    for test in failed:
        print(f"✘ {test}")
        for issue in results[test].issues[:5]:
            print(f"    {issue}")
    for each in runs:
        errors += [f"no test has this issue: {issue}" for issue in each.issues]
        # A process that has ended by a signal has its negative number.
        if each.process.returncode and not each.missing and not any(result.issues for result in each.results.values()):
            errors.append(f"a process ended with {each.process.returncode} although none of its {len(each.tests)} tests "
                          f"failed; the last one was {each.last}")
    if skipped and sum(map(len, skipped.values())) == total:
        errors.append("every selected test was skipped")
    elif skipped and os.environ.get("REFUSE_SKIPPED"):
        errors.append("tests were skipped, and REFUSE_SKIPPED is set")
    for error in errors:
        print(f"error: {error}")
    if options.record:
        record(suites, results)
    count = sum(map(len, skipped.values()))
    ended = sum(1 for result in results.values() if result.seconds is not None)
    print(f"\n{elapsed:.0f} s in {options.jobs} processes: {total} tests, {ended - len(failed)} passed, {len(failed)} failed, "
          f"{count} skipped")
    return 1 if failed or errors else 0


def record(suites, results):
    """Writes the times of the suites, those of at least 0.2 s, in tenths of a second."""
    times = {}
    for suite, tests in suites.items():
        seconds = sum(results[test].seconds or 0 for test in tests)
        if seconds >= 0.2:
            times[suite] = round(seconds, 1)
    with open(TIMES, "w") as file:
        json.dump(times, file, indent=1, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    main()
