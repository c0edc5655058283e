#!/usr/bin/env python3
"""Upgrades from the binary of a previous release, and back, while an App Store sends notifications and apps post receipts.

    file        one server with a store in a file, upgraded; then back, as docs/INSTALLATION.md says: from a backup
    database    two servers of one PostgreSQL, upgraded one after the other; the previous release refuses the database then
    migration   a migration that the previous release began, resumed by this version, and one of this version by the previous
                release, into each kind of result

    FROM=PATH .ci/nightly upgrade

No genuine receipt is denied, what was acknowledged is stored and forwarded, each response is the one that the other version computes
from the App Store Server API, a handle of 0.1.0 is refused by name, the signed transaction in its place is accepted by both, no refund is
printed twice, rollouts keep their counts, and progress files are resumed or refused by name. The exit code is 1 if a promise was broken.
"""
import argparse
import csv
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time

from cluster import Failures, Load, Sink, Stage, address, calls, events, forwarded, received
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from measuring import post, stop, wait

csv.field_size_limit(sys.maxsize)
NEWER = "a newer version of receipt-bridge"


class UpgradeStage(Stage):
    """A stage whose servers run either binary. The simulated App Store is of the previous release, which knows all its receipts."""

    def __init__(self, arguments, failures):
        super().__init__(arguments, failures)
        self.new, self.old, self.configs = os.path.abspath(arguments.tool), os.path.abspath(arguments.old), {}
        self.tool = self.old

    def run(self, tool, name, config=None):
        """Starts a server with a binary, after an ordinary stop of the one with this name."""
        self.configs[name] = config or self.configs[name]
        if name in self.servers:
            stop(self.servers[name][0])
        self.tool = tool
        return self.serve(name, self.configs[name])

    def command(self, tool, *arguments, code=0):
        done = subprocess.run([tool, *arguments], capture_output=True, text=True, cwd=self.folder)
        if code is not None and done.returncode != code:
            self.failures.add(f"{' '.join(arguments)}: exit code {done.returncode}: {done.stderr[-500:]}")
        return done

    def equal(self, what, got, expected):
        got, expected = ({id: without_changes(value) for id, value in each.items()} for each in (got, expected))
        if not expected:
            self.failures.add(f"{what}: there is nothing to compare")
        different = sorted(id for id in expected if got.get(id) != expected[id])
        if different:
            one, other = flat(got.get(different[0], {})), flat(expected[different[0]])
            names = [f"{name}: {one.get(name)} instead of {other.get(name)}" for name in sorted(one.keys() | other.keys())
                     if one.get(name) != other.get(name)]
            self.failures.add(f"{what}: {len(different)} of {len(expected)} differ, for example {different[0]}: "
                              + "; ".join(names)[:2_000])
        return len(expected)


# Members that this version writes in another way than the previous release, see CHANGELOG.md.
CHANGED = {"is_in_intro_offer_period"}


def without_changes(value):
    """Returns a value without the members in CHANGED."""
    if not isinstance(value, dict):
        return value
    return {name: without_changes(member) for name, member in value.items() if name not in CHANGED}


def flat(value, path=""):
    """Returns the members of an object, and of those in it, by their path."""
    if not isinstance(value, dict):
        return {path: value}
    return {name: member for key in value for name, member in flat(value[key], f"{path}.{key}").items()}


def sending(stage, url, seed, action, count=150, **more):
    """Sends notifications to a server while an action runs, and waits for their end."""
    stage.notify(url)
    sender = threading.Thread(target=events, args=(stage, count, seed), kwargs=more)
    sender.start()
    time.sleep(0.5)
    result = action()
    sender.join()
    wait(lambda: stage.delivered()["waiting"] == 0, 120, 0.2)
    return result


def rows(body):
    """Returns what a response says, without what changes with each response and what only this version has."""
    def of(list):
        return {f"{row.get('transaction_id')} {row.get('product_id')} {row.get('original_transaction_id')}": row
                for row in list if isinstance(row, dict)}
    # 0.1.0 has no reason of a refund in responses of iOS 6.
    receipt = {key: value for key, value in body.get("receipt", {}).items() if not key.startswith("request_date") and key not in ("in_app", "cancellation_reason")}
    found = {"status": body["status"], "environment": body.get("environment"), "receipt": receipt,
             "in_app": of(body.get("receipt", {}).get("in_app", []))}
    if body.get("pending_renewal_info"):
        # Later than 0.1.0, purchases that do not renew have a row, too.
        found["renewals"] = of(body["pending_renewal_info"])
        found["rows"] = of(row for row in body["latest_receipt_info"] if "expires_date" in row)
    return found


