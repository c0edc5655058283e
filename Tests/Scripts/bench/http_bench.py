#!/usr/bin/env python3
"""Compares the cost of the server's routes with that of a bare route, for the same request bodies. Needs wrk.

The bare route uses Hummingbird only: it decodes the same JSON body and responds with a small object. The server, the load
generator and, if it is called, the simulated App Store share the cores of this machine, so only the ratios are meaningful.
"""
import argparse
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from measuring import free_port, notifications, post, script, start, stop, write_figures, wrk


def stored_bytes(path):
    """Returns the number of notifications in a store, and the size of its file in bytes after a checkpoint."""
    with sqlite3.connect(path) as store:
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return store.execute("SELECT count(*) FROM notification").fetchone()[0], os.path.getsize(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--seconds", type=int, default=6)
    parser.add_argument("--notifications", type=int, default=12_000)
    parser.add_argument("--only-notifications", action="store_true")
    parser.add_argument("--runs", type=int, default=1, help="measure every route this many times, in turn (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write the CPU time of each request in all runs to this file")
    arguments = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is missing (apt-get install wrk)")
    tool, seconds = arguments.tool, arguments.seconds
    running = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            simulator, store = start(
                [tool, "simulate", "--listen", "127.0.0.1:0", "--state", folder, "--customers", "300", "--seed", "7"],
                "simulated App Store at")
            running.append(simulator)
            base = re.sub(r"\n    answer:.*", "", open(os.path.join(folder, "receipt-bridge.yaml")).read())
            base = re.sub(r"\noperations:.*", "", base)
            secret = open(os.path.join(folder, "shared-secret.txt")).read().strip()

            def serve(name, answer, more=""):
                config = os.path.join(folder, name + ".yaml")
                with open(config, "w") as file:
                    file.write(f"{base.rstrip()}\n    answer: [{answer}]\n    cacheSeconds: 3600\n"
                               f"operations: {{listen: 127.0.0.1:{free_port()}}}\n{more}\n")
                process, url = start([tool, "serve", "--config", config, "--listen", "127.0.0.1:0"], "listening on")
                running.append(process)
                return process, url

            bare_port = free_port()
            running.append(subprocess.Popen([tool, "bare-route", "--port", str(bare_port)],
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            bare = running[-1], f"http://127.0.0.1:{bare_port}"
            stored = serve("stored", "stored, api", "store: sqlite:bench.sqlite")
            api = serve("api", "api", "store: none")
            receipt = serve("receipt", "receipt", "store: none")

            # One customer with a few purchases, and one with a hundred or more.
            samples = {}
            for line in open(os.path.join(folder, "receipts.jsonl")):
                row = json.loads(line)
                body = json.dumps({"receipt-data": row["receipt"], "password": secret}).encode()
                for _ in range(1 if arguments.only_notifications else 3):
                    headers, response = post(stored[1] + "/verifyReceipt", body)
                    time.sleep(0.02)
                if arguments.only_notifications:
                    continue
                rows = len(response.get("latest_receipt_info", []))
                if not arguments.only_notifications and headers["Receipt-Bridge-Source"] == "stored" and row["style"] == "appReceipt":
                    name = "100 transactions" if rows == 100 else "few transactions" if 3 <= rows <= 8 else None
                    # The smallest receipt of each kind; the cost of the receipt itself is in a row of its own.
                    if name and (name not in samples or len(body) < len(samples[name][0])):
                        samples[name] = body, rows
            print(f"{'route':<44}{'requests/s':>11}{'of bare':>9}{'CPU µs':>9}{'of bare':>9}{'p50':>10}{'p99':>10}")

            found = {}

            def row(name, figures, bare):
                _, rate, cpu, p50, p99 = figures
                found.setdefault(re.sub(r" \(.*", "", name), {"unit": "CPU µs", "values": []})["values"].append(cpu)
                print(f"{name:<44}{rate:>11,.0f}{rate / bare[1]:>9.2f}{cpu:>9,.1f}{bare[2] / cpu:>9.2f}"
                      f"{p50:>10}{p99:>10}", flush=True)

            for name, (body, rows) in samples.items():
                lua = script(folder, "/bare", [body], "bare")
                lua_unique = script(folder, "/bare", [body], "bare-unique", unique=True)
                ask = script(folder, "/verifyReceipt", [body], "ask")
                ask_unique = script(folder, "/verifyReceipt", [body], "ask-unique", unique=True)
                for url, script_path in ((bare, lua), (stored, ask), (api, ask), (receipt, ask)):
                    wrk(url, script_path, 1)
                for _ in range(arguments.runs):
                    # The same request again and again, as from an app that posts its receipt several times at launch.
                    measure = wrk(bare, lua, seconds)
                    row(f"bare, {name} ({len(body):,} bytes)", measure, measure)
                    for label, server in (("receipt", receipt), ("api", api), ("stored", stored)):
                        row(f"{label}, {name}", wrk(server, ask, seconds), measure)
                    # Bodies that were never sent before. The records of `api` come from memory.
                    measure = wrk(bare, lua_unique, seconds)
                    row(f"bare, new bodies, {name}", measure, measure)
                    for label, server in (("receipt", receipt), ("api", api)):
                        row(f"{label}, new bodies, {name}", wrk(server, ask_unique, seconds), measure)
            bodies = notifications(store, arguments.notifications)
            lua = script(folder, "/bare", bodies, "bare")
            measure = wrk(bare, lua, 4, 64)
            row(f"bare, notifications ({sum(map(len, bodies)) // len(bodies):,} bytes)", measure, measure)
            notify = script(folder, "/v1/notifications", bodies, "notifications")
            file = os.path.join(folder, "bench.sqlite")
            _, before = stored_bytes(file)
            figures = wrk(stored, notify, 2, 64)
            row("notifications stored", figures, measure)
            count, after = stored_bytes(file)
            print(f"  {(after - before) / count:,.0f} bytes in the store for each")
            if figures[0] > len(bodies):
                print(f"  of these {figures[0] - len(bodies):,} were repetitions; increase --notifications")
            if arguments.json:
                write_figures(arguments.json, found)
        finally:
            for process in reversed(running):
                stop(process)


main()
