#!/usr/bin/env python3
"""Runs several workers of one migration on one PostgreSQL, kills workers at random, and checks the table.

    rows      four workers, of which --kills are killed and started again: the rows are those of one process, none twice
    speed     the same source by one process into a file, and by --workers workers: rows per second, CPU time per row
    lookups   two workers; the one that asks the simulated App Store is killed twice: each row is as without a kill, and the App
              Store counts at most the calls of an undisturbed run and those that were in flight

The exit code is 1 if a promise was broken. The PostgreSQL is one of its own, see postgresql.py.
"""
import argparse, json, os, random, shutil, sqlite3, subprocess, sys, tempfile, time, urllib.request

sys.path += [os.path.join(os.path.dirname(os.path.abspath(__file__)), room) for room in ("../support", "../bench")]
import simulated
from measuring import post, start
from migration import rows, world, write
from postgresql import Database

COLUMNS = ["id", "digest", "outcome", "reason", "kind", "environment", "bundleId", "repairs", "originalTransactionIds",
           "transactionIds", "unverifiedIds"]
failures = []


def wrong(text):
    failures.append(text)
    print(f"WRONG: {text}", flush=True)


class Worker:
    """A running `migrate`. Its CPU time is known when it has ended."""

    def __init__(self, command, log):
        self.process, self.seconds = subprocess.Popen(command, stdout=log, stderr=log), 0.0

    def ended(self):
        if self.process.returncode is None:
            process, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if process:
                self.process.returncode = os.waitstatus_to_exitcode(status)
                self.seconds = usage.ru_utime + usage.ru_stime
        return self.process.returncode is not None

    def wait(self):
        while not self.ended():
            time.sleep(0.02)
        return self.process.returncode


class Stage:
    def __init__(self, options):
        self.options, self.folder = options, tempfile.mkdtemp(prefix="receipt-bridge-migrate.")
        os.chmod(self.folder, 0o755)
        self.state = os.path.join(self.folder, "state")
        self.log = open(os.path.join(self.folder, "log"), "a+")
        self.database = Database(os.path.join(self.folder, "postgresql")).start("shared_buffers=128MB", "max_wal_size=4GB")
        self.database.sql("CREATE DATABASE receipts", "postgres")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.database.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def empty(self):
        self.database.sql("DROP SCHEMA public CASCADE")
        self.database.sql("CREATE SCHEMA public")

    def command(self, source, to, *more):
        return [self.options.tool, "migrate", source, "--to", to, *more]

    def address(self):
        return f"postgresql://bridge@127.0.0.1:{self.database.port}/receipts"

    def worker(self, source, *more):
        return Worker(self.command(source, self.address(), "--workers", "1", "--lease-milliseconds", "3000", *more), self.log)

    def number(self, sql):
        """Returns a number, or 0 if the tables do not exist yet."""
        if self.database.sql("SELECT coalesce(to_regclass('results')::text, '')") == [[""]]:
            return 0
        return int(self.database.sql(sql)[0][0] or 0)

    def says(self):
        self.log.seek(0)
        return self.log.read()[-2_000:]

    def source(self, kind):
        simulated.write(self.options.tool, self.state, self.options.customers)
        path = os.path.join(self.folder, "in" if kind == "folder" else f"in.{kind}")
        genuine, hostile = world(self.state)
        write(kind, path, rows(self.options.rows, genuine, hostile))
        return path

    def alone(self, source, *more):
        """Migrates into a file. Returns the process, the seconds, and the rows."""
        path, begin = os.path.join(self.folder, "alone.db"), time.monotonic()
        worker = Worker(self.command(source, path, *more), self.log)
        worker.wait()
        seconds = time.monotonic() - begin
        columns = " || '|' || ".join(f"coalesce({name}, '')" for name in COLUMNS)
        return worker, seconds, sorted(row[0] for row in sqlite3.connect(path).execute(f"SELECT {columns} FROM results"))

    def table(self):
        columns = " || '|' || ".join(f"coalesce({name}, '')" for name in COLUMNS)
        return sorted(line[0] for line in self.database.sql(f"SELECT {columns} FROM results"))

    def compare(self, expected):
        got = self.table()
        if not expected:
            wrong("the table of one process has no rows")
        if got != expected:
            differences = len(set(got) ^ set(expected))
            wrong(f"{len(got):,} rows instead of {len(expected):,}, {differences:,} differences")
        twice = self.number("SELECT count(*) FROM (SELECT id FROM results GROUP BY id HAVING count(*) > 1) AS repeated")
        if twice:
            wrong(f"{twice:,} ids are there twice")