def answers(stage, url):
    """Returns the responses to every receipt and signed transaction, and the texts of `latest_receipt` in them."""
    secret = open(os.path.join(stage.state, "shared-secret.txt")).read().strip()
    signed = [json.loads(line) for line in open(os.path.join(stage.state, "signed.jsonl"))]
    asked = {f"receipt {row['id']}": row["receipt"] for row in stage.receipts}
    asked |= {f"signed {row['id']}": row["signedTransaction"] for row in signed[:40]}
    found, latest = {}, {}
    for id, text in asked.items():
        headers, body = post(url + "/verifyReceipt", {"receipt-data": text, "password": secret})
        found[id] = rows(body)
        if id.startswith("signed"):
            # The store has nothing of the download.
            del found[id]["receipt"]
        if id.startswith("signed") and "latest_receipt" in body:
            latest[id] = body["latest_receipt"]
    return found, latest


def check(stage, url, what, tool):
    """Compares the responses of a server that has only its store with those that a binary computes from the Server API alone."""
    reference = stage.run(tool, "reference", stage.configure("reference", "none", answer="api, receipt"))
    expected = answers(stage, reference)[0]
    stage.end(stage.servers.pop("reference")[0])
    found, latest = answers(stage, url)
    stage.equal(what, found, expected)
    return found, latest


def handed(stage, url, what, latest, statuses=(0, 21006)):
    """Presents the texts that another binary wrote as `latest_receipt`."""
    secret = open(os.path.join(stage.state, "shared-secret.txt")).read().strip()
    found = {post(url + "/verifyReceipt", {"receipt-data": text, "password": secret})[1]["status"] for text in latest.values()}
    if not latest or not found <= set(statuses):
        stage.failures.add(f"{what}: latest_receipt gets {sorted(found)} ({len(latest)} texts)")


def rolled(stage, address):
    """Customers of a rollout in the store."""
    config = stage.configure("rollout", address, "apple, receipt", app="rollout: {source: api, percent: 100, stopAt: 50}")
    url = stage.run(stage.old, "rollout", config)
    secret = open(os.path.join(stage.state, "shared-secret.txt")).read().strip()

    def ask(row):
        return post(url + "/verifyReceipt", {"receipt-data": row["receipt"], "password": secret})[0]["Receipt-Bridge-Source"]

    rows = [row for row in stage.receipts if row["originalTransactionIds"] and row["environment"] == "Production"][:60]
    wait(lambda: ask(rows[0]) == "api", 30, 0.2)
    for row in rows:
        ask(row)
    time.sleep(4)
    stage.end(stage.servers.pop("rollout")[0])


def swept(stage, tool, config, name):
    """Returns the refunds that a sweep prints, by transaction id and date."""
    path = os.path.join(stage.folder, name)
    stage.command(tool, "refunds", "sweep", "--to", path, "--budget", "1", "--config", config)
    lines = [json.loads(line)["transaction"] for line in open(path)] if os.path.exists(path) else []
    found = [(line["transactionId"], line["revocationDate"]) for line in lines]
    if len(set(found)) < len(found):
        stage.failures.add(f"{name} has refunds twice")
    return set(found)


def used(stage, config):
    """What the previous release keeps of refunds, orders and extensions. Returns the refunds that it printed."""
    refunds = swept(stage, stage.old, config, "before.jsonl")
    stage.command(stage.old, "orders", "lookup", "MNOTHING", "--config", config, code=1)
    signed = [json.loads(line) for line in open(os.path.join(stage.state, "signed.jsonl"))]
    for line in [line for line in signed if line["environment"] == "Production"][:10]:
        stage.command(stage.old, "renewals", "extend", "--original-transaction-id", line["originalTransactionId"], "--days", "1",
                      "--reason", "1", "--config", config, code=None)
    return refunds


def carried(stage, what, before, config, refunds, sql):
    """After the upgrade: the tables are gone, the counts of the rollout are the same, and no refund is printed again."""
    if not (before["rolloutCustomer"] and before["handleKey"] and before["refund"] and before["orderLookup"]):
        stage.failures.add(f"{what}: the previous release has no rows: {before}")
    now = int(sql("SELECT count(*) FROM comparedCustomer WHERE block IS NOT NULL"))
    if now < before["rolloutCustomer"]:
        stage.failures.add(f"{what}: {now} of {before['rolloutCustomer']} customers of the rollout")
    again = swept(stage, stage.new, config, "after.jsonl") & refunds
    if again:
        stage.failures.add(f"{what}: {len(again)} of {len(refunds)} refunds are printed again")
    return f"{len(refunds)} refunds printed before"


