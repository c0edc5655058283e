"""Migrates what databases and other programs export, and compares every row.

    Tests/Scripts/support/postgresql.sh python3 Tests/Scripts/check/exports.py TOOL [FOLDER]

The receipts are those of the simulator. Each row has a note with quotes, separators, backslashes and line breaks. PostgreSQL is
started; MariaDB, too, if `mariadbd` and `mariadb` are in PATH. The files of MongoDB, pandas and Spark are written as their
documentation describes. Each row of each export must have its id and its receipt.
"""
import csv
import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from measuring import free_port  # noqa: E402
from postgresql import USER, Database, command, environment  # noqa: E402

NOTES = ["plain", '"quoted"', '"begins with a quote', 'ends with a quote"', 'a "quote" inside, and a comma', "tab\there", "line\nbreak",
         "back\\slash", "ends with a backslash\\", '\\"', "", '"', "semi;colon|bar", "\\N", "quote\" and\nbreak \\", "é😀"]


class Exports:
    def __init__(self, tool, folder):
        self.tool, self.folder, self.failures, self.skipped, self.count = tool, folder, [], [], 0
        self.rows = self.receipts()

    def path(self, name):
        return os.path.join(self.folder, name)

    def receipts(self):
        """Returns 60 rows of an id, a receipt and a note, from the files of a simulator."""
        state = self.path("state")
        simulator = subprocess.Popen([self.tool, "simulate", "--customers", "60", "--seed", "7", "--listen", f"127.0.0.1:{free_port()}",
                                      "--state", state], stderr=subprocess.DEVNULL)
        try:
            file = os.path.join(state, "receipt-bridge.yaml")
            for _ in range(600):
                if os.path.exists(file) or simulator.poll() is not None:
                    break
                time.sleep(0.1)
            lines = [json.loads(line) for line in open(os.path.join(state, "receipts.jsonl"))]
        finally:
            simulator.terminate()
            simulator.wait()
        receipts = [line["receipt"] for line in lines if isinstance(line["receipt"], str)][:60]
        if len(receipts) != 60:
            sys.exit(f"the simulator wrote {len(receipts)} receipts")
        return [(f"user {number:03}", receipt, NOTES[number % len(NOTES)]) for number, receipt in enumerate(receipts)]

    def migrate(self, name, *options, refused=0):
        """Migrates a file and compares its rows: ids and outcomes, in any order."""
        result = self.path("result.jsonl")
        for file in (result, result + ".progress"):
            if os.path.exists(file):
                os.remove(file)
        done = subprocess.run([self.tool, "migrate", self.path(name), "--to", result, "--offline", "--roots", self.path("state/roots"),
                               *options], capture_output=True, text=True)
        found = [json.loads(line) for line in open(result)] if os.path.exists(result) else []
        right = {row[0] for row in self.rows}
        good = [row for row in found if row["outcome"] != "refused"]
        isRight = {row["id"].strip() for row in good} == right and len(good) == len(self.rows) and len(found) - len(good) == refused
        self.report(name, isRight, f"{len(good)} of {len(self.rows)} rows, {len(found) - len(good)} refused", done.stderr)

    def report(self, name, isRight, text, errors):
        self.count += 1
        print(f"{'ok  ' if isRight else 'FAIL'} {name}: {text}", flush=True)
        if not isRight:
            self.failures.append(name)
            print(errors, flush=True)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())

    # What programs write.

    def postgresql(self):
        folder = self.path("postgresql")
        os.makedirs(folder)
        os.chmod(self.folder, 0o755)
        database = Database(folder).start()
        try:
            def psql(*words, text=None):
                done = subprocess.run(command("psql", "-h", database.socket, "-p", str(database.port), "-U", "bridge", "-X", "-q", "-d",
                                              "postgres", "-v", "ON_ERROR_STOP=1", *words),
                                      input=text, capture_output=True, text=True, cwd="/", env=environment())
                if done.returncode != 0:
                    sys.exit(f"psql failed: {done.stderr}")
                return done.stdout

            table = io.StringIO()
            csv.writer(table).writerows(self.rows)
            psql("-c", "CREATE TABLE receipts (id text, receipt text, note text)")
            psql("-c", "\\copy receipts from pstdin with (format csv)", text=table.getvalue())
            psql("-c", "UPDATE receipts SET note = '' WHERE note IS NULL")
            query = "SELECT id, receipt, note FROM receipts ORDER BY id"
            copy = "\\copy (" + query + ") to pstdout with "
            for name, words in {
                "psql-csv.csv": ["--csv", "-c", query], "copy-text.tsv": ["-c", copy + "(header)"],
                "copy-csv.csv": ["-c", copy + "(format csv, header)"], "copy-escape.csv": ["-c", copy + "(format csv, header, escape '\\')"],
                "copy-quoted.csv": ["-c", copy + "(format csv, header, escape '\\', force_quote *)"],
                "copy-semicolon.txt": ["-c", copy + "(format csv, header, delimiter ';')"],
                "json-lines.json": ["-At", "-c", f"SELECT row_to_json(r) FROM ({query}) r"],
                "copy-bytea.tsv": ["-c", copy.replace("id, receipt,", "id, decode(receipt, 'base64') AS receipt,") + "(header)"],
            }.items():
                self.write(name, psql(*words))
                self.migrate(name)
            # psql -A escapes nothing: a note with a line break is two lines, which are refused.
            self.write("psql-A.txt", psql("-A", "-F", "|", "-P", "footer=off", "-c", query.replace("note FROM", "replace(replace(note, E'\\n', ' '), '|', ' ') AS note FROM")))
            self.migrate("psql-A.txt")
            self.write("psql-t", psql("-At", "-c", "SELECT receipt FROM receipts"))
            self.advised("psql-t", ids=False)
            self.write("psql-t.csv", psql("-t", "--csv", "-c", "SELECT id, receipt FROM receipts"))
            self.advised("psql-t.csv")
        finally:
            database.stop()

    def mariadb(self):
        if not shutil.which("mariadbd") or not shutil.which("mariadb"):
            self.skipped.append("MariaDB, because mariadbd and mariadb are not in PATH")
            return
        folder = self.path("mariadb")
        os.makedirs(folder)
        user = USER if os.getuid() == 0 else None
        if user:
            shutil.chown(folder, user)
        socket = os.path.join(folder, "s")
        tables = os.path.join(folder, "bootstrap.sql")
        with open(tables, "w") as file:
            file.write("CREATE DATABASE mysql;\n")
        options = ["--no-defaults", f"--datadir={folder}/data", f"--socket={socket}", "--skip-networking", "--skip-grant-tables",
                   f"--pid-file={folder}/pid", "--secure-file-priv=", "--innodb-log-file-size=8M"]
        share = os.environ.get("MARIADB_SHARE")
        options += [f"--lc-messages-dir={share}", f"--character-sets-dir={share}/charsets"] if share else []
        os.makedirs(os.path.join(folder, "data", "mysql"))
        for part in (os.path.join(folder, "data"), os.path.join(folder, "data", "mysql")):
            if user:
                shutil.chown(part, user)
        server = subprocess.Popen(command("mariadbd", *options), stdout=subprocess.DEVNULL, stderr=open(self.path("mariadb.log"), "w"))
        try:
            def sql(text, *words):
                done = subprocess.run(["mariadb", "--no-defaults", f"--socket={socket}", "--default-character-set=utf8mb4", *words],
                                      input=text.encode(), capture_output=True)
                return done.returncode, done.stdout, done.stderr.decode()

            for _ in range(300):
                if sql("SELECT 1")[0] == 0 or server.poll() is not None:
                    break
                time.sleep(0.1)
            quote = lambda text: "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
            rows = ",".join(f"({', '.join(map(quote, row))})" for row in self.rows)
            code, _, errors = sql("CREATE DATABASE shop CHARACTER SET utf8mb4; USE shop; CREATE TABLE receipts (id VARCHAR(64), receipt "
                                  f"MEDIUMTEXT, note TEXT) ENGINE=MyISAM; INSERT INTO receipts VALUES {rows};")
            if code != 0:
                sys.exit(f"mariadb failed: {errors}\n{open(self.path('mariadb.log')).read()}")
            self.write("batch.tsv", sql("SELECT id, receipt, note FROM receipts", "--batch", "shop")[1])
            self.migrate("batch.tsv")
            self.write("batch-raw-receipts.tsv", sql("SELECT id, receipt FROM receipts", "--batch", "--raw", "shop")[1])
            self.migrate("batch-raw-receipts.tsv")
            self.write("batch-N.txt", sql("SELECT id, receipt FROM receipts", "--batch", "-N", "shop")[1])
            self.advised("batch-N.txt")
            header = "SELECT 'id', 'receipt', 'note' UNION ALL SELECT id, receipt, note FROM receipts"
            # Without ENCLOSED BY, a comma beside a quote is ambiguous.
            sql("CREATE TABLE plain AS SELECT id, receipt, REPLACE(note, '\"', '') AS note FROM receipts", "shop")
            sql(f"{header} INTO OUTFILE '{folder}/outfile-plain.csv' FIELDS TERMINATED BY ','".replace("receipts", "plain"), "shop")
            shutil.copyfile(os.path.join(folder, "outfile-plain.csv"), self.path("outfile-plain.csv"))
            self.migrate("outfile-plain.csv")
            for name, form in {
                "outfile.tsv": "", "outfile.csv": "FIELDS TERMINATED BY ',' ENCLOSED BY '\"'",
                "outfile-optional.csv": "FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"'",
                "outfile-crlf.csv":
                "FIELDS TERMINATED BY ';' ENCLOSED BY '\"' LINES TERMINATED BY '\\r\\n'",
            }.items():
                code, _, errors = sql(f"{header} INTO OUTFILE '{folder}/{name}' {form}", "shop")
                if code != 0:
                    sys.exit(f"mariadb failed: {errors}")
                shutil.copyfile(os.path.join(folder, name), self.path(name))
                self.migrate(name)
        finally:
            server.terminate()
            server.wait()

    def mongodb(self):
        objects = [{"_id": {"$oid": f"{number:024x}"}, "receipt": row[1], "note": row[2]} for number, row in enumerate(self.rows)]
        self.rows, kept = [(row["_id"]["$oid"], *rest[1:]) for row, rest in zip(objects, self.rows)], self.rows
        lines = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in objects)
        self.write("mongoexport.json", lines)
        self.migrate("mongoexport.json")
        self.write("mongoexport.json.gz", gzip.compress(lines.encode()))
        self.migrate("mongoexport.json.gz")
        self.write("mongoexport-array.json", json.dumps(objects))
        self.advised("mongoexport-array.json")
        self.write("mongoexport-pretty.json", "".join(json.dumps(row, indent="\t") + "\n" for row in objects))
        self.advised("mongoexport-pretty.json")
        binary = [row | {"receipt": {"$binary": {"base64": row["receipt"], "subType": "00"}}} for row in objects]
        self.write("mongoexport-binary", "".join(json.dumps(row) + "\n" for row in binary))
        self.migrate("mongoexport-binary")
        self.rows = [(row[0][-10:], *row[1:]) for row in self.rows]
        self.write("parse.json", json.dumps({"results": [{"objectId": row[0], "receipt": row[1]} for row in self.rows]}))
        self.advised("parse.json")
        self.rows = kept

    def pandas(self):
        """Writes what `to_csv` and `to_json` of pandas write; its writer of CSV is that of Python."""
        for name, form in {
            "pandas.csv": {}, "pandas-tab.tsv": {"delimiter": "\t"}, "pandas-all.csv": {"quoting": csv.QUOTE_ALL},
            "pandas-escape.csv": {"doublequote": False, "escapechar": "\\"},
            "pandas-none.csv": {"quoting": csv.QUOTE_NONE, "escapechar": "\\"},
            "pandas-crlf.csv": {"lineterminator": "\r\n"}, "excel-mac.csv": {"lineterminator": "\r"},
        }.items():
            text = io.StringIO(newline="")
            writer = csv.writer(text, **({"lineterminator": "\n"} | form))
            writer.writerow(["id", "receipt", "note"])
            # Python does not quote a line feed if it does not end lines.
            rows = self.rows if form.get("lineterminator") != "\r" else [(*row[:2], row[2].replace("\n", "\r")) for row in self.rows]
            writer.writerows(rows)
            self.write(name, text.getvalue())
            self.migrate(name)
            for coding in ("utf-16", "utf-16-le", "utf-8-sig"):
                self.write(f"{coding}-{name}", text.getvalue().encode(coding))
                self.migrate(f"{coding}-{name}")
        self.write("excel.csv", "sep=;\r\nid;receipt\r\n" + "".join(f"{row[0]};{row[1]}\r\n" for row in self.rows))
        self.migrate("excel.csv")
        records = [{"id": row[0], "receipt": row[1]} for row in self.rows]
        self.write("pandas-records.json", json.dumps(records))
        self.advised("pandas-records.json")
        self.write("pandas-lines.json", "".join(json.dumps(row) + "\n" for row in records))
        self.migrate("pandas-lines.json")

    def spark(self):
        """Writes as Spark's CSV writer does: quotes where they are necessary, and a backslash before quotes in them."""
        def field(text):
            isPlain = text and not any(byte in text for byte in '",\n\r')
            return text if isPlain else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

        self.write("part-00000", "id,receipt,note\n" + "".join(",".join(map(field, row)) + "\n" for row in self.rows))
        self.migrate("part-00000")

    def advised(self, name, ids=True):
        """Runs the command of the error for a file, and migrates what it makes."""
        done = subprocess.run([self.tool, "migrate", self.path(name), "--to", self.path("none.jsonl")], capture_output=True, text=True)
        advice = done.stderr.split("; use: ", 1)
        if done.returncode != 2 or len(advice) != 2:
            return self.report(name, False, f"exit {done.returncode}, no command", done.stderr)
        made = f"advised-{name}.out"
        line = advice[1].strip().replace("| receipt-bridge … -", ">receipts.csv")
        subprocess.run(line.replace(">receipts.csv", f">{self.path(made)}"), shell=True, check=True)
        kept = self.rows
        if not ids:
            self.rows = [(f"#{number + 1}", *row[1:]) for number, row in enumerate(kept)]
        self.migrate(made)
        self.rows = kept


def main():
    folder = sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp(prefix="exports.")
    os.makedirs(folder, exist_ok=True)
    exports = Exports(os.path.abspath(sys.argv[1]), folder)
    try:
        for part in (exports.postgresql, exports.mariadb, exports.mongodb, exports.pandas, exports.spark):
            part()
    finally:
        if len(sys.argv) <= 2:
            shutil.rmtree(folder, ignore_errors=True)
    for name in exports.skipped:
        print(f"SKIPPED {name}")
    print(f"{exports.count} exports, {len(exports.failures)} failed")
    sys.exit(1 if exports.failures else 0)


if __name__ == "__main__":
    main()
