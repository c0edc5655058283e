"""The results are those of the program, at its speed and in constant memory. Run by test_wheel.py."""
import itertools
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

from receipt_bridge import decode, decode_all, migrate
from test_wheel import expect

TOOL, STATE, COUNT = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
ROOTS = STATE / "roots"
LINES = (STATE / "receipts.jsonl").read_text().splitlines() + (STATE / "hostile.jsonl").read_text().splitlines()
LINES += [json.dumps({"id": f"a{text}", "receipt": f"MII{text}"}) for text in ("\x01", "\n", '"', "\\", "\x7f\u2028", "")]
STORED = [json.loads(line) for line in LINES]


def rows(number):
    return ({"id": f"r{index}", "receipt": STORED[index % len(STORED)]["receipt"], "user": index} for index in range(number))


def program(*arguments, **options):
    return subprocess.run([TOOL, *arguments, "--roots", ROOTS], capture_output=True, text=True, **options).stdout.split("\n")[:-1]


def same_results():
    filtered = [json.loads(line) for line in program("migrate", "-", "--to", "-", "--quiet", input="\n".join(LINES) + "\n")]
    expect(list(migrate(STORED, roots=ROOTS)) == filtered, f"{len(filtered)} rows: the results of the filter")
    decoded = list(decode_all((row["receipt"] for row in STORED), roots=str(ROOTS)))
    expect([[row[name] for name in filtered[0] if name != "id"] for row in decoded]
           == [[value for name, value in row.items() if name != "id"] for row in filtered], "decode_all has the same columns")
    expect(decoded == [decode(row["receipt"], roots=ROOTS) for row in STORED], "decode has the same results")
    sample = STATE / "sample"
    sample.mkdir()
    for index, row in enumerate(STORED):
        (sample / str(index)).write_text(row["receipt"])
    for ours, line in zip(decoded, program("decode", "--json", *(sample / str(index) for index in range(len(STORED))))):
        theirs = json.loads(line)
        purchases = theirs.get("transactions", [theirs.get("payload")])
        if [ours["verified"], ours["failure"]] != [theirs["verified"], theirs["failure"]] or ours["purchases"] != (purchases if ours["verified"] else []) \
                or ours["verified"] and [ours["receipt"], ours["payload"]] != [theirs.get("receipt"), theirs.get("payload")]:
            sys.exit(f"wheel: {ours} instead of {theirs}")
    expect(sum(len(row["purchases"]) for row in decoded) > 100, "purchases are those of the command decode")
    kept = list(migrate(({"account": index, "blob": row["receipt"]} for index, row in enumerate(STORED)), receipt_column="blob",
                        id_column="account", keep=["account"], roots=ROOTS))
    expect([(row["id"], row["account"]) for row in kept] == [(str(index), index) for index in range(len(STORED))],
           "columns are named and kept, with their types")
    expect(list(migrate([])) == list(decode_all([])) == [], "no rows have no results")


def beside():
    found = list(migrate([{"receipt": None, "ids": ["71", "70"]}, {"receipt": STORED[0]["receipt"], "ids": "72"}], transaction_id_column="ids", roots=ROOTS))
    expect(found[0]["reason"] == "needsAllowUnverified" and found[0]["unverifiedIds"] == ["70", "71"]
           and found[1]["outcome"] == "decoded" and found[1]["unverifiedIds"] == ["72"], "ids beside receipts are not verified")


def order():
    pulled = itertools.count()
    results = migrate((row for _, row in zip(pulled, rows(10 ** 9))), roots=ROOTS)
    next(results)
    workers = len(os.sched_getaffinity(0))
    expect(next(pulled) <= 64 * (2 * workers + 1) + 1, "no more rows are read than the reader of the results needs")
    results.close()

    def slowly():
        for number, row in enumerate(rows(5)):
            time.sleep(0.02)
            yield row | {"id": number}
            expect(received == number + 1, "a row that arrives slowly has its result before the next one is read")

    received = 0
    for _ in migrate(slowly(), roots=ROOTS, workers=2):
        received += 1

    def broken():
        yield from rows(1000)
        raise LookupError("the database is gone")

    received = []
    results = migrate(broken(), roots=ROOTS)
    while True:
        try:
            received.append(next(results))
        except LookupError as error:
            expect(len(received) == 1000, f"an input that raises: {error}, after all results")
            break


def speed():
    """Each measurement has the same rows, once as a file for the filter and once as dictionaries."""
    source = STATE / "source.jsonl"
    with open(source, "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows(COUNT))
    begin = time.monotonic()
    with open(source) as file:
        subprocess.run([TOOL, "migrate", "-", "--to", "-", "--quiet", "--roots", ROOTS], stdin=file, stdout=subprocess.DEVNULL, check=True)
    alone = time.monotonic() - begin
    list(migrate(rows(2_000), roots=ROOTS))
    before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    number = 0
    for number, row in enumerate(migrate(rows(COUNT), roots=ROOTS), 1):
        if row["id"] != f"r{number - 1}":
            sys.exit(f"wheel: row {number} is out of order")
    seconds = time.monotonic() - begin
    growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    expect(number == COUNT, f"{COUNT:,} rows in order: {COUNT / seconds:,.0f} rows/s, {alone / seconds:.2f} of the filter alone")
    expect(growth < 16, f"memory grew by {growth:.1f} MiB")


def peer():
    try:
        from apple_purchase_receipt_verifier import Config, Verifier
    except ImportError:
        return print("wheel: SKIPPED the peer, which is not installed")
    verifier = Verifier(Config(roots=[file.read_bytes() for file in sorted(ROOTS.glob("*.cer"))]))
    receipts = [row["receipt"] for row in itertools.islice(rows(COUNT), 500)]

    def cost(call):
        begin = time.process_time()
        for receipt in receipts:
            call(receipt)
        return (time.process_time() - begin) / len(receipts) * 1e6

    ours, theirs = (statistics.median(cost(call) for _ in range(3)) for call in (lambda text: decode(text, roots=ROOTS), verifier.verify_receipt))
    expect(ours < theirs, f"one receipt takes {ours:.0f} µs of CPU, and {theirs:.0f} µs with the peer")


same_results()
beside()
order()
speed()
peer()
