#!/usr/bin/env python3
"""Changes the purchases of customers while their receipts are answered, far away from the App Store, and compares every answer.

For each order of sources there are two servers on one PostgreSQL and one on SQLite. Something happens to a customer every 50 ms: a
renewal, a failed payment, a recovery, a refund, its reversal, an upgrade, a cancellation, a new subscription, a family member's
revocation, a purchase. Seven of ten happen to a customer whose receipt is being answered. One of five notifications of renewals,
recoveries and new subscriptions is lost. Responses of the App Store take 300 ms, and those of verifyReceipt, histories and statuses
up to 2 s more, each on its own: they arrive late, with what was true when they were made.

An answer is compared with the simulated App Store's own, by the products to which it gives access, if nothing has happened to the
customer for five seconds:

    denied   the customer has paid for a product that the answer denies
    served   the answer gives access to a product that was refunded or has ended
    unseen   a product of which the answer shows no row, because its notification was lost: only a reconciliation can find it

After the events, every receipt is posted to every server, within --settle seconds. The exit code is 1 if an answer is `denied` or
`served`. PostgreSQL's programs are searched in PATH and in /usr/lib/postgresql.
"""
import argparse
import collections
import http.client
import http.server
import json
import os
import random
import re
import sqlite3
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from cluster import CONSUMABLES, Failures, Stage, address
from measuring import free_port, post, start, wait

ORDERS = ["stored, api, receipt", "api, receipt", "apple, receipt", "apple, stored, receipt"]
# With their weights. What is not possible in a customer's state is refused, and another one is tried.
EVENTS = {"renew": 4, "billingFailure": 4, "billingRecovery": 6, "refund": 4, "refundReversed": 3, "upgrade": 1, "resubscribe": 6,
          "expireVoluntary": 3, "revoke": 1, "buyNonConsumable": 3, "initialBuy": 2}
LOSABLE = {"renew", "billingRecovery", "resubscribe", "initialBuy"}
STABLE = 5  # seconds


def access(body):
    """Returns the products to which an answer gives access, and all that it shows. `None` if the answer decides nothing."""
    if body["status"] not in (0, 21006):
        return None
    receipt = body.get("receipt", {})
    isOld = "product_id" in receipt
    rows, renewals = [], body.get("pending_renewal_info", [])
    for found in (receipt.get("in_app", []), receipt if isOld else [], body.get("latest_receipt_info", []),
                  body.get("latest_expired_receipt_info", [])):
        rows += found if isinstance(found, list) else [found]
    newest = {row.get("transaction_id"): row for row in rows}
    grace = {row.get("original_transaction_id"): int(row.get("grace_period_expires_date_ms", 0)) for row in renewals}
    open_, shown, now = set(), set(), time.time() * 1000
    for row in newest.values():
        if row["product_id"] in CONSUMABLES:
            continue
        shown.add(row["product_id"])
        # An iOS 6 response has no grace period but the status: 21006 is the end of access.
        end = None if isOld and body["status"] == 0 else row.get("expires_date_ms") or row.get("expires_date")
        ends = max(int(end), grace.get(row.get("original_transaction_id"), 0)) if end and end.isdigit() else None
        if "cancellation_date" not in row and "cancellation_date_ms" not in row and (ends is None or ends > now):
            open_.add(row["product_id"])
    return open_, shown


class Shop:
    """The customers of the simulated App Store, and when something happened to each."""

    def __init__(self, stage, dice):
        self.stage, self.dice, self.lock = stage, dice, threading.Lock()
        self.receipts = collections.defaultdict(list)
        for row in stage.receipts:
            if row["environment"] == "Production":
                self.receipts[row["id"].rsplit("-", 1)[0]].append(row)
        self.customers = sorted(self.receipts)
        self.changed, self.lost, self.active = {}, set(), collections.Counter()
        self.counts, self.ending = collections.Counter(), threading.Event()
        self.secret = open(os.path.join(stage.state, "shared-secret.txt")).read().strip()

    def begin(self, customer, step):
        with self.lock:
            self.active[customer] += step
            if not self.active[customer]:
                del self.active[customer]

    def truth(self, receipt):
        return post(self.stage.store + "/production/verifyReceipt", self.question(receipt))[1]

    def question(self, receipt):
        return {"receipt-data": receipt, "password": self.secret}

    def happen(self):
        """Makes one event. Returns whether one was possible."""
        with self.lock:
            active = list(self.active)
        customer = self.dice.choice(active if active and self.dice.random() < 0.7 else self.customers)
        name, = self.dice.choices(list(EVENTS), EVENTS.values())
        isLost = name in LOSABLE and self.dice.random() < 0.2
        event = {"event": name, "customer": customer, "speed": 36_000, "lost": 1 if isLost else 0}
        self.changed[customer] = time.monotonic() + 60  # until the event has been made
        try:
            post(self.stage.store + "/events", event)
        except urllib.error.HTTPError:
            self.changed[customer] = time.monotonic()
            return False
        self.changed[customer] = time.monotonic()
        self.counts[name] += 1
        if isLost:
            self.lost.add(customer)
            self.counts["lost"] += 1
        return True

    def run(self, seconds):
        begin = time.monotonic()
        due = begin
        while time.monotonic() - begin < seconds:
            due += 0.05
            for _ in range(5):
                if self.happen():
                    break
            time.sleep(max(0, due - time.monotonic()))


