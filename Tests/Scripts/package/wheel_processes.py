"""Forks, threads, pools, signals and hostile bytes in the process of the library. Run by test_wheel.py.

RECEIPT_BRIDGE_FUZZ=N is the number of hostile values.
"""
import base64
import concurrent.futures
import gc
import hashlib
import json
import multiprocessing
import os
import pathlib
import random
import signal
import ssl
import subprocess
import sys
import threading
import time

STATE = pathlib.Path(sys.argv[2])
ROOTS = STATE / "roots"
RECEIPTS = [json.loads(line)["receipt"] for line in (STATE / "receipts.jsonl").read_text().splitlines()]


def openssl():
    """Uses the OpenSSL of Python, and returns what it says."""
    context = ssl.create_default_context()
    found = [ssl.OPENSSL_VERSION, hashlib.new("sha256", b"x").hexdigest(), len(context.get_ciphers()), hashlib.scrypt(b"x", salt=b"y", n=2, r=8, p=1)]
    try:
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.hashes import SHA256
    except ImportError:
        print("wheel: SKIPPED cryptography, which is not installed")
    else:
        key = ec.derive_private_key(7, ec.SECP256R1())
        key.public_key().verify(key.sign(b"x", ec.ECDSA(SHA256())), b"x", ec.ECDSA(SHA256()))
    return found


BEFORE = openssl() if __name__ == "__main__" else None

from receipt_bridge import decode, decode_all
from test_wheel import expect


def outcome(result):
    return result["outcome"]


def threads(expected=None):
    """Returns the number of threads. A thread that was joined exists for a moment longer, so an expected number is waited for."""
    end = time.monotonic() + 5
    while (found := len(os.listdir("/proc/self/task"))) != (expected or found) and time.monotonic() < end:
        time.sleep(0.01)
    return found


def wait(children):
    """Returns the exit codes of processes."""
    return {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children}


def forked(body, seconds=60):
    """Forks a process that ends with 0 if the result is true, and is killed if it takes too long."""
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        try:
            os._exit(0 if body() else 1)
        finally:
            os._exit(2)
    return child


def check_forks(expected):
    child = forked(lambda: [outcome(row) for row in decode_all(RECEIPTS, roots=ROOTS)] == expected)
    expect(wait([child]) == {0}, "a forked child decodes, in threads of its own")
    stop = threading.Event()

    def work():
        while not stop.is_set():
            decode(random.choice(RECEIPTS), roots=ROOTS)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    codes = set()
    for _ in range(400):
        codes |= wait([forked(lambda: [outcome(decode(text, roots=ROOTS)) for text in RECEIPTS[:10]] == expected[:10], seconds=10)])
    stop.set()
    for worker in workers:
        worker.join()
    expect(codes == {0}, "400 children that are forked while four threads decode")
    results = decode_all(RECEIPTS * 10, roots=ROOTS, workers=2)
    begun = [outcome(next(results)) for _ in range(3)]
    child = forked(lambda: begun + [outcome(row) for row in results] == expected * 10)
    expect(wait([child]) == {0} and begun + [outcome(row) for row in results] == expected * 10, "a generator goes on in parent and child")
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        next(decode_all(RECEIPTS * 10, roots=ROOTS, workers=2))
        sys.exit(0)
    expect(wait([child]) == {0}, "a child ends with an open generator")


def check_pools(expected):
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
            found = list(pool.map(outcome, decode_all(RECEIPTS * 10, roots=ROOTS), chunksize=50))
            inside = list(pool.map(decode, RECEIPTS[:20], chunksize=5))
        expect(found == expected * 10 and {outcome(row) for row in inside} == {"refused"}, f"a pool of processes by {method}")
        results = decode_all(RECEIPTS * 10, roots=ROOTS)
        first = next(results)
        with context.Pool(2, maxtasksperchild=5) as pool:
            found = [outcome(first), *pool.imap(outcome, results, chunksize=100)]
        expect(found == expected * 10, f"a generator that began before a pool by {method}")


