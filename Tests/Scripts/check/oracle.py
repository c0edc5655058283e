#!/usr/bin/env python3
"""Compares the results of `decode` for damaged receipts with those of apple-purchase-receipt-verifier, an independent program.

    Tests/Scripts/check/oracle.py .build/release/receipt-bridge [--count N] [--seed N]

Gets receipts from a simulated App Store, damages the App Receipts among them, runs both programs, and prints the frequency of
each pair of results. The exit code is 1 if either program refuses a genuine receipt, or if `decode` accepts a damaged receipt whose
content differs from the genuine one.
Needs the network to install the other program into a temporary folder.
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
    """Starts the simulator, waits until it has written its state, and stops it."""
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
    """Returns the receipt with one to three changes of one to 40 bytes, and the names of the changes."""
    data = bytearray(receipt)
    names = []
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        offset = chance.randrange(len(data))
        size = chance.randint(1, 40)
        name = chance.choice(["bit", "bit", "bit", "byte", "cut", "remove", "double", "zero"])
        names.append(name)
        if name == "bit":
            data[offset] ^= 1 << chance.randrange(8)
        elif name == "byte":
            data[offset] = chance.randrange(256)
        elif name == "cut":
            del data[max(offset, 1):]
        elif name == "remove":
            del data[offset:offset + size]
        elif name == "double":
            data[offset:offset] = data[offset:offset + size]
        else:
            data[offset:offset + size] = bytes(len(data[offset:offset + size]))
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
        samples = [(index, receipt, None) for index, receipt in enumerate(receipts)]
        for _ in range(options.count):
            index = chance.randrange(len(receipts))
            samples.append((index, *damage(receipts[index], chance)))
        texts = [base64.b64encode(sample).decode() for _, sample, _ in samples]
        theirs = subprocess.run(
            [python, "-c", ORACLE, state / "roots"], input="\n".join(texts) + "\n", text=True, check=True,
            stdout=subprocess.PIPE).stdout.splitlines()
        files = []
        for index, text in enumerate(texts):
            files.append(folder / f"{index}.b64")
            files[-1].write_text(text)
        ours = subprocess.run(
            [options.binary, "decode", "--roots", state / "roots", *files], text=True,
            stdout=subprocess.PIPE).stdout.splitlines()
        assert len(ours) == len(theirs) == len(samples), (len(ours), len(theirs), len(samples))
        sys.exit(compare(samples, texts, [json.loads(line) for line in ours], [json.loads(line) for line in theirs]))


def compare(samples, texts, ours, theirs):
    """Prints the table. Returns the exit code: 1 if there is a wrong result."""
    table = collections.Counter()
    alone = collections.Counter()
    wrong = []
    for (index, _, name), text, our, their in zip(samples, texts, ours, theirs):
        code = "verified" if our["verified"] else our["failure"]["code"]
        if our["verified"] and our["repairs"]:
            code += " (" + ", ".join(our["repairs"]) + ")"
        reason = "verified" if their["verified"] else their["reason"]
        table[code, reason] += 1
        same = all(our.get(key) == ours[index].get(key) for key in ["receipt", "transactions", "environment"])
        if our["verified"] and not same:
            wrong.append(("different content", code, reason, name, text))
        if name is None and not (our["verified"] and their["verified"]):
            wrong.append(("genuine", code, reason, name, text))
        # One program accepts it alone, with the same content: the damaged part is a certificate or a field that only the other
        # program reads.
        if our["verified"] != their["verified"]:
            alone["ours" if our["verified"] else "theirs"] += 1
    for (code, reason), count in sorted(table.items(), key=lambda item: -item[1]):
        print(f"{count:6}  {code:30} {reason}")
    for problem, code, reason, name, text in wrong[:20]:
        print(f"{problem}: ours {code}, theirs {reason}, after {name}: {text}", file=sys.stderr)
    print(f"{len(samples)} receipts; accepted by one program alone: {dict(alone)}; wrong: {len(wrong)}")
    return 1 if wrong else 0


main()
