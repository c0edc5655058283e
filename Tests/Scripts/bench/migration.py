#!/usr/bin/env python3
"""Migrates simulated rows of every kind, with every kind of damage, from each kind of source to each kind of result, and compares
each row of each result with the expected one. Prints a table with rows per second and memory, and the cost of the filter compared
with a migration from file to file.

    python3 Tests/Scripts/bench/migration.py --tool .build/release/receipt-bridge     100,000 rows, six sources, three results
    … --rows 1000000 --pairs jsonl:sqlite

Uses only Python's standard library. The tool is the release build.
"""
import argparse, csv, gzip, itertools, json, os, re, shutil, sqlite3, subprocess, sys, tempfile, time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import simulated

SOURCES = ["jsonl", "csv", "sqlite", "folder", "stdin", "jsonl.gz"]
RESULTS = ["jsonl", "csv", "sqlite"]


def fail(text):
    print(f"FAILED: {text}", file=sys.stderr)
    sys.exit(1)


def world(state):
    def lines(name):
        with open(os.path.join(state, name)) as file:
            return [json.loads(line) for line in file]
    genuine = [(row["receipt"], "decoded" if row["originalTransactionIds"] else "noTransactions",
                sorted(row["originalTransactionIds"])) for row in lines("receipts.jsonl")]
    # One of them is a signed transaction instead of its receipt. It contains only one of the receipt's ids.
    hostile = [(row["receipt"], row["expected"],
                sorted(row["originalTransactionIds"])
                if row["expected"] == "decoded" and row["mangling"] != "signedTransaction" else None)
               for row in lines("hostile.jsonl")]
    known = {id for customer in json.load(open(os.path.join(state, "world.json")))["customers"]
             for id in [row["originalTransactionId"] for row in customer["transactions"]]}
    for _, _, ids in genuine:
        if not set(ids) <= known:
            fail("receipts.jsonl contains an id that is not in world.json")
    return genuine, hostile


def small(genuine):
    """Returns the App Receipts with few purchases, like the one that the limit is measured with."""
    return [row for row in genuine if row[0].startswith("MI") and len(row[0]) < 6_000]