def kill_workers(stage):
    options, dice = stage.options, random.Random(stage.options.seed)
    source = stage.source(options.source)
    roots = ["--roots", f"{stage.state}/roots"]
    size = ["--chunk-rows", str(max(options.rows // 200, 20)), "--chunk-bytes", str(max(os.path.getsize(source) // 200, 20_000))]
    one, _, expected = stage.alone(source, *roots)
    begin = time.monotonic()
    workers = [stage.worker(source, *roots, *size) for _ in range(options.workers)]
    kills, others = 0, []
    while workers:
        time.sleep(0.02)
        done = stage.number("SELECT count(*) FROM results")
        # The kills are spread over the rows, from the second moment on in which there are some.
        if kills < options.kills and done > options.rows * 0.9 * kills / options.kills:
            victim = dice.randrange(len(workers))
            if not workers[victim].ended():
                workers[victim].process.kill()
                workers[victim].wait()
                kills += 1
                workers[victim] = stage.worker(source, *roots, *size)
            time.sleep(dice.random() * 0.2)
        for worker in [worker for worker in workers if worker.ended()]:
            workers.remove(worker)
            others.append(worker.process.returncode)
    seconds = time.monotonic() - begin
    if any(code != one.process.returncode for code in others):
        wrong(f"exit codes {others}, but {one.process.returncode} of one process: {stage.says()}")
    if kills < options.kills:
        wrong(f"only {kills} of {options.kills} kills: the source is too small")
    stage.compare(expected)
    customers, groups = stage.number("SELECT count(*) FROM customers"), stage.number(
        "SELECT count(DISTINCT customer) FROM results")
    if customers != groups:
        wrong(f"{customers:,} customers, but the rows name {groups:,}")
    again = stage.number("SELECT sum(term - 1) FROM importChunk WHERE number >= 0")
    return f"{len(expected):,} rows, {customers:,} customers, {kills} kills, {again} chunks read again, {seconds:.1f} s"


def speed(stage):
    source = stage.source(stage.options.source)
    roots = ["--roots", f"{stage.state}/roots"]
    count = stage.options.rows
    one, seconds, expected = stage.alone(source, *roots)
    before, begin = stage.database.cpu_seconds(), time.monotonic()
    workers = [stage.worker(source, *roots) for _ in range(stage.options.workers)]
    for worker in workers:
        if worker.wait() != one.process.returncode:
            wrong(f"exit code {worker.process.returncode}: {stage.says()}")
    elapsed = time.monotonic() - begin
    server = stage.database.cpu_seconds() - before
    stage.compare(expected)
    cpu = sum(worker.seconds for worker in workers)
    return (f"{count:,} rows; one process into a file: {count / seconds:,.0f} rows/s, {one.seconds / count * 1e6:.0f} µs a row; "
            f"{len(workers)} workers: {count / elapsed:,.0f} rows/s, {cpu / count * 1e6:.0f} µs a row, "
            f"and {server / count * 1e6:.0f} µs of PostgreSQL")


def lookups(stage):
    options = stage.options
    simulator, url = start(
        [options.tool, "simulate", "--listen", "127.0.0.1:0", "--state", stage.state, "--customers", str(options.customers),
         "--seed", "7"], "simulated App Store at")
    try:
        def calls():
            return json.loads(urllib.request.urlopen(url + "/requests").read())["total"]

        source, config = os.path.join(stage.state, "receipts.jsonl"), ["--config", f"{stage.state}/receipt-bridge.yaml"]
        ask = ["--with-api", "--budget", "1", "--workers", "2", "--active-first"]
        one, _, expected = stage.alone(source, *config, "--with-api", "--budget", "1")
        wanted = calls()
        # Otherwise the first of the two could end before it is killed.
        post(url + "/faults", {"kind": "delay", "endpoint": "serverAPI", "milliseconds": 400})
        workers = [stage.worker(source, *config, *ask) for _ in range(2)]
        kills, code = 0, []
        while workers:
            time.sleep(0.02)
            asked = stage.number("SELECT count(*) FROM importCustomer WHERE state <> 0")
            if kills < 2 and asked > options.customers * (kills + 1) / 4:
                holder = stage.database.sql(
                    "SELECT split_part(holder, ' ', 2) FROM importChunk WHERE number = -3 AND state = 1 AND expiresAt > "
                    "extract(epoch FROM now()) * 1000")
                victim = next((worker for worker in workers if holder == [[str(worker.process.pid)]]), None)
                if victim and not victim.ended():
                    victim.process.kill()
                    victim.wait()
                    kills += 1
                    workers.remove(victim)
                    workers.append(stage.worker(source, *config, *ask))
            for worker in [worker for worker in workers if worker.ended()]:
                workers.remove(worker)
                code.append(worker.process.returncode)
        made = calls() - wanted
        # 8 lookups for each of two --workers, app and environment, of at most three calls.
        in_flight = kills * 2 * 8 * 2 * 3
        if kills < 2:
            wrong(f"the asker was killed only {kills} times")
        if made > wanted + in_flight:
            wrong(f"{made:,} calls, but {wanted:,} without a kill and at most {in_flight} in flight")
        if any(number != one.process.returncode for number in code):
            wrong(f"exit codes {code}, but {one.process.returncode} of one process: {stage.says()}")
        stage.compare(expected)
        return (f"{len(expected):,} rows, {options.customers:,} customers, {kills} kills: {made:,} calls, {wanted:,} without a kill, "
                f"at most {in_flight} in flight")
    finally:
        simulator.kill()
        simulator.wait()


SCENARIOS = {"rows": kill_workers, "speed": speed, "lookups": lookups}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="default: rows and lookups")
    parser.add_argument("--tool", required=True, help="the binary of receipt-bridge")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--customers", type=int, default=5_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--source", default="jsonl", choices=["jsonl", "csv", "sqlite", "folder"])
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    options = parser.parse_args()
    options.tool = os.path.abspath(options.tool)
    print(f"seed {options.seed}", flush=True)
    for name in options.scenarios or ["rows", "lookups"]:
        begin = time.monotonic()
        with Stage(options) as stage:
            text = SCENARIOS[name](stage)
        print(f"{name}: {text} ({time.monotonic() - begin:.0f} s)", flush=True)
    print(f"{len(failures)} broken promises" if failures else "All promises were kept.")
    sys.exit(1 if failures else 0)


main()
