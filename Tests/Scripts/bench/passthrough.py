#!/usr/bin/env python3
"""Compares the cost of forwarding Apple's responses with nginx's `proxy_pass` in front of the same `return 200`.

Also measures the latency that the proxy adds at half of its maximum load, the memory of a thousand open connections, and the time
from the start of a server to its first response. The servers, the load generator and the nginx that replaces Apple share the cores
of this machine, so only numbers of the same run can be compared. Needs wrk, h2load (nghttp2-client) and nginx.
"""
import argparse
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from measuring import ask, free_port, memory, nginx, script, start, stop, wrk

# About the longest text that nginx accepts in its configuration; Apple's responses are longer.
RESPONSE = json.dumps({"status": 0, "environment": "Production", "receipt": {"in_app": []}, "latest_receipt": "M" * 3_000})


def at_rate(folder, url, body, rate, seconds, connections=16):
    """Returns the median and the 99th percentile of the latency in milliseconds, and the requests per second that were reached.

    Each connection has its own h2load process, started at a different time. A single process sends the requests of all
    connections at the same time, so that the result would be the latency of a queue of sixteen requests.
    """
    data = os.path.join(folder, "body.json")
    with open(data, "wb") as file:
        file.write(body)
    logs = [os.path.join(folder, f"h2load-{number}.log") for number in range(connections)]
    loads = []
    for log in logs:
        loads.append(subprocess.Popen(
            ["h2load", "--h1", "-c1", "-t1", f"--rps={max(1, rate // connections)}", f"-D{seconds}", "-d", data,
             "--log-file", log, url + "/verifyReceipt"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        time.sleep(0.0053)
    if any(load.wait() != 0 for load in loads):
        sys.exit("h2load failed")
    rows = [line.split() for log in logs for line in open(log)]
    for log in logs:
        os.remove(log)
    if any(row[1] != "200" for row in rows) or not rows:
        sys.exit("not all requests got a response with status 200")
    times = sorted(int(row[2]) / 1000 for row in rows)
    return times[len(times) // 2], times[len(times) * 99 // 100], len(times) / seconds


def first_answer(tool, config, body):
    """Returns the milliseconds from the start of the process to the end of its first verifyReceipt response."""
    port = free_port()
    begin = time.perf_counter()
    process = subprocess.Popen([tool, "serve", "--config", config, "--listen", f"127.0.0.1:{port}"],
                               stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                status, response = ask(port, "POST", "/verifyReceipt", body)
                elapsed = (time.perf_counter() - begin) * 1000
                if status != 200 or json.loads(response)["status"] != 0:
                    sys.exit(f"unexpected first response {status}: {response[:200]}")
                return elapsed
            except ConnectionRefusedError:
                time.sleep(0.001)
    finally:
        stop(process)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--seconds", type=int, default=6)
    arguments = parser.parse_args()
    missing = [name for name in ("wrk", "h2load", "nginx") if shutil.which(name) is None]
    if missing:
        sys.exit(f"missing: {', '.join(missing)} (apt-get install wrk nghttp2-client nginx-light)")
    tool, seconds = arguments.tool, arguments.seconds
    running = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            # Used for its receipts and roots only; the server does not call it.
            simulator, _ = start(
                [tool, "simulate", "--listen", "127.0.0.1:0", "--state", folder, "--customers", "20", "--seed", "7"],
                "simulated App Store at")
            running.append(simulator)
            rows = [json.loads(line) for line in open(os.path.join(folder, "receipts.jsonl"))]
            body = json.dumps({"receipt-data": rows[0]["receipt"]}).encode()
            apple = nginx(folder, "apple", f"""server {{ listen 127.0.0.1:PORT backlog=1024;
                location / {{ default_type application/json; return 200 '{RESPONSE}'; }} }}""")
            running.append(apple[0])
            apple_port = urllib.parse.urlsplit(apple[1]).port
            passing = nginx(folder, "passing", f"""upstream apple {{ server 127.0.0.1:{apple_port};
                keepalive 64; keepalive_requests 1000000; }}
              server {{ listen 127.0.0.1:PORT backlog=1024; location / {{ proxy_pass http://apple;
                proxy_http_version 1.1; proxy_set_header Connection ""; }} }}""")
            running.append(passing[0])
            config = os.path.join(folder, "passing.yaml")
            base = open(os.path.join(folder, "receipt-bridge.yaml")).read()
            base = re.sub(r"(verifyReceipt:\s*\n\s*production: )\S+(\s*\n\s*sandbox: )\S+",
                          rf"\g<1>{apple[1]}/verifyReceipt\g<2>{apple[1]}/verifyReceipt", base)
            if apple[1] not in base:
                sys.exit("the configuration that the simulator wrote has an unexpected form")
            base = re.sub(r"\noperations:.*", "", base)
            with open(config, "w") as file:
                file.write(re.sub(r"answer: .*", "answer: [apple]", base)
                           + f"\nstore: none\noperations: {{listen: 127.0.0.1:{free_port()}}}\n")
            process, url = start([tool, "serve", "--config", config, "--listen", "127.0.0.1:0"], "listening on")
            running.append(process)
            ours = process, url

            lua = script(folder, "/verifyReceipt", [body], "ask")
            for server in (apple, passing, ours):
                wrk(server, lua, 1)
            print(f"{'forwarding ' + format(len(body), ',') + ' bytes':<28}{'requests/s':>11}{'of nginx':>10}"
                  f"{'CPU µs':>9}{'p50':>10}{'p99':>10}")
            reached = {}
            for name, server in (("return 200 alone", apple), ("nginx proxy_pass", passing), ("receipt-bridge", ours)):
                _, rate, cpu, p50, p99 = wrk(server, lua, seconds)
                reached[name] = rate
                ratio = f"{rate / reached['nginx proxy_pass']:.2f}" if "nginx proxy_pass" in reached else ""
                print(f"{name:<28}{rate:>11,.0f}{ratio:>10}{cpu:>9,.1f}{p50:>10}{p99:>10}", flush=True)

            half = int(reached["receipt-bridge"] / 2)
            print(f"\nat half of the maximum load of receipt-bridge: {half:,} requests/s")
            direct = None
            for name, server in (("return 200 alone", apple), ("nginx proxy_pass", passing), ("receipt-bridge", ours)):
                p50, p99, rate = at_rate(folder, server[1], body, half, seconds)
                direct = direct or (p50, p99)
                print(f"{name:<28}{rate:>11,.0f}   p50 {p50:.2f} ms, p99 {p99:.2f} ms; added "
                      f"{p50 - direct[0]:.2f} and {p99 - direct[1]:.2f} ms", flush=True)

            before = memory(process.pid)[0]
            port = urllib.parse.urlsplit(url).port
            open_ones = []
            for _ in range(1_000):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
                connection.request("POST", "/verifyReceipt", body)
                connection.getresponse().read()
                open_ones.append(connection)
            print(f"\nmemory: {before:.0f} MB before, {memory(process.pid)[0]:.0f} MB with 1,000 open connections, "
                  f"each of which got a response")
            for connection in open_ones:
                connection.close()
            # Stopped, because the servers that follow use the same address for the operations listener.
            running.remove(process)
            stop(process)
            times = sorted(first_answer(tool, config, body) for _ in range(9))
            print(f"first response after the start of the process: {times[4]:.0f} ms (median of 9; {times[0]:.0f} to "
                  f"{times[-1]:.0f})")
        finally:
            for process in reversed(running):
                stop(process)


main()