RETIRED = ("handleKey", "erasedIdentifier", "renewalExtension", "orderLookup", "rolloutCustomer", "refund", "refundSweep", "refundOutput")


def file(stage, arguments):
    """A store in a file, upgraded under load, and the backup in use again."""
    sink, path = Sink(), os.path.join(stage.folder, "bridge.sqlite")
    stage.app_store(100)
    rolled(stage, f"sqlite:{path}")
    config = stage.configure("s0", f"sqlite:{path}", forward=sink.url)
    url = stage.run(stage.old, "s0", config)
    load = Load(stage, clients=2)
    sending(stage, url, 1, lambda: None)
    handles = check(stage, url, "before the upgrade", stage.old)[1]
    refunds = used(stage, config)
    sql = lambda text: sqlite3.connect(path).execute(text).fetchone()[0]
    before = {name: int(sql(f"SELECT count(*) FROM {name}")) for name in RETIRED}
    backup = os.path.join(stage.folder, "backup.sqlite")
    sqlite3.connect(path).backup(sqlite3.connect(backup))
    # The App Store does not repeat notifications of the sandbox. Here it repeats others after one second, 12 and more.
    sending(stage, url, 2, lambda: stage.run(stage.new, "s0"), environment="production", speed=3_600)
    sending(stage, url, 3, lambda: None)
    newer = check(stage, url, "after the upgrade", stage.old)[1]
    handed(stage, url, "handles after the upgrade", handles, (21002,))
    handed(stage, url, "after the upgrade", newer)
    text = carried(stage, "file", before, config, refunds, sql)
    for name in RETIRED:
        if sql(f"SELECT count(*) FROM sqlite_master WHERE name = '{name}'"):
            stage.failures.add(f"{name} is still there")
    stored = lambda: sqlite3.connect(path).execute("SELECT count(*) FROM notification").fetchone()[0]
    counts, kept = stage.delivered(), stored()
    if kept < counts["delivered"] or counts["failed"]:
        stage.failures.add(f"{counts}, {kept} stored")
    arrived = {uuid for uuid, _, _ in sink.requests}
    if len(arrived) < kept:
        stage.failures.add(f"{kept} stored, {len(arrived)} forwarded")
    # Back: the file of this version first.
    stop(stage.servers["s0"][0])
    output = stage.command(stage.old, "doctor", "--config", config, code=None)
    text += ", opens the file of this version" if NEWER not in output.stdout + output.stderr else ", refuses the file of this version"
    sending(stage, url, 4, lambda: stage.run(stage.old, "s0"), 20)
    stop(stage.servers["s0"][0])
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(path + suffix):
            os.remove(path + suffix)
    shutil.copy(backup, path)
    os.chmod(path, 0o600)
    # Before the start, because a server of a file notices what another process stores after a minute.
    for environment in ("production", "sandbox"):
        stage.command(stage.old, "notifications", "history", "--replay", "--environment", environment, "--config", config)
    stage.run(stage.old, "s0")
    made = stage.delivered()["made"]
    if stored() < made:
        stage.failures.add(f"after the rollback {stored()} of {made} notifications are stored")
    check(stage, url, "after the rollback", stage.new)
    handed(stage, url, "after the rollback", newer)
    return f"{kept:,} notifications stored, {counts['delivered']:,} acknowledged; {text}; {load.stop()}"


def database(stage, arguments):
    """Two servers of a database, upgraded one after the other under load. The previous release refuses it then."""
    database, sink = stage.database(), Sink()
    stage.app_store(100)
    rolled(stage, address(database))
    for name in "ab":
        stage.run(stage.old, name, stage.configure(name, address(database), forward=sink.url))
    urls, config = {name: url for name, (_, url) in stage.servers.items()}, stage.configs["a"]
    load = Load(stage, clients=2)
    sending(stage, urls["a"], 1, lambda: None)
    handles = check(stage, urls["b"], "before the upgrade", stage.old)[1]
    refunds = used(stage, config)
    sql = lambda text: database.sql(text)[0][0]
    before = {name: int(sql(f"SELECT count(*) FROM {name}")) for name in RETIRED}
    for number, (name, receiver) in enumerate(("ab", "ba")):
        # The receiver is the server that stays, then the one that was exchanged.
        sending(stage, urls[receiver], 10 + 2 * number, lambda: stage.run(stage.new, name))
        sending(stage, urls[name], 11 + 2 * number, lambda: None, 50)
        what = f"after the exchange of {name}"
        newer = check(stage, urls[name], what, stage.old)[1]
        handed(stage, urls[name], "handles " + what, handles, (21002,))
        handed(stage, urls[name], what, newer)
    text = carried(stage, "database", before, config, refunds, sql)
    output = stage.command(stage.old, "doctor", "--config", config, code=None)
    if "an incompatible newer version of receipt-bridge" not in output.stdout + output.stderr:
        stage.failures.add(f"the previous release opens the database: {output.stdout[-500:]}{output.stderr[-500:]}")
    stored = received(stage, database)
    return f"{stored:,} notifications; {text}; {forwarded(stage, database, sink, 64)}; {load.stop()}"