def check_threads(expected):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: outcome(decode(text, roots=ROOTS)), RECEIPTS * 5))
    expect(found == expected * 5, "eight threads")
    before = threads(1)
    results = decode_all(RECEIPTS * 10, roots=ROOTS, workers=3)
    next(results)
    during = threads()
    del results
    gc.collect()
    expect(during > before == threads(before), "the threads of an abandoned generator end")
    expect([outcome(row) for row in decode_all(RECEIPTS, roots=ROOTS)] == expected and threads(before) == before, "so do those of one that is read to its end")


def check_signals():
    script = ("import receipt_bridge, itertools\nprint('begin', flush=True)\n"
              f"for row in receipt_bridge.decode_all(itertools.cycle({RECEIPTS[:5]!r})): pass")
    # A shell ignores SIGINT in what it starts in the background, and Python inherits that.
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    process.stdout.readline()
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    try:
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    expect(process.returncode == -signal.SIGINT and "KeyboardInterrupt" in errors and time.monotonic() - begin < 5, "Ctrl-C is KeyboardInterrupt")
    received = []
    signal.signal(signal.SIGINT, lambda *_: received.append(1))
    number = 0
    for number, row in enumerate(decode_all(RECEIPTS * 5, roots=ROOTS), 1):
        if number == 10:
            os.kill(os.getpid(), signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    expect(received == [1] and number == len(RECEIPTS) * 5, "a process that handles SIGINT goes on")
    script = ("import receipt_bridge, threading\ndef work():\n    while True: receipt_bridge.decode(receipts[0])\n"
              f"receipts = {RECEIPTS[:5]!r}\nfor _ in range(4): threading.Thread(target=work, daemon=True).start()\nreceipt_bridge.decode(receipts[1])")
    codes = {subprocess.run([sys.executable, "-c", script], timeout=60).returncode for _ in range(10)}
    expect(codes == {0}, "a process ends while threads decode")
    script = f"import receipt_bridge\nresults = receipt_bridge.decode_all({RECEIPTS[:5]!r} * 1000)\nnext(results)"
    expect(subprocess.run([sys.executable, "-c", script], timeout=60).returncode == 0, "a process ends with an open generator")


def hostile(generator):
    """Returns a value that was a receipt, or noise."""
    data = bytearray(generator.choice(RECEIPTS).encode())
    if generator.random() < 0.5:
        data = bytearray(base64.b64decode(data))
    for _ in range(generator.choice([1, 1, 2, 8, 64])):
        place = generator.randrange(len(data))
        kind = generator.randrange(4)
        if kind == 0:
            data[place] = generator.randrange(256)
        elif kind == 1:
            del data[place:place + generator.choice([1, 2, 100, len(data)])]
            data = data or bytearray(b"MII")
        elif kind == 2:
            data[place:place] = generator.randbytes(generator.choice([1, 4, 50]))
        else:
            data[place:place] = generator.choice([b"{", b'"', b"\\", b"%", b"<", b"\x1f\x8b", b"0x", b"=", b"[[", b"\xff\xfe", b"MII", b"\0"])
    return bytes(data)


def check_hostile():
    seed = int(os.environ.get("RECEIPT_BRIDGE_SEED", random.randrange(1 << 32)))
    number = int(os.environ.get("RECEIPT_BRIDGE_FUZZ", 2_000))
    generator = random.Random(seed)
    outcomes = {"decoded": 0, "noTransactions": 0, "refused": 0}
    print(f"wheel: hostile values from seed {seed}", flush=True)
    for row in decode_all((hostile(generator) for _ in range(number)), roots=ROOTS):
        outcomes[row["outcome"]] += 1
        if (row["outcome"] == "refused") != (row["failure"] is not None) or row["outcome"] == "refused" and row["purchases"]:
            sys.exit(f"wheel: seed {seed}: {row}")
    expect(sum(outcomes.values()) == number, f"hostile values: {outcomes}")


def main():
    # A deadlock ends the test.
    signal.alarm(900)
    expect(threads() == 1, "the library has no threads")
    expected = [outcome(decode(text, roots=ROOTS)) for text in RECEIPTS]
    expect(openssl() == BEFORE, f"Python's {BEFORE[0]} works beside the library")
    check_threads(expected)
    check_forks(expected)
    check_pools(expected)
    check_signals()
    check_hostile()


if __name__ == "__main__":
    main()
