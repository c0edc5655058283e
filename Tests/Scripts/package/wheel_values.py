"""Values of any type have the right result, or an error that names the type. Run by test_wheel.py."""
import array
import base64
import importlib
import json
import math
import pathlib
import sqlite3
import sys
import types
import uuid
from decimal import Decimal

import receipt_bridge
from receipt_bridge import ReceiptBridgeError, decode, decode_all, migrate
from test_wheel import expect

STATE = pathlib.Path(sys.argv[2])
ROOTS = STATE / "roots"
GOOD = next(row["receipt"] for row in map(json.loads, (STATE / "receipts.jsonl").read_text().splitlines()) if row["receipt"].startswith("MII"))
BYTES = base64.b64decode(GOOD)


def raised(call):
    """Returns the error of a call, or of what it yields."""
    try:
        result = call()
        if not isinstance(result, dict):
            list(result)
    except Exception as error:
        return error


def check_raised(table):
    for name, kind, text, call in table:
        error = raised(call)
        expect(type(error) is kind and text in str(error), f"{name}: {kind.__name__}: {error}")


def library_values():
    """Returns values of the libraries that are installed: (name, the same receipt or nothing, outcome)."""
    values = []
    if numpy := load("numpy"):
        values += [("numpy text", numpy.array([GOOD])[0], "decoded"), ("numpy bytes", numpy.array([BYTES])[0], "decoded"),
                   ("numpy uint8", numpy.frombuffer(BYTES, dtype="uint8"), "decoded"), ("numpy void", numpy.void(BYTES), "decoded"),
                   ("numpy object", numpy.array([GOOD, None], dtype=object)[0], "decoded"), ("numpy NaN", numpy.float64("nan"), "empty"),
                   ("numpy NaT", numpy.datetime64("NaT"), "empty"), ("numpy masked", numpy.ma.masked, "empty"), ("numpy int64", numpy.int64(70), "needsAllowUnverified")]
    if pandas := load("pandas"):
        values += [("pandas.NA", pandas.NA, "empty"), ("pandas.NaT", pandas.NaT, "empty")]
    if pyarrow := load("pyarrow"):
        values += [("pyarrow text", pyarrow.scalar(GOOD), "decoded"), ("pyarrow binary", pyarrow.scalar(BYTES), "decoded"),
                   ("pyarrow null", pyarrow.scalar(None), "empty"), ("pyarrow.Buffer", pyarrow.py_buffer(BYTES), "decoded"),
                   ("pyarrow struct", pyarrow.scalar({"receipt-data": GOOD}), "decoded")]
    if polars := load("polars"):
        values += [("polars text", polars.Series([GOOD])[0], "decoded"), ("polars binary", polars.Series([BYTES])[0], "decoded")]
    return values


def load(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"wheel: SKIPPED {name}, which is not installed")


def receipts():
    values = [("text", GOOD, "decoded"), ("bytes", BYTES, "decoded"), ("ASCII bytes", GOOD.encode(), "decoded"),
              ("bytearray", bytearray(BYTES), "decoded"), ("memoryview", memoryview(BYTES), "decoded"),
              ("array", array.array("B", BYTES), "decoded"), ("None", None, "empty"), ("NaN", math.nan, "empty"), ("infinity", math.inf, "empty"),
              ("empty", "", "empty"), ("a decimal that is NaN", Decimal("NaN"), "empty"), ("5", 5, "needsAllowUnverified"),
              ("a decimal", Decimal(70), "needsAllowUnverified"), ("a float", 1.5e9, "needsAllowUnverified"), ("a large float", 2e17, "roundedId"),
              ("surrogates", "\0\t\"\\\u2028\ud800", "notBase64"), ("JSON", {"nested": [GOOD]}, "decoded"),
              ("JSON with NaN", {"a": math.nan, "b": [math.inf], "receipt": GOOD}, "decoded"),
              ("JSON with bytes", {"receipt": BYTES, 7: uuid.UUID(int=1)}, "decoded"), ("20 MB", "a" * (20 << 20), "tooLarge"),
              *library_values()]
    for name, value, expected in values:
        result = decode(value, roots=ROOTS)
        found = result["reason"] or result["outcome"]
        expect(found == expected, f"{name}: {found}")
    expect(list(migrate([{"receipt": [GOOD]}], roots=ROOTS))[0]["outcome"] == "decoded", "a list in a column is JSON")
    mapping = types.MappingProxyType({"receipt-data": GOOD})
    expect(decode(mapping, roots=ROOTS)["verified"], "any mapping is JSON")
    check_raised([(type(value).__qualname__, TypeError, type(value).__qualname__, lambda value=value: decode(value)) for value in
                  [(GOOD,), {GOOD}, [GOOD], pathlib.Path("/"), object(), True, uuid.UUID(int=1), iter([GOOD]), array.array("d", [1.5]), 1j]])


