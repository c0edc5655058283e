#!/usr/bin/env python3
"""Runs several servers on one PostgreSQL and checks what they promise together, while servers and databases are killed and stopped.

Each scenario starts its own database, simulated App Store and servers from the binary in --tool. They run one after another:

    refund       a refund that one server receives changes the responses of the other within 2 s
    rollout      a gradual switch that one server stops is stopped on the other within 2 s, and after a restart
    deliveries   thousands of deliveries by several servers: none lost, none twice, none about one purchase overtaken
    budget       the App Store counts the calls of all servers: the budget is never exceeded
    targets      one server forwards to quick, slow and failing targets: deliveries a second and how many at once
    kill         kill -9 of each server in turn under load: everything that was acknowledged is stored and forwarded
    takeover     one of two servers that forward is suspended, then killed: the other one takes over within 15 s, only what was in
                 flight is sent twice, nothing about one purchase is overtaken
    failover     kill -9 of the primary under load, promotion of the standby: nothing acknowledged is lost
    outage       the database is stopped, then hangs, then is read-only, each for --outage seconds under load: no genuine receipt is
                 denied
    reconcile    the same during a reconciliation: it goes on within seconds, and not from the start of the history
    pgbouncer    the servers reach the database through PgBouncer in transaction mode
    upgrade      a newer version adds a step to the layout while servers run; they and new ones work with it
    tls          a database on another host: its certificate and the password are checked

The exit code is 1 if a promise was broken. PostgreSQL's programs are searched in PATH and in /usr/lib/postgresql. They refuse to run
as root, so root runs them as another user.
"""
import argparse
import collections
import http.client
import http.server
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from measuring import free_port, post, start, wait
from postgresql import Certificates, Database, Pool, named_hosts

# The statuses that an app interprets as "this purchase is not valid".
DENIALS = {21002, 21003, 21004, 21007, 21008, 21010}
# In seconds: the server's own deadline of nine, and six for a machine under load.
DEADLINE = 9 + 6


class Failures:
    def __init__(self):
        self.lock, self.texts = threading.Lock(), []

    def add(self, text):
        with self.lock:
            self.texts.append(text)
            if len(self.texts) <= 20:
                print(f"WRONG: {text}", flush=True)


