#!/usr/bin/env python3
"""Tests the Python module: installs a wheel of the binary into a new environment without a network and without compilers, and decodes
there. Bounded memory, a program that is killed, a consumer that stops early and an input that fails are tested with it.

    Tests/Scripts/package/test_wheel.py .build/release/receipt-bridge [--rows N] [--pandas] [--peer]

--pandas also installs pandas from PyPI and runs the example of docs/MIGRATION.md. --peer compares the rows per second with those of
apple-purchase-receipt-verifier from PyPI.
"""
import argparse
import base64
import gc
import itertools
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import simulated

ROOT = Path(__file__).resolve().parents[3]
PEER = "apple-purchase-receipt-verifier==0.12.0"


def expect(condition, text):
    if not condition:
        sys.exit(f"wheel: {text}")
    print(f"wheel: {text}", flush=True)


def child():
    """Returns the id and the name of the only child of this process, also of one that nobody has waited for."""
    ids = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return (int(ids[0]), Path(f"/proc/{ids[0]}/comm").read_text().strip()) if ids else None


def failure(results):
    """Returns what the results raise."""
    try:
        for _ in results:
            pass
    except Exception as error:
        return error


def inside(state, count, arguments):
    """The tests, which run in the environment of the wheel."""
    import receipt_bridge
    from receipt_bridge import ReceiptBridgeError, decode, migrate

    # A deadlock ends the test.
    signal.alarm(600)
    roots = state / "roots"
    lines = (state / "receipts.jsonl").read_text().splitlines() + (state / "hostile.jsonl").read_text().splitlines()
    lines += [json.dumps({"id": f"a{text}", "receipt": f"MII{text}"}) for text in ("\x01", "\n", '"', "\\", "\x7f\u2028", "")]
    stored = [json.loads(line) for line in lines]
    tool = receipt_bridge.executable()
    expect(tool.startswith(sys.prefix), "the program is in the environment")

    def rows(number):
        return ({"id": f"r{index}", "receipt": stored[index % len(stored)]["receipt"], "user": index} for index in range(number))

    filtered = subprocess.run([tool, "migrate", "-", "--to", "-", "--quiet", "--roots", roots], input="\n".join(lines) + "\n",
                              capture_output=True, text=True, check=True).stdout.split("\n")[:-1]
    expect(list(migrate(stored, roots=roots)) == [json.loads(line) for line in filtered], "the results are those of the filter")
    signed = list(decode((row["receipt"] for row in stored), roots=str(roots), workers=1))
    expect([row["digest"] for row in signed] == [json.loads(line)["digest"] for line in filtered], "decode has the same results")

    odd = ["", None, float("nan"), 5, "\0\x01\t\"\\\n\u2028\ud800", b"\xff\0", {"nested": [stored[0]["receipt"]]}, [1.5, {}],
           stored[0]["receipt"].encode(), memoryview(base64.b64decode(stored[0]["receipt"])), "a" * (17 << 20), object()]
    outcomes = [row["outcome"] for row in decode(odd, roots=roots)]
    expect(outcomes == ["refused"] * 6 + ["decoded", "refused", "decoded", "decoded", "refused", "refused"],
           "receipts of any type have a result each")
    kept = list(migrate(({"account": index, "blob": row["receipt"]} for index, row in enumerate(stored)), receipt_column="blob",
                        id_column="account", keep=["account"], roots=roots))
    expect([(row["id"], row["account"]) for row in kept] == [(str(index), index) for index in range(len(stored))],
           "columns are named and kept, with their types")

    # Each measurement has the same rows, once as a file for the filter and once as dictionaries.
    source = state / "source.jsonl"
    with open(source, "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows(count))
    begin = time.monotonic()
    with open(source) as file:
        subprocess.run([tool, "migrate", "-", "--to", "-", "--quiet", "--roots", roots], stdin=file, stdout=subprocess.DEVNULL, check=True)
    alone = time.monotonic() - begin
    before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    number = 0
    for number, row in enumerate(migrate(rows(count), roots=roots), 1):
        if row["id"] != f"r{number - 1}":
            sys.exit(f"wheel: row {number} is out of order")
    seconds = time.monotonic() - begin
    growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    expect(number == count, f"{count:,} rows in order: {count / seconds:,.0f} rows/s, {alone / seconds:.2f} of the filter alone")
    expect(growth < 64, f"memory grew by {growth:.0f} MiB")

    endless = migrate(rows(10 ** 9), roots=roots)
    next(endless)
    expect(child() is not None and child()[1] == "receipt-bridge", "the program runs while the results are read")
    endless.close()
    expect(child() is None, "closing the results ends the program")
    pulled = itertools.count()
    results = migrate((row for _, row in zip(pulled, rows(10 ** 9))), roots=roots)
    next(results)
    expect(next(pulled) < 64 * (2 * os.cpu_count() + 7), "no more rows are read than the reader of the results needs")
    del results
    gc.collect()
    expect(child() is None, "so does losing the reference")

    results = migrate(rows(10 ** 9), roots=roots)
    next(results)
    os.kill(child()[0], 9)
    error = failure(results)
    expect(isinstance(error, ReceiptBridgeError) and error.exit_code == -9 and child() is None, f"killed: {error}")

    def broken():
        yield from rows(1000)
        raise LookupError("the database is gone")

    error = failure(migrate(broken(), roots=roots))
    expect(isinstance(error, LookupError) and child() is None, f"an input that raises: {error}")
    error = failure(migrate([{"id": 1}], roots=roots))
    expect(isinstance(error, KeyError) and child() is None, f"a row without the column: {error!r}")
    error = failure(migrate(rows(10 ** 6), roots=state / "missing"))
    expect(isinstance(error, ReceiptBridgeError) and error.exit_code == 2 and "missing" in str(error) and child() is None, f"roots: {error}")
    expect(list(migrate([], roots=roots)) == [] and child() is None, "no rows have no results")

    if arguments.pandas:
        import pandas

        table = pandas.DataFrame(stored)
        table.loc[3, "receipt"] = None
        decoded = table.join(pandas.DataFrame(decode(table.receipt, roots=roots), index=table.index).add_prefix("decoded_"))
        expect(len(decoded) == len(stored) and decoded.decoded_reason[3] == "empty", f"pandas: {dict(decoded.decoded_outcome.value_counts())}")
    if arguments.peer:
        from apple_purchase_receipt_verifier import Config, Verifier

        verifier = Verifier(Config(roots=[file.read_bytes() for file in sorted(roots.glob("*.cer"))]))
        receipts = [row["receipt"] for row in itertools.islice(rows(count), 2000)]
        begin = time.monotonic()
        verified = sum(verifier.verify_receipt(receipt).verified for receipt in receipts)
        other = len(receipts) / (time.monotonic() - begin)
        print(f"wheel: {PEER}: {other:,.0f} rows/s, {verified} verified; this module is {count / seconds / other:.0f} times as fast")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--pandas", action="store_true")
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--state", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.state:
        return inside(Path(arguments.state), arguments.rows, arguments)
    with tempfile.TemporaryDirectory(prefix="wheel-") as name:
        folder = Path(name)
        wheel = subprocess.run([sys.executable, ROOT / "Tests/Scripts/package/wheel.py", arguments.tool, folder],
                               stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        print(f"wheel: {Path(wheel).name}, {os.path.getsize(wheel):,} bytes")
        venv.create(folder / "venv", with_pip=True)
        bin = folder / "venv/bin"
        pip = [bin / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--no-index", wheel], check=True)
        if more := ["pandas"] * arguments.pandas + [PEER] * arguments.peer:
            subprocess.run([*pip, "--only-binary", ":all:", *more], check=True)
        version = subprocess.run([bin / "receipt-bridge", "--version"], capture_output=True, text=True, check=True).stdout
        print(f"wheel: {version.strip()}")
        simulated.write(bin / "receipt-bridge", folder / "state", 300)
        # Without the folders of compilers and of an installed receipt-bridge.
        subprocess.run([bin / "python", os.path.abspath(__file__), *sys.argv[1:], "--state", folder / "state"], check=True, cwd=folder,
                       env={key: value for key, value in os.environ.items() if not key.startswith("PYTHON")} | {"PATH": str(bin)})


main()