class FanOut:
    """Passes each notification on to one server of each store. It is acknowledged if both have acknowledged it."""

    @staticmethod
    def accepts(url, body):
        try:
            post(url + "/v1/notifications", body)
            return True
        except (OSError, http.client.HTTPException):
            return False

    def __init__(self, dice):
        self.groups, fan = [], self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = 200
                for group in fan.groups:
                    # As a load balancer: another server gets what one does not accept.
                    if not any(fan.accepts(url, body) for url in dice.sample(group, len(group))):
                        status = 503
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Judge:
    """Compares answers with the truth, and counts them by kind and second."""

    def __init__(self, shop, failures):
        self.shop, self.failures, self.lock = shop, failures, threading.Lock()
        self.kinds, self.seconds, self.begin = collections.Counter(), collections.Counter(), time.monotonic()

    def ask(self, name, url, customer, row, stable=STABLE, isFinal=False):
        shop, begin = self.shop, time.monotonic()
        shop.begin(customer, 1)
        try:
            headers, body = post(url + "/verifyReceipt", shop.question(row["receipt"]))
        except urllib.error.HTTPError as error:
            return self.count(name, f"HTTP {error.code}")
        except (OSError, http.client.HTTPException):
            return self.count(name, "no connection")
        finally:
            shop.begin(customer, -1)
        source = headers["Receipt-Bridge-Source"]
        if begin - shop.changed.get(customer, -1e9) < stable:
            return self.count(name, "moving")
        right, ours = access(shop.truth(row["receipt"])), access(body)
        if shop.changed.get(customer, -1e9) > begin:
            return self.count(name, "moving")
        if ours is None:
            return self.count(name, f"status {body['status']}")
        if right is None:
            return self.count(name, "no truth")
        missing, more = right[0] - ours[0], ours[0] - right[0]
        kind = "right"
        if more:
            kind = "served"
        elif missing:
            isUnseen = customer in shop.lost and not missing & ours[1] and (ours[0] or not ours[1])
            kind = "unseen" if isUnseen else "denied"
        if kind in ("served", "denied"):
            self.failures.add(f"{time.monotonic() - self.begin:.1f} s{', at the end' if isFinal else ''}: {name} {kind} {row['id']}: "
                              f"{sorted(more or missing)} from {source}, status {body['status']}, shown {sorted(ours[1])}, changed "
                              f"{begin - shop.changed.get(customer, begin):.1f} s before{', lost' if customer in shop.lost else ''}")
        self.count(name, ("final " if isFinal else "") + kind, source)

    def count(self, name, kind, source=""):
        with self.lock:
            self.kinds[name, kind] += 1
            if kind not in ("right", "moving"):
                self.seconds[int(time.monotonic() - self.begin), kind] += 1

    def text(self):
        kinds = collections.Counter()
        for (_, kind), count in self.kinds.items():
            kinds[kind] += count
        return ", ".join(f"{kind} {count:,}" for kind, count in sorted(kinds.items()))

    def by_second(self):
        kinds = collections.defaultdict(list)
        for (second, kind), count in sorted(self.seconds.items()):
            kinds[kind].append(f"{second}:{count}")
        return [f"    {kind} by second: {' '.join(found[:60])}" for kind, found in sorted(kinds.items())]


def copy_database(source, target):
    """Copies a SQLite store of a running server, as a backup does."""
    with sqlite3.connect(source) as one, sqlite3.connect(target) as other:
        one.backup(other)