class Sink:
    """A target of forwarded notifications, which records the begin and the end of each request that it accepts.

    It responds after a time of `pause`, random up to it unless `fixed`. It refuses each `failing`-th request, and those beyond
    `capacity` at once, with 503.
    """

    def __init__(self, pause=0.0, fixed=False, failing=None, capacity=None):
        self.lock, self.requests, self.active, self.arrivals, self.refused, self.most = threading.Lock(), [], {}, 0, 0, 0
        sink = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                begin = time.monotonic()
                self.rfile.read(int(self.headers["Content-Length"]))
                uuid = self.headers["Receipt-Bridge-Delivery"]
                with sink.lock:
                    sink.arrivals += 1
                    refuses = (failing and sink.arrivals % failing == 0) or (capacity and len(sink.active) >= capacity)
                    if refuses:
                        sink.refused += 1
                    else:
                        sink.active[self] = uuid
                        sink.most = max(sink.most, len(sink.active))
                if pause and not (refuses and capacity):
                    time.sleep(pause if fixed else random.random() * pause)
                with sink.lock:
                    sink.active.pop(self, None)
                    if not refuses:
                        sink.requests.append((uuid, begin, time.monotonic()))
                self.send_response(503 if refuses else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 512

        self.server = Server(("127.0.0.1", 0), Handler)
        # A server that was killed has broken its connections.
        self.server.handle_error = lambda *_: None
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def count(self):
        with self.lock:
            return len(self.requests)


class Stage:
    """A simulated App Store, a database and servers, which are stopped at the end."""

    def __init__(self, arguments, failures):
        self.tool, self.failures = arguments.tool, failures
        self.folder = tempfile.mkdtemp(prefix="receipt-bridge-cluster.")
        os.chmod(self.folder, 0o755)
        self.processes, self.databases, self.pools, self.servers, self.ports = [], [], [], {}, {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process, _ in self.servers.values():
            self.end(process)
        for process in reversed(self.processes):
            self.end(process)
        for pool in self.pools:
            pool.stop()
        for database in self.databases:
            try:
                database.signal(signal.SIGCONT)
            except OSError:
                pass
            database.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    @staticmethod
    def end(process):
        process.kill()
        process.wait()

    def database(self, *options, name="primary", port=None, source=None):
        database = Database(os.path.join(self.folder, "postgresql"), name, port, source).start(*options)
        self.databases.append(database)
        if source is None:
            database.sql("CREATE DATABASE receipts", "postgres")
        return database

    def app_store(self, customers, *options):
        state = os.path.join(self.folder, "state")
        process, self.store = start(
            [self.tool, "simulate", "--listen", "127.0.0.1:0", "--state", state, "--customers", str(customers), "--seed", "7",
             *options], "simulated App Store at")
        self.processes.append(process)
        self.base = re.sub(r"\noperations:.*", "", open(os.path.join(state, "receipt-bridge.yaml")).read())
        self.receipts = [json.loads(line) for line in open(os.path.join(state, "receipts.jsonl"))]
        self.state = state

    def configure(self, name, address, answer="stored, api, receipt", forward=None, app="", more=""):
        """Writes the configuration of a server. `app` and `more` are added to the app and at the end."""
        text = re.sub(r"answer: .*", f"answer: [{answer}]{app and chr(10) + '    ' + app}", self.base)
        if forward:
            text = text.rstrip() + f"\n    forward: [{{url: '{forward}', as: raw}}]\n"
        path = os.path.join(self.state, f"{name}.yaml")
        with open(path, "w") as file:
            file.write(text + f"\nstore: '{address}'\ninstance: {name}\n{more}\n")
        return path

    def serve(self, name, config):
        """Starts a server. After a kill it has the same port again, so that repeated notifications reach it."""
        port = self.ports.setdefault(name, free_port())
        self.servers[name] = start(
            [self.tool, "serve", "--config", config, "--listen", f"127.0.0.1:{port}", "--log-level", "error"], "listening on")
        return self.servers[name][1]

    def notify(self, url):
        post(self.store + "/notifications/targets", {"url": url + "/v1/notifications"})

    def delivered(self):
        return json.loads(urllib.request.urlopen(self.store + "/notifications/deliveries").read())


class Load:
    """Clients that post genuine receipts to the servers until `stop`. A server that does not accept connections is skipped."""

    def __init__(self, stage, clients=6, pause=0.02):
        self.stage, self.pause, self.ending = stage, pause, threading.Event()
        self.lock, self.counts, self.slowest = threading.Lock(), collections.Counter(), 0.0
        self.threads = [threading.Thread(target=self.run, args=(seed,), daemon=True) for seed in range(clients)]
        for thread in self.threads:
            thread.start()

    def run(self, seed):
        dice = random.Random(seed)
        while not self.ending.is_set():
            name, (process, url) = dice.choice(list(self.stage.servers.items()))
            row = dice.choice(self.stage.receipts)
            begin = time.monotonic()
            try:
                headers, body = post(url + "/verifyReceipt", {"receipt-data": row["receipt"]})
            except urllib.error.HTTPError as error:
                self.stage.failures.add(f"{name}: HTTP {error.code} for {row['id']}")
                continue
            except (OSError, http.client.HTTPException):
                # A server that was killed. One that runs must answer. The other thread may be waiting for its end.
                if wait(lambda: process.poll() is not None, 3, 0.2) is None:
                    self.stage.failures.add(f"{name} runs, but the connection failed")
                continue
            elapsed = time.monotonic() - begin
            with self.lock:
                self.counts[body["status"], headers["Receipt-Bridge-Source"]] += 1
                self.slowest = max(self.slowest, elapsed)
            if elapsed > DEADLINE:
                self.stage.failures.add(f"{name}: {elapsed:.1f} s for a response from {headers['Receipt-Bridge-Source']}")
            if body["status"] in DENIALS:
                self.stage.failures.add(f"{name}: {row['id']} is genuine, but got {body['status']}")
            time.sleep(dice.random() * self.pause)

    def stop(self):
        self.ending.set()
        for thread in self.threads:
            thread.join(30)
        if not self.counts:
            self.stage.failures.add("no receipt was answered")
        answers = ", ".join(f"{status} from {source}: {count:,}" for (status, source), count in sorted(self.counts.items(), key=str))
        return f"{sum(self.counts.values()):,} responses ({answers}), slowest {self.slowest:.2f} s"


def address(*databases, **options):
    hosts = ",".join(f"127.0.0.1:{database.port}" for database in databases)
    query = urllib.parse.urlencode(options)
    return f"postgresql://bridge@{hosts}/receipts" + (f"?{query}" if query else "")


# The products of the simulated app that are used up.
CONSUMABLES = {"com.example.app.coins100"}


def rows(body, key="latest_receipt_info"):
    return {row["transaction_id"]: row for row in body.get(key, []) if isinstance(row, dict)}


def refund(stage, arguments):
    """A refund that one server receives changes the responses of the other."""
    database = stage.database()
    stage.app_store(40)
    urls = [stage.serve(name, stage.configure(name, address(database), answer))
            for name, answer in (("a", "stored, api, receipt"), ("b", "stored, api, receipt"), ("c", "receipt"))]
    stage.notify(urls[0])
    slowest, late = collections.Counter(), []
    refunds = 0
    secret = open(os.path.join(stage.state, "shared-secret.txt")).read().strip()
    for row in stage.receipts:
        if refunds == 8:
            break
        ask = {"receipt-data": row["receipt"], "password": secret, "exclude-old-transactions": False}
        try:
            before = [post(url + "/verifyReceipt", ask)[1] for url in urls]
            known = rows(before[0]).keys() & rows(before[1]).keys() & rows(before[2]["receipt"], "in_app").keys()
            # The row of a consumable never shows a refund.
            subject = next((id for id in sorted(known) if "cancellation_date_ms" not in rows(before[0])[id]
                            and rows(before[0])[id]["product_id"] not in CONSUMABLES), None)
            if subject is None:
                continue
            post(stage.store + "/events", {"event": "refund", "transactionId": subject})
        except urllib.error.HTTPError:
            continue
        refunds += 1
        for name, url, key in (("a", urls[0], None), ("b", urls[1], None), ("c", urls[2], "in_app")):
            def seen():
                body = post(url + "/verifyReceipt", ask)[1]
                found = rows(body["receipt"], "in_app") if key else rows(body)
                return "cancellation_date_ms" in found.get(subject, {})
            seconds = wait(seen, 10)
            if seconds is None:
                stage.failures.add(f"server {name} does not show the refund of {row['id']}")
            elif name != "a" and seconds > 2:
                late.append(f"{seconds:.2f} s at {name}")
            slowest[name] = max(slowest[name], seconds or 10)
    # The servers read the changes once a second. A machine under load delays some of them.
    if len(late) > 2:
        stage.failures.add(f"refunds were shown late: {', '.join(late)}")
    if refunds < 4:
        stage.failures.add(f"only {refunds} refunds were possible")
    return f"{refunds} refunds; seen at the latest after " + ", ".join(f"{slowest[name]:.2f} s at {name}" for name in slowest)


def rollout(stage, arguments):
    """A gradual switch that meets differences on one server stops on all of them, and stays stopped."""
    database = stage.database()
    stage.app_store(40)
    configs = {name: stage.configure(
        name, address(database), "apple, receipt", app="rollout: {source: api, percent: 100, stopAt: 0.5}") for name in "ab"}
    urls = {name: stage.serve(name, config) for name, config in configs.items()}
    secret = open(os.path.join(stage.state, "shared-secret.txt")).read().strip()
    questions = [json.dumps({"receipt-data": row["receipt"], "password": secret}).encode()
                 for row in stage.receipts if row["originalTransactionIds"] and row["environment"] == "Production"]
    # Apple knows nothing of the purchases in a receipt: every customer differs.
    post(stage.store + "/faults", {"kind": "body", "endpoint": "verifyReceipt",
                                   "body": '{"status":0,"environment":"Production","receipt":{"in_app":[]}}'})

    def source(url, number):
        request = urllib.request.Request(url + "/verifyReceipt", questions[number % len(questions)])
        with urllib.request.urlopen(request, timeout=DEADLINE) as response:
            response.read()
            return response.headers["Receipt-Bridge-Source"]

    for name, url in urls.items():
        if wait(lambda: source(url, 0) == "api", 20) is None:
            stage.failures.add(f"the rollout does not begin at {name}")
    def stopped():
        return database.sql("SELECT count(*) FROM rollout WHERE stoppedAt IS NOT NULL") == [["1"]]

    answered, number, deadline = 0, 0, time.monotonic() + 60
    while not stopped() and time.monotonic() < deadline:
        answered, number = answered + (source(urls["a"], number) == "api"), number + 1
    if not 20 <= answered <= 200 or not stopped():
        stage.failures.add(f"{answered} responses of the share, {'stopped' if stopped() else 'not stopped'}")
    begin, seconds = time.monotonic(), {}
    for name, url in reversed(urls.items()):
        seconds[name] = wait(lambda: source(url, 1) == "apple", 10) and time.monotonic() - begin
    for name, value in seconds.items():
        if value is None or value > 5:
            stage.failures.add(f"server {name} stops after {value} s")
    for name, config in configs.items():
        stage.end(stage.servers[name][0])
        stage.serve(name, config)
    sources = collections.Counter(source(url, number) for url in urls.values() for number in range(40) if time.sleep(0.05) is None)
    if set(sources) != {"apple"}:
        stage.failures.add(f"after the restart: {dict(sources)}")
    return (f"{answered} responses of the share; stopped after {seconds['a']:.2f} s at a and {seconds['b']:.2f} s at b; after a restart "
            f"{dict(sources)}")


def forwarded(stage, database, sink, duplicates=0):
    """Checks every delivery against the rows in the database."""
    stored = []

    def settled():
        """Whether no delivery waits in one snapshot of the rows. Servers still store what they received while the database was
        suspended, after the App Store has given up on it."""
        stored[:] = database.sql(
            "SELECT uuid, coalesce(originalTransactionId, ''), delivery.id, state FROM delivery "
            "JOIN notification ON notification.id = delivery.notification ORDER BY delivery.id")
        return all(state != "0" for *_, state in stored)

    # Deliveries that a killed server had claimed are sent after the end of their lease.
    if wait(settled, 120, 0.2) is None:
        stage.failures.add(f"{sum(row[3] == '0' for row in stored)} deliveries are still waiting")
    # One that is sent again by mistake is on its way.
    time.sleep(0.5)
    requests = collections.defaultdict(list)
    for uuid, begin, end in sink.requests:
        requests[uuid].append((begin, end))
    twice = sum(len(found) - 1 for found in requests.values() if len(found) > 1)
    missing = [row for row in stored if row[0] not in requests]
    subjects = collections.defaultdict(list)
    for uuid, subject, id, _ in stored:
        if subject and uuid in requests:
            subjects[subject].append((int(id), requests[uuid][0]))
    overtaken = together = 0
    for deliveries in subjects.values():
        deliveries.sort()
        for (_, earlier), (_, later) in zip(deliveries, deliveries[1:]):
            overtaken += later[0] < earlier[0]
            together += earlier[0] <= later[0] < earlier[1]
    if missing or not stored:
        stage.failures.add(f"{len(missing)} of {len(stored)} notifications were not forwarded")
    if twice > duplicates:
        stage.failures.add(f"{twice} deliveries were repeated, at most {duplicates} are expected")
    if overtaken or together:
        stage.failures.add(f"{overtaken} deliveries were overtaken, {together} of one purchase were in flight together")
    return f"{len(stored):,} deliveries about {len(subjects):,} purchases, {twice} twice, {overtaken} overtaken"


def events(stage, count, seed=1, **more):
    return post(stage.store + "/events", {"count": count, "seed": seed, "speed": 36_000, "concurrency": 16, **more})


def deliveries(stage, arguments):
    """Two, then four servers forward thousands of notifications."""
    database, sink = stage.database(), Sink(0.004)
    stage.app_store(1_500)
    urls = [stage.serve(f"s{n}", stage.configure(f"s{n}", address(database), forward=sink.url)) for n in range(2)]
    report = []
    for servers in (2, 4):
        for n in range(len(urls), servers):
            urls.append(stage.serve(f"s{n}", stage.configure(f"s{n}", address(database), forward=sink.url)))
        stage.notify(urls[servers - 1])
        begin, before = time.monotonic(), sink.count()
        events(stage, arguments.deliveries // 2, seed=servers)
        wait(lambda: stage.delivered()["waiting"] == 0, 120, 0.2)
        text = forwarded(stage, database, sink)
        seconds = time.monotonic() - begin
        report.append(f"{servers} servers: {(sink.count() - before) / seconds:,.0f}/s received, stored and forwarded; {text}")
    return "; ".join(report)


def targets(stage, arguments):
    """One server with a store in a file forwards to one target after another."""
    stage.app_store(1_500)
    report = []
    for number, (name, sink, count, least) in enumerate((
            ("0 s", Sink(), 2_000, 100), ("50 ms", Sink(0.05, True), 2_000, 100), ("0.3 s", Sink(0.3, True), 2_000, 100),
            ("1 s", Sink(1, True), 1_000, 30), ("503 for one of three, 50 ms", Sink(0.05, True, failing=3), 500, 30),
            ("503 for more than five at once, 0.3 s", Sink(0.3, True, capacity=5), 400, 10), ("no response", Sink(12, True), 100, None))):
        path = os.path.join(stage.folder, f"{number}.sqlite")
        url = stage.serve("s0", stage.configure("s0", f"sqlite:{path}", forward=sink.url))
        if number == 0:
            stage.notify(url)
        begin = time.monotonic()
        events(stage, count, number + 1)
        # Those that fail are retried after ten seconds and more, so only the first attempts count.
        untried = lambda: sqlite3.connect(path).execute("SELECT count(*) FROM delivery WHERE state = 0 AND attempts = 0").fetchone()[0]
        wait(lambda: stage.delivered()["waiting"] == 0 and untried() == 0, 120 if least else 15, 0.05)
        with sink.lock:
            accepted, refused, most, last = list(sink.requests), sink.refused, sink.most, len(sink.active)
        seconds = max([end for _, _, end in accepted], default=time.monotonic()) - min([first for _, first, _ in accepted], default=begin)
        rate = len(accepted) / seconds
        twice = len(accepted) - len({uuid for uuid, _, _ in accepted})
        if twice or (least and rate < least):
            stage.failures.add(f"target {name}: {rate:.1f} deliveries a second, {twice} twice")
        Stage.end(stage.servers.pop("s0")[0])
        report.append(f"{name}: {rate:.1f}/s ({len(accepted):,} accepted, {refused} refused, at most {most} at once, "
                      f"at the end {last})")
    return "; ".join(report)


def budget(stage, arguments):
    """Three servers look up customers with one budget, which the App Store enforces."""
    database = stage.database()
    stage.app_store(400)
    for n in range(3):
        stage.serve(f"s{n}", stage.configure(f"s{n}", address(database), "api, receipt", app="cacheSeconds: 0"))
    # The buckets of both sides refill with 50 calls a second. The servers' start with fewer calls, because the two are not set at
    # the same time.
    level, limit = 100, 150
    bundle = re.search(r"bundleId: *['\"]?([^\s'\"]+)", stage.base).group(1)
    post(stage.store + "/faults", {"kind": "budget", "endpoint": "history", "environment": "production", "limit": limit,
                                   "seconds": limit // 50})
    database.sql(f"INSERT INTO app (bundleId, environment) VALUES ('{bundle}', 'Production') ON CONFLICT DO NOTHING")
    database.sql(f"INSERT INTO callBucket (app, endpoint, level, at) SELECT id, 'history', {level}, clock_timestamp() FROM app "
                 f"WHERE bundleId = '{bundle}' AND environment = 'Production'")
    # If the disk does not answer for half a second, a server calls without asking the database. So each round has its own verdict.
    for _ in range(3):
        before = json.loads(urllib.request.urlopen(stage.store + "/requests").read())
        load, begin = Load(stage, clients=9, pause=0), time.monotonic()
        time.sleep(arguments.outage)
        text, seconds = load.stop(), time.monotonic() - begin
        log = json.loads(urllib.request.urlopen(stage.store + "/requests").read())
        calls, refused = (log[name] - before[name] for name in ("total", "rateLimited"))
        left = float(database.sql("SELECT level FROM callBucket JOIN app ON app.id = app WHERE endpoint = 'history' "
                                  "AND environment = 'Production'")[0][0])
        if not refused and left <= 20:
            break
    if refused:
        stage.failures.add(f"{refused} of {calls} calls exceeded the budget")
    if left > 20:
        stage.failures.add(f"the load was too small to use up the budget: {left:.0f} calls are left")
    return f"{calls:,} calls to the App Store in {seconds:.0f} s, {refused} with 429, {left:.0f} left; {text}"


def kill(stage, arguments):
    """Each of three servers is killed under load and started again."""
    database, sink = stage.database(), Sink()
    stage.app_store(200)
    configs = {f"s{n}": stage.configure(f"s{n}", address(database), forward=sink.url) for n in range(3)}
    urls = {name: stage.serve(name, config) for name, config in configs.items()}
    load, kills = Load(stage), 0
    for seed, name in enumerate(list(configs) * 2):
        stage.notify(urls[name])
        sender = threading.Thread(target=events, args=(stage, 150, seed + 1))
        sender.start()
        time.sleep(0.3)
        Stage.end(stage.servers[name][0])
        kills += 1
        stage.serve(name, configs[name])
        sender.join()
    wait(lambda: stage.delivered()["waiting"] == 0, 60, 0.2)
    text, counts = load.stop(), stage.delivered()
    stored = int(database.sql("SELECT count(*) FROM notification")[0][0])
    if stored < counts["delivered"]:
        stage.failures.add(f"{counts['delivered']} notifications were acknowledged, {stored} are stored")
    # A delivery whose end was not recorded is repeated: at most 64 are in flight to a target.
    return f"{kills} kills; {counts['delivered']:,} acknowledged, {stored:,} stored; {forwarded(stage, database, sink, kills * 64)}; {text}"


def takeover(stage, arguments):
    """The database, then one of two servers is suspended for 20 s, then killed, while both forward to a target that responds after 0.3 s."""
    database, sink = stage.database(), Sink(0.3, True)
    stage.app_store(1_500)
    urls = [stage.serve(f"s{n}", stage.configure(f"s{n}", address(database), forward=sink.url)) for n in range(2)]
    stage.notify(urls[1])
    report, expected = [], 0
    sender = threading.Thread(target=events, args=(stage, 3_000, 9))
    sender.start()
    wait(lambda: sink.count() > 600, 60, 0.05)
    database.signal(signal.SIGSTOP)
    time.sleep(20)
    database.signal(signal.SIGCONT)
    sender.join()
    wait(lambda: stage.delivered()["waiting"] == 0, 120, 0.2)
    report.append(f"database suspended: {forwarded(stage, database, sink)}")
    for number, (name, sent) in enumerate((("suspended", signal.SIGSTOP), ("killed", signal.SIGKILL))):
        sender = threading.Thread(target=events, args=(stage, 6_000, number + 1))
        sender.start()
        start = sink.count()
        wait(lambda: sink.count() > start + 600, 60, 0.05)
        process = stage.servers["s0"][0]
        process.send_signal(sent)
        begin = time.monotonic()
        # What the server had sent to the database takes effect.
        time.sleep(0.5)
        claimed = {row[0] for row in database.sql(
            "SELECT uuid FROM delivery JOIN notification ON notification.id = delivery.notification "
            f"WHERE state = 0 AND lessee LIKE '{process.pid}/%'")}
        # In flight for the server: at the target, or answered and not recorded.
        with sink.lock:
            posted = claimed & (set(sink.active.values()) | {uuid for uuid, _, _ in sink.requests})
        # A thread that was suspended between its check of the lease and its post sends afterwards: at most one for each core.
        expected += len(posted) + (os.cpu_count() if sent == signal.SIGSTOP else 0)
        # Those in flight arrive once more, the others for the first time.
        def missing():
            with sink.lock:
                return claimed - {uuid for uuid, first, _ in sink.requests if first > begin + 1}
        wait(lambda: not missing(), 60, 0.1)
        with sink.lock:
            waits = [first - begin for uuid, first, _ in sink.requests if uuid in claimed and first > begin + 1]
        if sent == signal.SIGSTOP:
            time.sleep(max(0, begin + 20 - time.monotonic()))
            process.send_signal(signal.SIGCONT)
        if missing() or max(waits, default=0) > 15 or len(posted) > 64:
            stage.failures.add(f"{name}: {len(missing())} deliveries were not taken over, the last one after {max(waits, default=0):.1f} s")
        sender.join()
        wait(lambda: stage.delivered()["waiting"] == 0, 120, 0.2)
        text = forwarded(stage, database, sink, expected)
        report.append(f"{name} with {len(claimed)} claims, {len(posted)} of them in flight: sent again by the other server "
                      f"{min(waits, default=0):.1f} to {max(waits, default=0):.1f} s later; {text}")
    return "; ".join(report)


def failover(stage, arguments):
    """The primary is killed, and its synchronous standby promoted."""
    primary = stage.database("wal_level=replica")
    standby = stage.database(name="standby", source=primary)
    # Only now, because without a standby every commit would wait.
    primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'", "postgres")
    primary.sql("SELECT pg_reload_conf()", "postgres")
    if wait(lambda: primary.sql("SELECT 1 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'sync'", "postgres"), 30) is None:
        stage.failures.add("the standby does not stream")
    stage.app_store(200)
    urls = [stage.serve(f"s{n}", stage.configure(f"s{n}", address(primary, standby))) for n in range(2)]
    stage.notify(urls[0])
    load = Load(stage)
    sender = threading.Thread(target=events, args=(stage, 800))
    sender.start()
    time.sleep(2)
    primary.signal(signal.SIGKILL)
    begin = time.monotonic()
    time.sleep(1)
    standby.run("pg_ctl", "-D", standby.data, "-w", "promote")
    before = int(standby.sql("SELECT count(*) FROM notification")[0][0])
    events(stage, 50, seed=9)
    gap = wait(lambda: int(standby.sql("SELECT count(*) FROM notification")[0][0]) > before, 60)
    total = time.monotonic() - begin
    sender.join()
    wait(lambda: stage.delivered()["waiting"] == 0, 90, 0.2)
    text, counts = load.stop(), stage.delivered()
    stored = int(standby.sql("SELECT count(*) FROM notification")[0][0])
    if gap is None:
        stage.failures.add("nothing was stored after the promotion")
    if stored < counts["delivered"]:
        stage.failures.add(f"{counts['delivered']} notifications were acknowledged, {stored} are stored")
    return (f"stored again {total:.1f} s after the kill, 1 s of it waiting before the promotion; {counts['delivered']:,} acknowledged, "
            f"{stored:,} stored; {text}")


def calls(stage, endpoint="notificationHistory"):
    """Returns the number of calls that the App Store got to an endpoint of the Server API."""
    counts = json.loads(urllib.request.urlopen(stage.store + "/requests").read())["counts"]
    return sum(count for name, count in counts.items() if name.startswith(endpoint))


def outage(stage, arguments):
    """The database is stopped, then suspended, then read-only, as a primary becomes that was replaced."""
    database = stage.database()

    def read_only(word):
        database.sql(f"ALTER SYSTEM SET default_transaction_read_only = {word}", "postgres")
        database.sql("SELECT pg_reload_conf()", "postgres")
        database.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'receipts'", "postgres")

    stage.app_store(200)
    urls = [stage.serve(f"s{n}", stage.configure(f"s{n}", address(database), "stored, api, receipt")) for n in range(2)]
    stage.notify(urls[0])
    load, report = Load(stage), []
    events(stage, 100, seed=1)
    wait(lambda: stage.delivered()["waiting"] == 0, 60, 0.2)
    for name, begin, end in (
            ("stopped", lambda: database.stop(), lambda: database.start()),
            ("suspended", lambda: database.signal(signal.SIGSTOP), lambda: database.signal(signal.SIGCONT)),
            ("read-only", lambda: read_only("on"), lambda: read_only("off"))):
        before = calls(stage)
        begin()
        # Both servers refuse notifications.
        for number, url in enumerate(urls):
            stage.notify(url)
            events(stage, 20, seed=10 * len(name) + number)
        time.sleep(arguments.outage)
        end()
        # Those that Apple has given up, and those that it would repeat later, are fetched by one of the servers.
        stored = lambda: int(database.sql("SELECT count(*) FROM notification")[0][0])
        gap = wait(lambda: stored() >= stage.delivered()["made"], 90, 0.2)
        if gap is None:
            stage.failures.add(f"{name}: {stage.delivered()}, {stored()} stored")
        # Both environments of the app; 20 notifications are one page. Each server adds the time of its own outage, so the history can
        # be read once for each.
        pages = calls(stage) - before
        if pages > 2 * 2 * (1 + 40 // 20):
            stage.failures.add(f"{name}: {pages} pages of the notification history were read")
        report.append(f"{name} for {arguments.outage:.0f} s: all notifications stored {gap or 0:.1f} s later, "
                      f"{pages} pages of the notification history read")
    return "; ".join(report) + "; " + load.stop()


def reconcile(stage, arguments):
    """The database is stopped, then suspended, while one of two servers reconciles. The hourly limit of the sandbox is spent."""
    database = stage.database()
    stage.app_store(300)
    url = stage.serve("s0", stage.configure("s0", address(database), "api, receipt"))
    for row in stage.receipts:
        post(url + "/verifyReceipt", {"receipt-data": row["receipt"]})
    stage.notify(url)
    events(stage, 400)
    received(stage, database)
    stage.end(stage.servers["s0"][0])
    # A tenth of production's limit, of which live calls keep 30 %: one call a second is left.
    database.sql("INSERT INTO callBucket (app, endpoint, level, at) SELECT id, 'refundHistory', 1080, clock_timestamp() FROM app "
                 "WHERE environment = 'Sandbox' ON CONFLICT (app, endpoint) DO UPDATE SET level = 1080, at = excluded.at")
    post(stage.store + "/faults", {"kind": "delay", "endpoint": "refundHistory", "milliseconds": 1_000})
    before, report = calls(stage), []
    for name in ("s0", "s1"):
        stage.serve(name, stage.configure(name, address(database), "stored, api, receipt", more="reconcile: {window: 30d}"))
    production = lambda: calls(stage, "refundHistory.production")
    if wait(lambda: production() > 4, 90, 0.2) is None:
        stage.failures.add("no refund histories are read")
    for name, begin, end in (
            ("stopped", lambda: database.stop(), lambda: database.start()),
            ("suspended", lambda: database.signal(signal.SIGSTOP), lambda: database.signal(signal.SIGCONT))):
        pages = calls(stage) - before
        begin()
        time.sleep(arguments.outage)
        end()
        count = production()
        # The pause between two attempts to connect grows to 15 s.
        seconds = wait(lambda: production() > count, 90, 0.2)
        if seconds is None or seconds > 30:
            stage.failures.add(f"{name}: the reconciliation goes on after {seconds} s")
        # A window of each environment. The last two minutes are read again, because clocks differ, and have all 400 events.
        again = calls(stage) - before - pages
        if again > 2 * 2 + 400 // 20:
            stage.failures.add(f"{name}: {again} of {pages} pages of the notification history were read again")
        report.append(f"{name} for {arguments.outage:.0f} s: goes on {seconds or 0:.1f} s later, {again} of {pages} pages read again")
    return "; ".join(report)


def received(stage, database):
    """Waits until all events are delivered, and checks that what was acknowledged is stored. Returns the number of notifications."""
    wait(lambda: stage.delivered()["waiting"] == 0, 60, 0.2)
    counts, stored = stage.delivered(), int(database.sql("SELECT count(*) FROM notification")[0][0])
    if stored < counts["delivered"] or counts["failed"] or not stored:
        stage.failures.add(f"{counts}, {stored} stored")
    return stored


def pgbouncer(stage, arguments):
    """The servers use PgBouncer in transaction mode, without prepared statements."""
    database, sink = stage.database(), Sink()
    pool = Pool(os.path.join(stage.folder, "postgresql"), database, "receipts")
    stage.pools.append(pool)
    stage.app_store(60)
    urls = [stage.serve(f"s{n}", stage.configure(f"s{n}", address(pool), forward=sink.url, more="database: {preparedStatements: false}"))
            for n in range(2)]
    stage.notify(urls[0])
    load = Load(stage, clients=2)
    events(stage, 300)
    stored = received(stage, database)
    return f"{stored:,} notifications; {forwarded(stage, database, sink)}; {load.stop()}"


def upgrade(stage, arguments):
    """A newer version adds a compatible step to the layout while a server runs. Then another server of this version starts."""
    database, sink = stage.database(), Sink()
    stage.app_store(60)
    urls = [stage.serve("s0", stage.configure("s0", address(database), forward=sink.url))]
    stage.notify(urls[0])
    load = Load(stage, clients=2)
    events(stage, 150)
    # Not in one transaction: its locks of both tables could be in a deadlock with a batch of the server.
    database.sql("ALTER TABLE notification ADD COLUMN newer text")
    database.sql("ALTER TABLE transactionRecord ADD COLUMN newer bigint DEFAULT 1")
    database.sql("BEGIN; LOCK TABLE schemaStep IN EXCLUSIVE MODE; CREATE TABLE newer (id bigint PRIMARY KEY); "
                 "INSERT INTO schemaStep (name, isCompatible) VALUES ('newer', true); COMMIT")
    urls.append(stage.serve("s1", stage.configure("s1", address(database), forward=sink.url)))
    stage.notify(urls[1])
    events(stage, 150, seed=2)
    stored = received(stage, database)
    report = f"{stored:,} notifications; {forwarded(stage, database, sink)}; {load.stop()}"
    database.sql("INSERT INTO schemaStep (name, isCompatible) VALUES ('newest', false)")
    check = subprocess.run([stage.tool, "doctor", "--config", stage.configure("s2", address(database))], capture_output=True, text=True)
    if check.returncode == 0 or "newer version" not in check.stdout + check.stderr:
        stage.failures.add(f"doctor accepts a layout that this version cannot work with: {check.stdout}{check.stderr}")
    return report


def tls(stage, arguments):
    """The host of the database is not this machine by its name, so its certificate is verified. The user has a password."""
    folder = os.path.join(stage.folder, "postgresql")
    database = stage.database()
    trusted, other = Certificates(folder, "trusted"), Certificates(folder, "other")
    trusted.issue("db.test")
    with open(os.path.join(database.data, "pg_hba.conf"), "w") as file:
        file.write("local all all trust\nhostssl all guarded 127.0.0.1/32 scram-sha-256\n")
    for name in ("ssl_cert_file", "ssl_key_file"):
        value = trusted.certificate if name == "ssl_cert_file" else trusted.key
        database.sql(f"ALTER SYSTEM SET {name} = '{value}'", "postgres")
    database.sql("ALTER SYSTEM SET ssl = on", "postgres")
    database.sql("CREATE ROLE guarded LOGIN PASSWORD 'open sesame'", "postgres")
    database.sql("ALTER DATABASE receipts OWNER TO guarded", "postgres")
    database.sql("GRANT ALL ON SCHEMA public TO guarded")
    database.sql("SELECT pg_reload_conf()", "postgres")
    stage.app_store(20)
    os.environ.update(named_hosts(stage.folder, "db.test", "elsewhere.test"))
    passwords = {}
    for name, text in (("right", "open sesame"), ("wrong", "open barley")):
        passwords[name] = os.path.join(stage.state, name + ".password")
        with open(passwords[name], "w") as file:
            file.write(text + "\n")
        os.chmod(passwords[name], 0o600)

    def configure(name, host, roots=trusted.roots, password="right", **options):
        store = f"postgresql://guarded@{host}:{database.port}/receipts?" + urllib.parse.urlencode({"sslrootcert": roots} | options)
        return stage.configure(name, store, more=f"database: {{password: {{file: '{passwords[password]}'}}}}")

    def doctor(config):
        done = subprocess.run([stage.tool, "doctor", "--config", config], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    for name, config, code, text in (
            ("verified", configure("verified", "db.test"), None, "sslmode verify-full"),
            ("name", configure("name", "elsewhere.test"), 2, "db.test"),
            ("roots", configure("roots", "db.test", other.roots), 2, "certificate verify failed"),
            ("password", configure("password", "db.test", password="wrong"), 2, "password authentication failed"),
            ("weaker", configure("weaker", "db.test", sslmode="prefer"), 2, "sslmode")):
        found, output = doctor(config)
        if text not in output or (code is not None and found == 0) or "sesame" in output:
            stage.failures.add(f"{name}: doctor exits with {found}: {output}")
    url = stage.serve("a", configure("a", "db.test"))
    # A server refuses notifications until it has opened the store, and those of the sandbox are sent only once.
    wait(lambda: database.sql("SELECT to_regclass('server')")[0][0] and database.sql("SELECT 1 FROM server"), 60)
    stage.notify(url)
    events(stage, 40)
    stored = received(stage, database)
    used = {row[0] for row in database.sql(
        "SELECT version FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'guarded' AND ssl")}
    if not used:
        stage.failures.add("the server's connections do not use TLS")
    return f"{stored:,} notifications stored over {', '.join(sorted(used))}; four wrong configurations are refused by doctor"


SCENARIOS = {function.__name__: function
             for function in (refund, rollout, deliveries, targets, budget, kill, takeover, failover, outage, reconcile, pgbouncer,
                               upgrade, tls)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="default: all of them")
    parser.add_argument("--without", nargs="*", default=[], metavar="SCENARIO", help="all of them but these")
    parser.add_argument("--tool", required=True, help="the binary of receipt-bridge")
    parser.add_argument("--outage", type=float, default=20, metavar="SECONDS", help="(default: %(default)s)")
    parser.add_argument("--deliveries", type=int, default=12_000, help="number of events in the scenario (default: %(default)s)")
    arguments = parser.parse_args()
    failures = Failures()
    for name in arguments.scenarios or [name for name in SCENARIOS if name not in arguments.without]:
        begin = time.monotonic()
        with Stage(arguments, failures) as stage:
            text = SCENARIOS[name](stage, arguments)
        print(f"{name}: {text} ({time.monotonic() - begin:.0f} s)", flush=True)
    print(f"{len(failures.texts)} broken promises" if failures.texts else "All promises were kept.")
    sys.exit(1 if failures.texts else 0)


if __name__ == "__main__":
    main()
