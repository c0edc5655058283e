#!/usr/bin/env python3
"""Compares our verdicts on damaged receipts with those of apple-purchase-receipt-verifier, an independent program.

    Tests/oracle.py .build/release/receipt-bridge [--count N] [--seed N]

Starts a simulated App Store for its receipts, damages the App Receipts among them, asks both, and prints how often
which pair of verdicts came. Exits with 1 where either refuses a genuine receipt, or where we take a damaged one that
says anything else than the genuine one.
Needs the network once, to install the other program into a temporary folder.
"""
import argparse
import base64
import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import venv

PACKAGE = "apple-purchase-receipt-verifier==0.12.0"

ORACLE = """
import json, pathlib, sys
from apple_purchase_receipt_verifier import Config, Verifier
roots = [path.read_bytes() for path in sorted(pathlib.Path(sys.argv[1]).glob("*.cer"))]
verifier = Verifier(Config(roots=roots))
for line in sys.stdin:
    result = verifier.verify_receipt(line.strip())
    reason = None if result.verified else result.failure.reason.name
    print(json.dumps({"verified": result.verified, "reason": reason}), flush=True)
"""


def simulate(binary, folder, seed):
    """Lets the simulator write its state, and ends it."""
    process = subprocess.Popen(
        [binary, "simulate", "--state", folder, "--listen", "127.0.0.1:0", "--seed", str(seed), "--customers", "12"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not (folder / "receipt-bridge.yaml").exists() or not (folder / "hostile.jsonl").exists():
            if time.monotonic() > deadline or process.poll() is not None:
                sys.exit("oracle: the simulator did not start")
            time.sleep(0.1)
        time.sleep(1)
    finally:
        process.terminate()
        process.wait()


def damage(receipt, chance):
    """One to three changes of a byte or a few."""
    data = bytearray(receipt)
    names = []
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        place = chance.randrange(len(data))
        size = chance.randint(1, 40)
        name = chance.choice(["bit", "bit", "bit", "byte", "cut", "remove", "double", "zero"])
        names.append(name)
        if name == "bit":
            data[place] ^= 1 << chance.randrange(8)
        elif name == "byte":
            data[place] = chance.randrange(256)
        elif name == "cut":
            del data[max(place, 1):]
        elif name == "remove":
            del data[place:place + size]
        elif name == "double":
            data[place:place] = data[place:place + size]
        else:
            data[place:place + size] = bytes(len(data[place:place + size]))
        if not data:
            data = bytearray(b"\x30")
    return bytes(data), "+".join(names)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    print(f"seed {options.seed}", file=sys.stderr)
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        venv.create(folder / "venv", with_pip=True)
        python = folder / "venv/bin/python"
        subprocess.run([python, "-m", "pip", "--quiet", "install", PACKAGE], check=True)
        state = folder / "state"
        simulate(options.binary, state, options.seed % 1000)
        lines = [json.loads(line) for line in (state / "receipts.jsonl").read_text().splitlines()]
        receipts = [base64.b64decode(line["receipt"]) for line in lines if line["style"] == "appReceipt"]
        samples = [(number, receipt, None) for number, receipt in enumerate(receipts)]
        for _ in range(options.count):
            number = chance.randrange(len(receipts))
            samples.append((number, *damage(receipts[number], chance)))
        texts = [base64.b64encode(sample).decode() for _, sample, _ in samples]
        theirs = subprocess.run(
            [python, "-c", ORACLE, state / "roots"], input="\n".join(texts) + "\n", text=True, check=True,
            stdout=subprocess.PIPE).stdout.splitlines()
        files = []
        for number, text in enumerate(texts):
            files.append(folder / f"{number}.b64")
            files[-1].write_text(text)
        ours = subprocess.run(
            [options.binary, "decode", "--roots", state / "roots", *files], text=True,
            stdout=subprocess.PIPE).stdout.splitlines()
        assert len(ours) == len(theirs) == len(samples), (len(ours), len(theirs), len(samples))
        sys.exit(compare(samples, texts, [json.loads(line) for line in ours], [json.loads(line) for line in theirs]))


def compare(samples, texts, ours, theirs):
    """Prints the table; 1 where something is wrong."""
    table = collections.Counter()
    alone = collections.Counter()
    wrong = []
    for (number, _, name), text, our, their in zip(samples, texts, ours, theirs):
        code = "verified" if our["verified"] else our["failure"]["code"]
        if our["verified"] and our["repairs"]:
            code += " (" + ", ".join(our["repairs"]) + ")"
        reason = "verified" if their["verified"] else their["reason"]
        table[code, reason] += 1
        same = all(our.get(key) == ours[number].get(key) for key in ["receipt", "transactions", "environment"])
        if our["verified"] and not same:
            wrong.append(("says something else", code, reason, name, text))
        if name is None and not (our["verified"] and their["verified"]):
            wrong.append(("genuine", code, reason, name, text))
        # Alone and the same: what was damaged is a certificate or a field that we do not use and they do read.
        if our["verified"] != their["verified"]:
            alone["ours" if our["verified"] else "theirs"] += 1
    for (code, reason), count in sorted(table.items(), key=lambda item: -item[1]):
        print(f"{count:6}  {code:30} {reason}")
    for what, code, reason, name, text in wrong[:20]:
        print(f"{what}: ours {code}, theirs {reason}, after {name}: {text}", file=sys.stderr)
    print(f"{len(samples)} receipts; taken by one alone: {dict(alone)}; wrong: {len(wrong)}")
    return 1 if wrong else 0


main()
