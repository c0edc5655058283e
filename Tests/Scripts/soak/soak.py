#!/usr/bin/env python3
"""Runs servers under load for minutes while the App Store has changing faults, and checks responses, memory and file descriptors.

There are three servers in front of one simulated App Store: one with the source `apple`, one with `api`, and one with `stored`,
which uses notifications. Clients post genuine and forged receipts, invalid bodies and incomplete requests. The faults change every
few seconds. Sometimes the App Store hangs, and sometimes the servers reload their configuration. A relay makes the App Store far
away: its responses slow down to 4 s and recover, or one of three takes 8 s.

The run fails if a genuine receipt is reported as invalid, if a forged one is reported as genuine, if a response takes longer than the
deadline, if memory or file descriptors grow, or if a server does not end with exit code 0 after SIGTERM.
"""
import argparse
import base64
import collections
import http.client
import json
import os
import random
import re
import signal
import socket
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from measuring import free_port, post, start, stop

# The statuses that an app interprets as "this purchase is not valid".
DENIALS = {21002, 21003, 21004, 21007, 21008, 21010}
# In seconds: the server's own deadline of nine, and two for a machine under load.
DEADLINE = 9 + 2
ORDERS = {
    "apple": "apple, receipt",
    "api": "api, apple, receipt",
    "stored": "stored, api, receipt",
}


def faults(dice):
    """Returns a random set of faults, as bodies of `POST /faults`."""
    kind = dice.choice([
        {}, {}, {"kind": "status", "status": 503}, {"kind": "status", "status": 500}, {"kind": "html"},
        {"kind": "body", "body": "{}"}, {"kind": "body", "body": "{\"status\":"}, {"kind": "reset"},
        {"kind": "truncate"}, {"kind": "delay", "milliseconds": 400}, {"kind": "delay", "milliseconds": 20_000},
        {"kind": "status21005"}, {"kind": "status21009"}, {"kind": "status21002"},
    ])
    if not kind:
        return []
    found = []
    for endpoint in dice.choice([["verifyReceipt"], ["serverAPI"], ["verifyReceipt", "serverAPI"]]):
        if endpoint == "serverAPI" and kind["kind"].startswith("status2"):
            kind = {"kind": "error", "errorCode": 4290000, "retryAfter": str(int(time.time() * 1000) + 1500)}
        found.append(kind | {"endpoint": endpoint, "environment": dice.choice([None, "production", "sandbox"])})
    return found


def distances(dice):
    """Yields settings of the relay, each for five seconds: a near App Store, a slow-down and recovery, a brown-out."""
    while True:
        for delay in dice.choice([[0] * 6, [200, 1_000, 2_500, 4_000, 4_000, 2_000, 500]]):
            yield {"delay": delay, "slow": 0}
        for _ in range(dice.choice([0, 0, 4])):
            yield {"delay": 300, "slow": 3, "slowDelay": 8_000}


class Tally:
    def __init__(self):
        self.lock = threading.Lock()
        self.counts = collections.Counter()
        self.faults = []
        self.slowest = 0.0

    def count(self, *names):
        with self.lock:
            for name in names:
                self.counts[name] += 1

    def record_failure(self, text):
        with self.lock:
            self.counts["wrong"] += 1
            if len(self.faults) < 20:
                self.faults.append(text)