def world(stage, arguments, order, failures):
    dice = random.Random(arguments.seed)
    stage.app_store(arguments.customers)
    relay, far = start(
        [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support/upstream.py"), "--relay",
         str(urllib.parse.urlsplit(stage.store).port), "--delay", "300", "--spread", "verifyReceipt", "0", "2000", "--spread",
         "/history/", "0", "2000", "--spread", "/subscriptions/", "0", "2000"], "upstream at")
    stage.processes.append(relay)
    stage.base = stage.base.replace(stage.store, far)
    database, sqlite = stage.database(), os.path.join(stage.state, "s.sqlite")
    configs = {name: stage.configure(name, address(database), order) for name in "ab"}
    configs["s"] = stage.configure("s", f"sqlite:{sqlite}", order)
    fan, shop = FanOut(dice), Shop(stage, dice)
    urls = {name: stage.serve(name, config) for name, config in configs.items()}
    fan.groups = [[urls["a"], urls["b"]], [urls["s"]]]
    stage.notify(fan.url.removesuffix("/v1/notifications"))
    judge = Judge(shop, failures)

    def client(seed):
        own = random.Random(seed)
        while not shop.ending.is_set():
            customer = own.choice(shop.customers)
            judge.ask((name := own.choice(list(urls))), urls[name], customer, own.choice(shop.receipts[customer]))
            time.sleep(own.random() * 0.05)

    clients = [threading.Thread(target=client, args=(seed,), daemon=True) for seed in range(arguments.clients)]
    for thread in clients:
        thread.start()
    events = threading.Thread(target=shop.run, args=(arguments.seconds,), daemon=True)
    events.start()
    disturb(stage, arguments, configs, sqlite)
    events.join()
    ended = time.monotonic()
    time.sleep(min(10, arguments.settle / 3))
    shop.ending.set()
    for thread in clients:
        thread.join(30)
    if wait(lambda: not stage.delivered()["waiting"], 30) is None:
        failures.add("notifications are still waiting")
    time.sleep(max(0, ended + arguments.settle - time.monotonic()))
    rows = [(customer, row) for customer in shop.customers for row in shop.receipts[customer]]

    def settle(share):
        for number, (customer, row) in enumerate(rows):
            if number % 12 == share:
                for name, url in urls.items():
                    judge.ask(name, url, customer, row, stable=0, isFinal=True)
    checks = [threading.Thread(target=settle, args=(share,), daemon=True) for share in range(12)]
    for thread in checks:
        thread.start()
    for thread in checks:
        thread.join()
    for name in urls:
        if not judge.kinds[name, "final right"]:
            failures.add(f"no answer of {name} is right at the end")
    calls = json.loads(urllib.request.urlopen(stage.store + "/requests").read())["counts"]
    happened = ", ".join(f"{name} {count}" for name, count in sorted(shop.counts.items()))
    return [judge.text(), f"    events: {happened}", f"    calls: {sum(calls.values())}, {calls}", *judge.by_second()]


def disturb(stage, arguments, configs, sqlite):
    """Kills the server on SQLite, stops one on PostgreSQL, and restores a backup of the file while events go on."""
    if arguments.calm:
        return
    step = arguments.seconds / 5
    time.sleep(step)
    copy_database(sqlite, sqlite + ".backup")
    time.sleep(step)
    Stage.end(stage.servers["s"][0])
    stage.serve("s", configs["s"])
    time.sleep(step)
    stage.servers["a"][0].terminate()
    stage.servers["a"][0].wait()
    stage.serve("a", configs["a"])
    stage.servers["s"][0].terminate()
    stage.servers["s"][0].wait()
    for suffix in ("-wal", "-shm"):
        if os.path.exists(sqlite + suffix):
            os.remove(sqlite + suffix)
    os.replace(sqlite + ".backup", sqlite)
    stage.serve("s", configs["s"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True, help="the binary of receipt-bridge")
    parser.add_argument("--orders", nargs="*", default=ORDERS, help="(default: all four)")
    parser.add_argument("--customers", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=150, help="of events, for each order (default: %(default)s)")
    parser.add_argument("--settle", type=float, default=60, help="from the last event to the comparison of all (default: %(default)s)")
    parser.add_argument("--clients", type=int, default=24)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--calm", action="store_true", help="without kill, stop and restored backup")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    failures = Failures()
    for order in arguments.orders:
        begin, count = time.monotonic(), len(failures.texts)
        with Stage(arguments, failures) as stage:
            lines = world(stage, arguments, order, failures)
        print(f"[{order}]: {len(failures.texts) - count} wrong; {lines[0]} ({time.monotonic() - begin:.0f} s)", *lines[1:], sep="\n", flush=True)
    print(f"{len(failures.texts)} wrong answers" if failures.texts else "All promises were kept.")
    sys.exit(1 if failures.texts else 0)


main()