def results(kind, path, stage):
    """Returns the rows of a result by id."""
    if kind == "postgresql":
        fields = ("id", "digest", "outcome", "reason", "kind", "environment", "originalTransactionIds", "transactionIds")
        columns = ", ".join(f"coalesce({field}::text, '')" for field in fields)
        return {row[0]: dict(zip(fields, row)) for row in stage.databases[0].sql(f"SELECT {columns} FROM results")}
    names = ("digest", "outcome", "reason", "kind", "environment", "originalTransactionIds", "transactionIds")
    if kind == "jsonl":
        found = [json.loads(line) for line in open(path)]
    elif kind == "csv":
        found = list(csv.DictReader(open(path, newline="")))
    else:
        connection = sqlite3.connect(path)
        connection.row_factory = sqlite3.Row
        found = [dict(row) for row in connection.execute("SELECT * FROM results")]
    if len({row["id"] for row in found}) < len(found):
        stage.failures.add(f"{path} has rows twice")
    return {row["id"]: {name: row[name] for name in names} for row in found}


def migration(stage, arguments):
    """Migrations that one binary began and the other resumes."""
    stage.app_store(300)
    stage.database()
    source, config = os.path.join(stage.state, "receipts.jsonl"), os.path.join(stage.state, "receipt-bridge.yaml")
    report = []

    def migrate(tool, to, *more, code=0):
        return stage.command(tool, "migrate", source, "--to", to, "--with-api", "--config", config, *more, code=code)

    for kind in ("jsonl", "csv", "sqlite", "postgresql"):
        def place(name):
            return address(stage.databases[0]) if kind == "postgresql" else os.path.join(stage.folder, f"{name}.{kind}")

        def empty():
            if kind == "postgresql":
                stage.databases[0].sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public")

        before = calls(stage, "")
        migrate(stage.new, place("whole"), code=None)
        wanted, expected = calls(stage, "") - before, results(kind, place("whole"), stage)
        for name, first, second in (("upgrade", stage.old, stage.new), ("back", stage.new, stage.old)):
            empty()
            before = calls(stage, "")
            migrate(first, place(name), "--limit", "100", code=3)
            resumed = migrate(second, place(name), code=None)
            if resumed.returncode == 2 and os.path.basename(place(name)) in resumed.stderr:
                report.append(f"{kind} {name}: refused: {resumed.stderr.strip().splitlines()[-1]}")
                continue
            if resumed.returncode not in (0, 1):
                stage.failures.add(f"{kind} {name}: exit code {resumed.returncode}: {resumed.stderr[-500:]}")
            made = calls(stage, "") - before
            # A customer of rows before and after the limit is asked about twice.
            if made > wanted * 1.2:
                stage.failures.add(f"{kind} {name}: {made} calls to the App Store instead of {wanted}")
            count = stage.equal(f"{kind} {name}", results(kind, place(name), stage), expected)
            report.append(f"{kind} {name}: {count} rows, {made} calls instead of {wanted}")
            # A migration that has ended does nothing, with either binary.
            again = migrate(first, place(name), code=None)
            if again.returncode not in (resumed.returncode, 2):
                stage.failures.add(f"{kind} {name}: the repeated migration exits with {again.returncode}: {again.stderr[-500:]}")
        empty()
    return "; ".join(report)


SCENARIOS = {function.__name__: function for function in (file, database, migration)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="default: all of them")
    parser.add_argument("--tool", required=True, help="the binary of this version")
    parser.add_argument("--from", required=True, dest="old", help="the binary of a previous release")
    arguments = parser.parse_args()
    failures = Failures()
    for name in arguments.scenarios or SCENARIOS:
        begin = time.monotonic()
        with UpgradeStage(arguments, failures) as stage:
            text = SCENARIOS[name](stage, arguments)
        print(f"{name}: {text} ({time.monotonic() - begin:.0f} s)", flush=True)
    print(f"{len(failures.texts)} broken promises" if failures.texts else "All promises were kept.")
    sys.exit(1 if failures.texts else 0)


if __name__ == "__main__":
    main()