class Client(threading.Thread):
    """Posts one request after another until `ending` is set."""

    def __init__(self, name, url, seed, genuine, forged, tally, ending):
        super().__init__(daemon=True)
        self.order, self.dice, self.genuine, self.forged = name, random.Random(seed), genuine, forged
        self.tally, self.ending = tally, ending
        parts = urllib.parse.urlsplit(url)
        self.host, self.port = parts.hostname, parts.port
        self.connection = None

    def run(self):
        while not self.ending.is_set():
            roll = self.dice.random()
            try:
                if roll < 0.90:
                    self.post_receipt(self.dice.choice(self.genuine), True)
                elif roll < 0.94:
                    self.post_receipt(self.dice.choice(self.forged), False)
                elif roll < 0.97:
                    self.post_invalid_body()
                else:
                    self.disconnect()
            except (OSError, http.client.HTTPException) as error:
                self.connection = None
                if not self.ending.is_set():
                    self.tally.record_failure(f"{self.order}: a connection failed: {type(error).__name__} {error}")
            time.sleep(self.dice.random() * 0.02)

    def post_receipt(self, row, is_genuine):
        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        begin = time.monotonic()
        self.connection.request("POST", "/verifyReceipt", json.dumps({"receipt-data": row["receipt"]}))
        response = self.connection.getresponse()
        body = response.read()
        elapsed = time.monotonic() - begin
        if response.getheader("Connection", "").lower() == "close":
            self.connection = None
        source = response.getheader("Receipt-Bridge-Source")
        with self.tally.lock:
            self.tally.slowest = max(self.tally.slowest, elapsed)
        if elapsed > DEADLINE:
            self.tally.record_failure(f"{self.order}: {elapsed:.1f} s for a response from {source}")
        if response.status != 200:
            return self.tally.record_failure(f"{self.order}: HTTP {response.status}: {body[:200]}")
        status = json.loads(body)["status"]
        self.tally.count(("genuine" if is_genuine else "forged", self.order, source, status))
        if is_genuine and status in DENIALS:
            self.tally.record_failure(f"{self.order}: {row['id']} is genuine, but got {status} from {source}")
        # A refused receipt must be refused by every source, including the simulated verifyReceipt.
        if not is_genuine and status in (0, 21006) and row["expected"] == "refused":
            self.tally.record_failure(f"{self.order}: {row['id']} ({row['mangling']}) is forged, but got {status} from {source}")

    def post_invalid_body(self):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        invalid = self.dice.choice([
            b"", b"{", b"[]", b"{\"receipt-data\": 1}", b"\xff" * 100, b"{" * 10_000,
            json.dumps({"receipt-data": base64.b64encode(self.dice.randbytes(3_000)).decode()}).encode(),
        ])
        connection.request("POST", self.dice.choice(["/verifyReceipt", "/sandbox/verifyReceipt", "/v1/receipts"]), invalid)
        response = connection.getresponse()
        response.read()
        self.tally.count(("invalid", response.status))
        if response.status >= 500:
            self.tally.record_failure(f"{self.order}: HTTP {response.status} for the invalid body {invalid[:40]}")
        connection.close()

    def disconnect(self):
        """Disconnects before the response, or in the middle of the request."""
        body = json.dumps({"receipt-data": self.dice.choice(self.genuine)["receipt"]}).encode()
        request = b"POST /verifyReceipt HTTP/1.1\r\nHost: old.example.com\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        with socket.create_connection((self.host, self.port)) as connection:
            connection.sendall(request[:self.dice.randrange(1, len(request) + 1)])
        self.tally.count("left")


