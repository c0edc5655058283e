#!/usr/bin/env python3
"""Measures the cost of shadowing: requests per second, and the server's CPU time per request.

There are three servers in front of one simulated App Store: one that forwards Apple's responses, one that renders responses from
the App Store Server API, and one that forwards and shadows every request with the Server API. Needs wrk.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from measuring import cpu_seconds, start, stop


def script(folder, receipts, shared_secret):
    bodies = [json.dumps({"receipt-data": text, "password": shared_secret}) for text in receipts]
    path = os.path.join(folder, "post.lua")
    with open(path, "w") as file:
        file.write("local bodies = {" + ",".join("[==[" + body + "]==]" for body in bodies) + "}\n")
        file.write("local next = 0\nrequest = function()\n  next = next % #bodies + 1\n")
        file.write('  return wrk.format("POST", "/verifyReceipt", nil, bodies[next])\nend\n')
    return path


def measure(tool, folder, config, lua, seconds):
    server, url = start([tool, "serve", "--config", config, "--listen", "127.0.0.1:0"], "listening on")
    try:
        wrk = ["wrk", "-t1", "-c16", "-s", lua]
        subprocess.run(wrk + ["-d2s", url], check=True, capture_output=True)
        time.sleep(3)
        before = cpu_seconds(server.pid)
        output = subprocess.run(wrk + [f"-d{seconds}s", url], check=True, capture_output=True, text=True).stdout
        requests = int(re.search(r"(\d+) requests in", output).group(1))
        rate = float(re.search(r"Requests/sec:\s+([\d.]+)", output).group(1))
        if "Non-2xx" in output:
            sys.exit(output)
        # Shadow comparisons that are still pending belong to the requests, too.
        time.sleep(3)
        cpu = cpu_seconds(server.pid) - before
        report = None
        if "shadow:" in open(config).read():
            with urllib.request.urlopen("http://127.0.0.1:8081/comparisons?format=json") as response:
                report = json.load(response)
        return rate, cpu / requests * 1e6, report
    finally:
        stop(server)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--seconds", type=int, default=8)
    arguments = parser.parse_args()
    if shutil.which("wrk") is None:
        print("shadowing: not measured, because wrk is missing (apt-get install wrk)")
        return
    with tempfile.TemporaryDirectory() as folder:
        simulator, _ = start(
            [arguments.tool, "simulate", "--listen", "127.0.0.1:0", "--state", folder, "--customers", "40",
             "--seed", "7"], "simulated App Store at")
        try:
            base = open(os.path.join(folder, "receipt-bridge.yaml")).read()
            secret = open(os.path.join(folder, "shared-secret.txt")).read().strip()
            with open(os.path.join(folder, "receipts.jsonl")) as lines:
                receipts = [json.loads(line)["receipt"] for line in lines]
            lua = script(folder, receipts, secret)
            ways = {
                "apple": "answer: [apple]",
                "api": "answer: [api]\n    cacheSeconds: 0",
                "apple, shadow api": "answer: [apple]\n    shadow: api\n    cacheSeconds: 0",
            }
            figures = {}
            for number, (name, answer) in enumerate(ways.items()):
                config = os.path.join(folder, f"{number}.yaml")
                with open(config, "w") as file:
                    file.write(re.sub(r"answer: .*", answer, base) + f"\nstore: sqlite:{number}.sqlite\n")
                figures[name] = measure(arguments.tool, folder, config, lua, arguments.seconds)
        finally:
            stop(simulator)
    print(f"{'source':<26}{'requests/s':>12}{'CPU of the server, µs/request':>34}")
    for name, (rate, cpu, _) in figures.items():
        print(f"{name:<26}{rate:>12,.0f}{cpu:>34,.0f}")
    (plain, plain_cpu, _), (other, other_cpu, _), (both, both_cpu, report) = figures.values()
    compared = sum(app["compared"] for app in report["apps"])
    unequal = sum(app["compared"] - app["equal"] for app in report["apps"])
    left_out = {}
    for app in report["apps"]:
        for reason, count in app["failures"].items():
            left_out[reason] = left_out.get(reason, 0) + count
    print(f"compared {compared:,}, with unexpected differences {unequal:,}, not compared {left_out}")
    print(f"called one after another, the two sources would give {1 / (1 / plain + 1 / other):,.0f} requests/s; "
          f"the shadow adds {both_cpu - plain_cpu:,.0f} µs, the second source costs {other_cpu:,.0f} µs")


main()
