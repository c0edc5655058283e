#!/usr/bin/env python3
"""Compares stores: notifications received, verified and stored on disk before the response, by one server on SQLite, and by one, two
and three servers on PostgreSQL. Needs wrk and PostgreSQL.

Servers, database and load generator share the cores of this machine, so only the ratios are meaningful. Each notification is sent
once; a case ends when all of them are stored.

With --share 0.25 each server runs a quarter of the time only, as on a machine of its own with fewer cores. Then one server does not
use this machine up, and the figures show what further servers add.
"""
import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from measuring import cpu_seconds, notifications, script, start, stop
from postgresql import Database


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--notifications", type=int, default=8_000, help="for each case (default: %(default)s)")
    parser.add_argument("--customers", type=int, default=4_000,
                        help="about whom the notifications are; with few of them, batches wait for each other (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=3, help="the cases run in turn, this many times (default: %(default)s)")
    parser.add_argument("--connections", type=int, default=96, help="of the load generator, to all servers (default: %(default)s)")
    parser.add_argument("--share", type=float, metavar="SHARE", help="each server runs for this share of the time only")
    parser.add_argument("--json", metavar="FILE", help="write the figures to this file, too")
    arguments = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is missing (apt-get install wrk)")
    cases = [("SQLite", 1), ("PostgreSQL", 1), ("PostgreSQL", 2), ("PostgreSQL", 3)]
    figures = {case: [] for case in cases}
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        simulator, store = start(
            [arguments.tool, "simulate", "--listen", "127.0.0.1:0", "--state", folder, "--customers", str(arguments.customers), "--seed", "7"],
            "simulated App Store at")
        database = Database(os.path.join(folder, "postgresql")).start("shared_buffers=256MB")
        try:
            bodies = notifications(store, arguments.notifications)
            base = re.sub(r"\noperations:.*", "", open(os.path.join(folder, "receipt-bridge.yaml")).read())
            for run in range(arguments.runs):
                for engine, servers in cases:
                    figures[engine, servers].append(
                        measure(arguments, folder, base, bodies, database, engine, servers, run))
            found_sizes = sizes(database, f"case{arguments.runs - 1}postgresql1")
        finally:
            stop(simulator)
            database.stop("immediate")
    rows = [{"store": engine, "servers": servers,
             **{key: statistics.median(figure[key] for figure in found) for key in found[0]}}
            for (engine, servers), found in figures.items()]
    print(f"{'store':<12}{'servers':>8}{'notifications/s':>17}{'of SQLite':>11}{'server CPU µs':>15}{'database CPU µs':>17}")
    for row in rows:
        print(f"{row['store']:<12}{row['servers']:>8}{row['rate']:>17,.0f}{row['rate'] / rows[0]['rate']:>11.2f}"
              f"{row['serverMicroseconds']:>15,.0f}{row['databaseMicroseconds']:>17,.0f}")
    print(f"median of {arguments.runs} runs of {len(bodies):,} notifications each; CPU time per notification"
          + (f"; each server runs for {arguments.share:.0%} of the time" if arguments.share else ""))
    print_sizes(found_sizes)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(rows, file, indent=1)


def sizes(database, name):
    """Returns the tables of a database that need space: the name, the rows, and the bytes of a row without and with indexes."""
    database.sql("VACUUM FULL", name)
    tables = database.sql("SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace", name)
    found = []
    for (table,) in tables:
        rows, heap, total = map(int, database.sql(
            f"SELECT (SELECT count(*) FROM {table}), pg_table_size('{table}'), pg_total_relation_size('{table}')", name)[0])
        if rows >= 500:
            found.append((table, rows, heap / rows, total / rows))
    return sorted(found, key=lambda row: -row[3])


def print_sizes(found):
    print(f"\n{'table':<24}{'rows':>10}{'bytes a row':>14}{'with indexes':>14}")
    for table, rows, heap, total in found:
        print(f"{table:<24}{rows:>10,}{heap:>14,.0f}{total:>14,.0f}")
    print("PostgreSQL after VACUUM FULL, with the notifications of one case")


# Makes a wrk script mark the moment at which it has as many responses as there are bodies.
ONCE = """local responses = 0
response = function(status)
  responses = responses + 1
  if responses == %d then io.open("%s.done", "w"):close() end
end
"""


def send(loads, connections):
    """Runs wrk for each pair of a URL and a script until all of them have their responses. Returns the time and the outputs."""
    begin = time.monotonic()
    processes = [subprocess.Popen(["wrk", "-t1", f"-c{connections}", "-d600s", "-s", lua, url], stdout=subprocess.PIPE, text=True)
                 for url, lua in loads]
    waiting = [(process, lua + ".done") for process, (_, lua) in zip(processes, loads)]
    while waiting and time.monotonic() - begin < 300:
        for process, mark in waiting:
            if os.path.exists(mark):
                # wrk sleeps for its whole duration unless it is interrupted.
                process.send_signal(signal.SIGINT)
        waiting = [(process, mark) for process, mark in waiting if not os.path.exists(mark)]
        time.sleep(0.005)
    elapsed = time.monotonic() - begin
    for process, _ in waiting:
        process.kill()
    outputs = [process.communicate()[0] for process in processes]
    if waiting:
        sys.exit("not all requests got a response within five minutes")
    return elapsed, outputs


class Throttle:
    """Lets processes run for a share of each period of 20 ms only, one after another if there is time for all of them."""

    PERIOD = 0.02

    def __init__(self, processes, share):
        self.processes, self.share, self.ended = processes, share, threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(number,)) for number in range(len(processes) if share else 0)]

    def run(self, number):
        process, offset = self.processes[number], self.PERIOD * number / len(self.processes)
        self.ended.wait(offset)
        while not self.ended.wait(self.PERIOD * (1 - self.share)):
            os.kill(process, signal.SIGCONT)
            self.ended.wait(self.PERIOD * self.share)
            os.kill(process, signal.SIGSTOP)

    def __enter__(self):
        for thread in self.threads:
            thread.start()

    def __exit__(self, *_):
        self.ended.set()
        for thread, process in zip(self.threads, self.processes):
            thread.join()
            os.kill(process, signal.SIGCONT)