def state_of(pid):
    """Returns the resident memory of a process in MB, and the number of its file descriptors."""
    with open(f"/proc/{pid}/status") as file:
        resident = int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) / 1024
    return resident, len(os.listdir(f"/proc/{pid}/fd"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--clients", type=int, default=6, help="number of clients for each server")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    dice = random.Random(arguments.seed)
    tally, ending = Tally(), threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        simulator, store = start(
            [arguments.tool, "simulate", "--listen", "127.0.0.1:0", "--state", folder, "--customers", "60",
             "--seed", "7"],
            "simulated App Store at")
        running = [simulator]
        try:
            relay, far = start([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support/upstream.py"),
                                "--relay", str(urllib.parse.urlsplit(store).port)], "upstream at")
            running.append(relay)
            distance = distances(dice)
            base = re.sub(r"\noperations:.*", "", open(os.path.join(folder, "receipt-bridge.yaml")).read()).replace(store, far)
            servers = {}
            for name, order in ORDERS.items():
                config = os.path.join(folder, f"{name}.yaml")
                with open(config, "w") as file:
                    file.write(re.sub(r"answer: .*", f"answer: [{order}]", base)
                               + f"\nstore: sqlite:{name}.sqlite\noperations: {{listen: 127.0.0.1:{free_port()}}}\n")
                servers[name] = start(
                    [arguments.tool, "serve", "--config", config, "--listen", "127.0.0.1:0", "--log-level", "error"],
                    "listening on")
                running.append(servers[name][0])
            post(store + "/notifications/targets", {"url": servers["stored"][1] + "/v1/notifications"})
            genuine = [json.loads(line) for line in open(os.path.join(folder, "receipts.jsonl"))]
            forged = [json.loads(line) for line in open(os.path.join(folder, "hostile.jsonl"))]
            forged = [row for row in forged if row["expected"] == "refused"]
            clients = [Client(name, url, dice.random(), genuine, forged, tally, ending)
                       for name, (_, url) in servers.items() for _ in range(arguments.clients)]
            for client in clients:
                client.start()

            begin, samples, minute = time.monotonic(), [], 0
            length = arguments.minutes * 60
            while time.monotonic() - begin < length:
                time.sleep(min(5, max(0.1, length - (time.monotonic() - begin))))
                roll = dice.random()
                if roll < 0.08:
                    os.kill(simulator.pid, signal.SIGSTOP)
                    time.sleep(4)
                    os.kill(simulator.pid, signal.SIGCONT)
                try:
                    urllib.request.urlopen(urllib.request.Request(store + "/faults", method="DELETE"), timeout=30).read()
                    for fault in faults(dice):
                        post(store + "/faults", fault)
                    settings = urllib.parse.urlencode(next(distance))
                    urllib.request.urlopen(f"{far}/control?{settings}", timeout=30).read()
                    if roll > 0.7:
                        post(store + "/events", {"count": 5, "seed": dice.randrange(1 << 30), "speed": 36_000})
                except OSError as error:
                    sys.exit(f"the simulated App Store does not respond: {error}")
                if 0.4 < roll < 0.5:
                    for process, _ in servers.values():
                        process.send_signal(signal.SIGHUP)
                samples.append({name: state_of(process.pid) for name, (process, _) in servers.items()})
                if (time.monotonic() - begin) // 60 > minute:
                    minute += 1
                    responses = sum(count for key, count in tally.counts.items() if key[0] in ("genuine", "forged"))
                    print(f"{minute} min: {responses:,} responses, "
                          + ", ".join(f"{name} {rss:.0f} MB {fds} fd" for name, (rss, fds) in samples[-1].items())
                          + f", wrong {tally.counts['wrong']}", flush=True)

            # While requests are in flight.
            for name, (process, _) in servers.items():
                process.send_signal(signal.SIGTERM)
            ending.set()
            for name, (process, _) in servers.items():
                try:
                    code = process.wait(20)
                except Exception:
                    code = "still running after 20 s"
                    process.kill()
                if code != 0:
                    tally.record_failure(f"{name}: ended with exit code {code}")
                running.remove(process)
            for client in clients:
                client.join(35)
        finally:
            for process in reversed(running):
                stop(process)
    quarter = max(1, len(samples) // 4)
    for name in servers:
        early = max(sample[name][0] for sample in samples[quarter:2 * quarter] or samples)
        late = max(sample[name][0] for sample in samples[-quarter:])
        if late > early * 1.15 + 8:
            tally.record_failure(f"{name}: memory grew from {early:.0f} to {late:.0f} MB")
        early = max(sample[name][1] for sample in samples[quarter:2 * quarter] or samples)
        late = max(sample[name][1] for sample in samples[-quarter:])
        if late > early + 20:
            tally.record_failure(f"{name}: file descriptors grew from {early} to {late}")
        print(f"{name}: memory {early and max(s[name][0] for s in samples[quarter:2 * quarter] or samples):.0f} MB in the second "
              f"quarter, {max(s[name][0] for s in samples[-quarter:]):.0f} MB in the last; {late} file descriptors")
    print(f"{'receipt':<9}{'server':<9}{'source':<9}{'status':>7}{'responses':>11}")
    for key, count in sorted(((k, c) for k, c in tally.counts.items() if len(k) == 4 and isinstance(k, tuple)), key=str):
        print(f"{key[0]:<9}{key[1]:<9}{key[2] or '-':<9}{key[3]:>7}{count:>11,}")
    print(f"slowest response {tally.slowest:.1f} s; {tally.counts['left']:,} clients disconnected early; invalid bodies: "
          + ", ".join(f"{key[1]} {count:,}" for key, count in tally.counts.items()
                      if isinstance(key, tuple) and key[0] == "invalid"))
    for name in servers:
        if not any(isinstance(key, tuple) and key[:2] == ("genuine", name) for key in tally.counts):
            tally.record_failure(f"{name}: no genuine receipt was answered")
    for fault in tally.faults:
        print(f"WRONG: {fault}")
    sys.exit(1 if tally.counts["wrong"] else 0)


main()
