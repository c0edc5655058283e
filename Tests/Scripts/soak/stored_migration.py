#!/usr/bin/env python3
"""Migrates stored receipts while a server runs on the same store, then asks for each of them.

1. A server with `answer: [stored]` and no key runs, and knows nobody.
2. `migrate --with-api` looks up the customers of --receipts stored receipts and saves them in the store of the first server.
3. Each receipt is posted to it, and to a new server with `answer: [api]`: the first answers without a call, and its answers equal those of
   the other one but for the dates of the request and what is signed anew.
4. The server gets a key. --events renewals and refunds happen and are notified, and all answers are compared again. It looks customers up
   of whom an event said too little, and asks again before it says that a subscription has expired.

The exit code is 1 if a promise was broken.
"""
import argparse, json, os, random, re, shutil, subprocess, sys, tempfile, time, urllib.request

sys.path += [os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support")]
from measuring import free_port, post, start

failures = 0


def wrong(text):
    global failures
    failures += 1
    if failures <= 20:
        print(f"WRONG: {text}", flush=True)


def configuration(state, name, store, answer, port, has_key=True):
    """Writes a configuration of the simulated app for a server, and returns its path."""
    with open(os.path.join(state, "receipt-bridge.yaml")) as file:
        lines = [line for line in file.read().split("\n") if not re.match("(listen|store|operations):", line)]
    if not has_key:
        start = lines.index("    serverAPI:")
        end = next(place for place in range(start + 1, len(lines)) if not lines[place].startswith("      "))
        del lines[start:end]
    path = os.path.join(state, name)
    with open(path, "w") as file:
        file.write(f"listen: 127.0.0.1:{port}\noperations: {{listen: '127.0.0.1:0'}}\nstore: {store}\n"
                   + "\n".join(lines).replace("answer: [apple, receipt]", f"answer: [{answer}]"))
    return path


def ask(port, receipt, secret):
    body = json.dumps({"receipt-data": receipt, "password": secret}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/verifyReceipt", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.loads(response.read())


def comparable(answer):
    """Returns an answer without the date of the request and what is signed anew."""
    if isinstance(answer, dict):
        return {key: comparable(value) for key, value in answer.items()
                if not key.startswith("request_date") and key != "latest_receipt"}
    return [comparable(value) for value in answer] if isinstance(answer, list) else answer


def differences(one, other, path=""):
    """Returns the paths at which two answers differ, with both values."""
    if isinstance(one, dict) and isinstance(other, dict):
        return [found for key in sorted(one.keys() | other.keys()) for found in differences(one.get(key), other.get(key), f"{path}.{key}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [found for place, pair in enumerate(zip(one, other)) for found in differences(*pair, f"{path}[{place}]")]
    return [] if one == other else [f"{path} is {str(one)[:80]} and not {str(other)[:80]}"]


def calls(url):
    return json.loads(urllib.request.urlopen(url + "/requests").read())["total"]


def settle(url):
    """Waits until no call was made for four seconds."""
    last, since = calls(url), time.monotonic()
    while time.monotonic() - since < 4:
        time.sleep(0.2)
        now = calls(url)
        if now != last:
            last, since = now, time.monotonic()


def happen(url, event, customers, dice, count):
    """Makes an event happen to customers chosen at random. Returns how often it was possible."""
    happened = 0
    for _ in range(count):
        try:
            post(url + "/events", {"event": event, "customer": dice.choice(customers)})
            happened += 1
        except OSError:
            pass  # The customer has no subscription, or nothing to refund.
    return happened


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True, help="the binary of receipt-bridge")
    parser.add_argument("--receipts", type=int, default=20_000)
    parser.add_argument("--events", type=int, default=500)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    tool, dice = os.path.abspath(options.tool), random.Random(options.seed)
    folder = tempfile.mkdtemp(prefix="receipt-bridge-stored.")
    state, log, processes = os.path.join(folder, "state"), open(os.path.join(folder, "log"), "a"), []
    try:
        ports = [free_port() for _ in range(2)]
        simulator, url = start(
            [tool, "simulate", "--listen", "127.0.0.1:0", "--state", state, "--customers", str(max(options.receipts * 3 // 4, 10)),
             "--seed", str(options.seed), "--notify", f"http://127.0.0.1:{ports[0]}/v1/notifications"], "simulated App Store at")
        processes.append(simulator)
        with open(os.path.join(state, "receipts.jsonl")) as file:
            rows = [row for row in map(json.loads, file) if row["originalTransactionIds"]][:options.receipts]
        with open(os.path.join(state, "in.jsonl"), "w") as file:
            file.writelines(json.dumps({"id": row["id"], "receipt": row["receipt"]}) + "\n" for row in rows)
        with open(os.path.join(state, "shared-secret.txt")) as file:
            secret = file.read().strip()
        stored = configuration(state, "stored.yaml", "sqlite:stored.sqlite", "stored", ports[0])
        api = configuration(state, "api.yaml", "none", "api", ports[1])
        def serve(path, port):
            processes.append(subprocess.Popen([tool, "serve", "--config", path], stderr=log))
            for _ in range(200):
                try:
                    return urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=2).read()
                except OSError:
                    time.sleep(0.1)

        serve(configuration(state, "keyless.yaml", "sqlite:stored.sqlite", "stored", ports[0], has_key=False), ports[0])
        keyless = processes[-1]
        if ask(ports[0], rows[0]["receipt"], secret)["status"] == 0:
            wrong("the server knows a customer before the migration")
        # What was looked up before the first notification may lack something, and would be looked up again.
        with open(os.path.join(state, "world.json")) as file:
            customers = [one["id"] for one in json.load(file)["customers"]]
        happen(url, "renew", customers, dice, 10)
        settle(url)
        begin = time.monotonic()
        run = subprocess.run(
            [tool, "migrate", os.path.join(state, "in.jsonl"), "--to", os.path.join(folder, "out.jsonl"), "--config", stored,
             "--with-api", "--budget", "1"], stderr=subprocess.PIPE, text=True)
        seconds = time.monotonic() - begin
        if run.returncode:
            wrong(f"migrate: {run.returncode} {run.stderr[-2000:]}")
        print(run.stderr[-400:], flush=True)
        # The servers that are compared with ask for each customer twice within the hour, which Apple's rate limit does not allow.
        post(url + "/faults", {"kind": "budget", "limit": 10_000_000})

        def compare(moment, may_call):
            before, different = calls(url), 0
            answers = [ask(ports[0], row["receipt"], secret) for row in rows]
            made = calls(url) - before
            if made and not may_call:
                wrong(f"{moment}: {made} calls for stored answers")
            serve(api, ports[1])
            for row, answer in zip(rows, answers):
                found = differences(comparable(answer), comparable(ask(ports[1], row["receipt"], secret)))
                if found:
                    different += 1
                    wrong(f"{moment}: {row['id']}: {'; '.join(found[:4])}")
            # Without a memory of earlier answers, which no notification would refresh.
            processes.pop().kill()
            time.sleep(1)
            return f"{moment}: {len(rows):,} answers, {made} calls, {different} differences"

        print(compare("after the migration", False), flush=True)
        keyless.kill()
        time.sleep(1)
        serve(stored, ports[0])
        happened = sum(happen(url, event, customers, dice, options.events // 2) for event in ["renew", "refund"])
        settle(url)
        print(compare(f"after {happened} renewals and refunds", True), flush=True)
        print(f"{len(rows):,} receipts migrated in {seconds:.0f} s")
    finally:
        for process in processes:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{failures} broken promises" if failures else "All promises were kept.")
    sys.exit(1 if failures else 0)


main()