def identifiers():
    ids = [("a", "a"), (7, "7"), (1.0, "1"), (Decimal("8"), "8"), (uuid.UUID(int=1), str(uuid.UUID(int=1))), ({"$oid": "5f"}, "5f"), ({"N": "7"}, "7")]
    if numpy := load("numpy"):
        ids += [(numpy.int64(9), "9"), (numpy.float64(3), "3"), (numpy.str_("n"), "n")]
    if pyarrow := load("pyarrow"):
        ids += [(pyarrow.scalar(4), "4"), (pyarrow.scalar("p"), "p")]
    rows = [{"key": id, "receipt": GOOD} for id, _ in ids]
    found = [row["id"] for row in migrate(rows, id_column="key", roots=ROOTS)]
    expect(found == [text for _, text in ids], f"ids: {' '.join(found)}")
    database = sqlite3.connect(":memory:")
    database.row_factory = sqlite3.Row
    found = list(migrate(database.execute("SELECT 7 AS id, ? AS receipt", [GOOD]), roots=ROOTS))
    database.close()
    expect(found[0]["id"] == "7" and found[0]["verified"], "rows of sqlite3")
    nothing = list(migrate([{"id": id, "receipt": GOOD} for id in (None, "", math.nan)] + [{"receipt": GOOD}]))
    expect(len({row["id"] for row in nothing}) == 1 and nothing[0]["id"].startswith("sha256:"), "without an id: the digest")
    check_raised([(f"id {id!r}", TypeError, type(id).__name__, lambda id=id: migrate([{"id": id, "receipt": GOOD}]))
                  for id in (b"abc", 1.5, 1e17, True, ("a",), object(), {"a": "b"})])


def arguments():
    """Errors of arguments are raised by the call, before anything is read."""
    def call(function, *values, **options):
        def lazy():
            function(*values, **options)
        return lazy

    check_raised([
        ("a text", TypeError, "str", call(decode_all, GOOD)), ("bytes", TypeError, "bytes", call(decode_all, BYTES)),
        ("a dictionary", TypeError, "dict", call(migrate, {"receipt": GOOD})), ("a number", TypeError, "int", call(decode_all, 7)),
        ("keep", TypeError, "str", call(migrate, [], keep="id")), ("receipt_column", TypeError, "int", call(migrate, [], receipt_column=7)),
        ("workers", ValueError, "-1", call(decode_all, [], workers=-1)), ("workers", TypeError, "str", call(migrate, [], workers="2")),
        ("no roots", FileNotFoundError, "missing", call(decode_all, [], roots=STATE / "missing")),
        ("not a certificate", ReceiptBridgeError, "badOptions: certificates", call(decode, GOOD, roots=STATE / "receipts.jsonl")),
        ("a column in no row", KeyError, "nope", lambda: migrate([{"receipt": GOOD}] * 3, id_column="nope")),
        ("a column in no row", KeyError, "nope", lambda: migrate([{"receipt": GOOD}] * 3, transaction_id_column="nope")),
        ("no receipt column", KeyError, "nope", lambda: migrate([{"receipt": GOOD}], receipt_column="nope")),
        ("a row", TypeError, "str", lambda: migrate([GOOD]))])
    if pandas := load("pandas"):
        table = pandas.DataFrame({"id": [1, None, 2], "receipt": [GOOD, None, GOOD]})
        expect([row["outcome"] for row in decode_all(table.receipt, roots=ROOTS)] == ["decoded", "refused", "decoded"], "a column of pandas")
        expect([row["id"][:6] for row in migrate(table.to_dict("records"), roots=ROOTS)] == ["1", "sha256", "2"], "ids with a gap in pandas")
        decoded = table.join(pandas.DataFrame(decode_all(table.receipt, roots=ROOTS), index=table.index).add_prefix("decoded_"))
        expect(list(decoded.decoded_reason.fillna("")) == ["", "empty", ""], "columns that are joined to a table of pandas")
        check_raised([("a table of pandas", TypeError, "DataFrame", call(migrate, table))])
    if pyarrow := load("pyarrow"):
        table = pyarrow.table({"receipt": [GOOD] * 3})
        expect([row["outcome"] for row in decode_all(table["receipt"], roots=ROOTS)] == ["decoded"] * 3, "a column of pyarrow")
        check_raised([("a table of pyarrow", TypeError, "Table", call(decode_all, table))])
    if polars := load("polars"):
        table = polars.DataFrame({"receipt": [GOOD] * 3})
        expect([row["outcome"] for row in decode_all(table["receipt"], roots=ROOTS)] == ["decoded"] * 3, "a column of polars")
        expect([row["outcome"] for row in migrate(table.iter_rows(named=True), roots=ROOTS)] == ["decoded"] * 3, "rows of polars")
        check_raised([("a table of polars", TypeError, "DataFrame", call(migrate, table))])


receipts()
identifiers()
arguments()
expect(receipt_bridge.__version__.startswith("0."), f"version {receipt_bridge.__version__}")