def rows(count, genuine, hostile):
    """Yields the rows. Every fiftieth row is a hostile one."""
    for number in range(count):
        if number % 50 == 49:
            yield f"r{number}", *hostile[(number // 50) % len(hostile)]
        else:
            yield f"r{number}", *genuine[number % len(genuine)]


def write(kind, path, all_rows):
    if kind == "jsonl" or kind == "stdin":
        with open(path, "w") as file:
            for id, receipt, _, _ in all_rows:
                file.write(json.dumps({"id": id, "receipt": receipt}) + "\n")
    elif kind == "jsonl.gz":
        with gzip.open(path, "wt", compresslevel=1) as file:
            for id, receipt, _, _ in all_rows:
                file.write(json.dumps({"id": id, "receipt": receipt}) + "\n")
    elif kind == "csv":
        with open(path, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["when", "receipt", "id"])
            for id, receipt, _, _ in all_rows:
                writer.writerow(["2019", receipt, id])
    elif kind == "sqlite":
        database = sqlite3.connect(path)
        database.execute("CREATE TABLE receipts (id TEXT, receipt TEXT, note TEXT)")
        database.executemany("INSERT INTO receipts VALUES (?, ?, 'x')", ((id, receipt) for id, receipt, _, _ in all_rows))
        database.commit()
        database.close()
    elif kind == "folder":
        os.mkdir(path)
        for id, receipt, _, _ in all_rows:
            with open(os.path.join(path, id), "w", newline="") as file:
                file.write(receipt)


def read(kind, path):
    if kind == "jsonl":
        with open(path) as file:
            for line in file:
                row = json.loads(line)
                yield row["id"], row["outcome"], row["originalTransactionIds"]
    elif kind == "csv":
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                yield row["id"], row["outcome"], json.loads(row["originalTransactionIds"])
    else:
        for id, outcome, ids in sqlite3.connect(path).execute(
                "SELECT id, outcome, originalTransactionIds FROM results ORDER BY rowid"):
            yield id, outcome, json.loads(ids)


def migrate(tool, source, result, roots, standard_input=None):
    begin = time.monotonic()
    process = subprocess.Popen(
        [tool, "migrate", source, "--to", result, "--roots", roots], stderr=subprocess.DEVNULL, stdin=standard_input)
    # Not from wait4, which includes the memory of this interpreter before the child process executes the tool.
    memory = 0
    while process.poll() is None:
        memory = max(memory, peak(process.pid))
        time.sleep(0.01)
    return process.returncode, time.monotonic() - begin, memory


def filter_overhead(tool, source, folder, roots, count):
    """Compares the filter with a migration from file to file: three runs of each in turn, and the medians."""
    def measure(words, standard_input=None, standard_output=None):
        begin = time.monotonic()
        process = subprocess.Popen(words, stdin=standard_input, stdout=standard_output, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        return os.waitstatus_to_exitcode(status), time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss
    kinds = {"file to file": [], "filter": []}
    for turn in range(3):
        target = os.path.join(folder, f"overhead-{turn}.jsonl")
        kinds["file to file"].append(measure([tool, "migrate", source, "--to", target, "--roots", roots]))
        filtered = os.path.join(folder, f"filtered-{turn}.jsonl")
        with open(source) as rows, open(filtered, "w") as results:
            kinds["filter"].append(measure([tool, "migrate", "-", "--to", "-", "--roots", roots], rows, results))
        with open(target) as one, open(filtered) as other:
            # Only rows of a file name their place in the source and their id there.
            plain = (re.sub(r',"row":[0-9]+,"sourceId":"[^"]*"}$', "}", line) for line in one)
            if any(line != another for line, another in itertools.zip_longest(plain, other)):
                fail("the filter and the migration to a file have different rows")
        for path in (target, target + ".progress", filtered):
            os.remove(path)
    if any(code not in (0, 1) for code, *_ in kinds["file to file"]) or any(code for code, *_ in kinds["filter"]):
        fail(f"exit codes of the filter's comparison: {kinds}")
    medians = {name: [sorted(run[index] for run in runs)[1] for index in (1, 2, 3)] for name, runs in kinds.items()}
    for name, (seconds, cpu, memory) in medians.items():
        print(f"{name:19} {seconds:8.2f} {count / seconds:10,.0f} {cpu / count * 1e6:5.1f} µs CPU {memory / 1024:5.0f} MB")
    (seconds, cpu, _), (filter_seconds, filter_cpu, _) = medians.values()
    print(f"filter / file to file: {filter_cpu / cpu:.2f} of the CPU time, {filter_seconds / seconds:.2f} of the time")


def peak(pid):
    """Returns the peak resident memory of a process in KiB."""
    try:
        with open(f"/proc/{pid}/status") as file:
            return next((int(line.split()[1]) for line in file if line.startswith("VmHWM")), 0)
    except OSError:
        return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--customers", type=int, default=5_000)
    parser.add_argument("--pairs", default="", help="pairs source:result, separated by commas; all by default")
    parser.add_argument("--small", action="store_true", help="only genuine App Receipts with few purchases")
    options = parser.parse_args()
    pairs = [tuple(pair.split(":")) for pair in options.pairs.split(",") if pair] or [
        (source, result) for source in SOURCES for result in RESULTS]
    folder = tempfile.mkdtemp(prefix="migration-")
    try:
        state = os.path.join(folder, "state")
        simulated.write(options.tool, state, options.customers)
        genuine, hostile = world(state)
        if options.small:
            genuine, hostile = small(genuine), small(genuine)
        bench = json.loads(subprocess.run(
            [options.tool, "bench", "--json"], capture_output=True, check=True).stdout)
        micros = next(row["microseconds"] for row in bench if row["name"] == "receipt.verify+decode")
        limit = (os.cpu_count() or 1) / micros * 1e6
        hostile_ones = "" if options.small else f" and {len(hostile)} hostile ones"
        print(f"{options.rows:,} rows of {len(genuine):,} receipts{hostile_ones}; "
              f"limit: {os.cpu_count()} cores / {micros:.1f} µs = {limit:,.0f} rows/s")
        print(f"{'source':10} {'result':8} {'seconds':>8} {'rows/s':>10} {'of limit':>8} {'memory':>8}")
        for source in dict.fromkeys(source for source, _ in pairs):
            path = os.path.join(folder, "in" if source == "folder" else f"in.{'jsonl' if source == 'stdin' else source}")
            write(source, path, rows(options.rows, genuine, hostile))
            for result in [result for wanted, result in pairs if wanted == source]:
                target = os.path.join(folder, f"out-{source.replace('.', '-')}.{result}")
                if source == "stdin":
                    with open(path) as file:
                        code, seconds, memory = migrate(options.tool, "-", target, f"{state}/roots", file)
                else:
                    code, seconds, memory = migrate(options.tool, path, target, f"{state}/roots")
                if code != (0 if options.small else 1):
                    fail(f"{source} to {result}: exit code {code}, expected 1 if some rows are refused, otherwise 0")
                check(source, result, target, rows(options.rows, genuine, hostile), options.rows)
                rate = options.rows / seconds
                print(f"{source:10} {result:8} {seconds:8.2f} {rate:10,.0f} {rate / limit:8.2f} {memory / 1024:5.0f} MB",
                      flush=True)
                for name in os.listdir(folder):
                    if name.startswith("out-"):
                        os.remove(os.path.join(folder, name))
            shutil.rmtree(path) if source == "folder" else os.remove(path)
        path = os.path.join(folder, "in.jsonl")
        write("jsonl", path, rows(options.rows, genuine, hostile))
        filter_overhead(options.tool, path, folder, f"{state}/roots", options.rows)
        print("every row of every result is as expected")
    finally:
        shutil.rmtree(folder)


def check(source, result, target, expected, count):
    """Compares the rows of a result with the expected ones.

    Rows of a folder are sorted by name. Those of other sources keep their order.
    """
    wanted = ((id, outcome, ids) for id, _, outcome, ids in expected)
    if source == "folder":
        wanted = iter(sorted(wanted))
    got = 0
    for (id, outcome, ids), (wanted_id, wanted_outcome, wanted_ids) in zip(read(result, target), wanted):
        got += 1
        if (id, outcome) != (wanted_id, wanted_outcome):
            fail(f"{source} to {result}: got {id} {outcome}, expected {wanted_id} {wanted_outcome}")
        if wanted_ids is not None and sorted(ids) != wanted_ids:
            fail(f"{source} to {result}: {id} has other original transaction ids")
    if got != count:
        fail(f"{source} to {result}: {got} rows, expected {count}")


if __name__ == "__main__":
    main()