def measure(arguments, folder, base, bodies, database, engine, servers, run):
    """Returns the rate and the CPU time per notification of one case."""
    name = f"case{run}{engine.lower()}{servers}"
    address = f"sqlite:{name}.sqlite"
    if engine == "PostgreSQL":
        database.sql(f"CREATE DATABASE {name}", "postgres")
        address = f"postgresql://bridge@127.0.0.1:{database.port}/{name}"
    running = []
    try:
        for number in range(servers):
            config = os.path.join(folder, f"{name}-{number}.yaml")
            with open(config, "w") as file:
                file.write(f"{base}\nstore: '{address}'\ninstance: s{number}\n")
            running.append(start([arguments.tool, "serve", "--config", config, "--listen", "127.0.0.1:0", "--log-level", "error"],
                                 "listening on"))
        time.sleep(1)
        loads = []
        for number, (_, url) in enumerate(running):
            lua = script(folder, "/v1/notifications", bodies[number::servers], f"{name}-{number}")
            with open(lua, "a") as file:
                file.write(ONCE % (len(bodies[number::servers]), lua))
            loads.append((url, lua))
        before = [cpu_seconds(process.pid) for process, _ in running]
        databaseBefore = database.cpu_seconds()
        with Throttle([process.pid for process, _ in running], arguments.share):
            elapsed, outputs = send(loads, arguments.connections // servers)
        if any("Non-2xx" in output or "Socket errors" in output for output in outputs):
            sys.exit("not all notifications got a response with status 200:\n" + "\n".join(outputs))
        server = sum(cpu_seconds(process.pid) for process, _ in running) - sum(before)
        return {"rate": len(bodies) / elapsed, "serverMicroseconds": server / len(bodies) * 1e6,
                "databaseMicroseconds": (database.cpu_seconds() - databaseBefore) / len(bodies) * 1e6}
    finally:
        for process, _ in running:
            stop(process)


main()
