"""Decodes App Store receipts and signed data, and checks whether they are authentic, in this process.

    result = receipt_bridge.decode(receipt)
    if result["verified"]:
        for purchase in result["purchases"]:
            print(result["bundleId"], purchase["productId"], purchase.get("expiresDate"))

    for result in receipt_bridge.migrate(rows, receipt_column="receipt_b64", id_column="user_id"):
        print(result["id"], result["outcome"], result["originalTransactionIds"])

A value that is not an authentic receipt has a result too: its `outcome` is `refused`, and `reason` has the cause. Values of types that
cannot contain a receipt raise TypeError. There are no calls to the App Store.
"""
from __future__ import annotations

import hashlib
import operator
import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Union, cast

from ._library import ReceiptBridgeError, __version__, call, call_all, certificates
from ._threads import in_order
from ._types import Decoded, Failure, Migrated, Purchase
from ._values import id_text, json_text, name_of, stored_bytes

__all__ = ["Decoded", "Failure", "Migrated", "Purchase", "ReceiptBridgeError", "__version__", "decode", "decode_all", "migrate"]

Path = Union[str, "os.PathLike[str]"]
# As many rows are searched for a column before it counts as missing.
FIRST_ROWS = 64
MAXIMUM_WORKERS = 256


def decode(receipt: Any, *, roots: Path | None = None) -> Decoded:
    """Decodes one receipt.

    Arguments:
        receipt: The base64 or the bytes of a receipt, a JWS, or JSON or another text that contains one of them. None and NaN count as
            empty.
        roots: A folder of test root certificates, or one of them in a file, to trust in addition to Apple's. Its neighbour
            `intermediates` is read too. A path is read once.

    Raises:
        TypeError: The value cannot be a receipt.
        ReceiptBridgeError, OSError: The certificates cannot be used."""
    if isinstance(receipt, list):
        raise TypeError("a list is not a receipt: decode_all() decodes many")
    result: Decoded = call(stored_bytes(receipt), certificates(roots).options())
    return result


def decode_all(receipts: Iterable[Any], *, roots: Path | None = None, workers: int | None = None) -> Generator[Decoded, None, None]:
    """Decodes receipts in threads, and yields what decode() returns for each, in order.

    Arguments:
        receipts: The values. They are read in the thread of the caller, at most some hundred in advance; none in advance while they
            arrive slowly.
        workers: The number of threads; the default is one for each core. 1 decodes in the thread of the caller.

    Raises:
        TypeError: A value cannot be a receipt. The results of those before it are yielded first."""
    values = map(stored_bytes, _iterator(receipts, "receipts"))
    options = certificates(roots).options()
    return in_order(values, lambda batch: call_all(batch, [options] * len(batch)), len, _count(workers))


def migrate(rows: Iterable[Mapping[str, Any]], *, receipt_column: str = "receipt", id_column: str | None = None, keep: Sequence[str] = (),
            transaction_id_column: str | None = None, roots: Path | None = None,
            workers: int | None = None) -> Generator[Migrated, None, None]:
    """Decodes rows in threads, and yields a dictionary for each, in order, with the columns of `receipt-bridge migrate - --to -`.

    Arguments:
        rows: Dictionaries. Columns that are not named are ignored.
        receipt_column: The column with a receipt, as decode() takes it; a list counts as JSON.
        id_column: The column with the id: a text, a number without fraction, a UUID. The default is `id` in rows that have it. A row
            without an id gets the digest of its values as the id.
        keep: Columns that results have too. If a result has a column of that name itself, that one counts.
        transaction_id_column: A column with transaction ids, which are in `unverifiedIds`. A row need not have it.
        roots, workers: As for decode_all().

    Raises:
        KeyError: A row has no column `receipt_column`, or lacks one of `keep`; no row has one of the others that are named.
        TypeError: A row is not a dictionary, or a value cannot be a receipt or an id."""
    for name, column in [("receipt_column", receipt_column), ("id_column", id_column or ""), ("transaction_id_column", transaction_id_column or "")]:
        if not isinstance(column, str):
            raise TypeError(f"{name} is {name_of(column)}, not a text")
    if isinstance(keep, (str, bytes)):
        raise TypeError(f"keep is {name_of(keep)}, not a list of texts")
    reader = _RowReader(receipt_column, id_column, list(keep), transaction_id_column)
    trusted = certificates(roots)
    plain = trusted.options(purchases=False)

    def options(row: _Row) -> bytes | None:
        return plain if row.transaction_ids is None else trusted.options(purchases=False, transaction_ids=row.transaction_ids)

    def work(rows: list[_Row]) -> list[Migrated]:
        results = call_all([row.value for row in rows], [options(row) for row in rows])
        return [cast(Migrated, {**row.kept, "id": row.id, **result}) for row, result in zip(rows, results)]

    return in_order(reader.read(_iterator(rows, "rows")), work, _Row.__len__, _count(workers))


class _Row:
    """The values of a row that are needed."""
    __slots__ = ("id", "kept", "transaction_ids", "value")

    def __init__(self, id: str, value: bytes, kept: dict[str, Any], transaction_ids: str | None):
        self.id, self.value, self.kept, self.transaction_ids = id, value, kept, transaction_ids

    def __len__(self) -> int:
        return len(self.value)


class _RowReader:
    """Reads the columns of rows."""

    def __init__(self, receipt: str, id: str | None, keep: list[str], transaction_ids: str | None):
        self.receipt, self.id, self.keep, self.transaction_ids = receipt, id, keep, transaction_ids
        # Named columns that no row has had.
        self.missing = {name for name in (id, transaction_ids) if name is not None}

    def read(self, rows: Iterator[Any]) -> Iterator[_Row]:
        count = 0
        for row in rows:
            if not isinstance(row, Mapping):
                # Rows of sqlite3 and pandas have keys, but are no mappings.
                if not hasattr(row, "keys"):
                    raise TypeError(f"a row is {name_of(row)}, not a dictionary")
                row = dict(row)
            count += 1
            if self.missing:
                self.missing -= row.keys()
                if count >= FIRST_ROWS and self.id in self.missing:
                    raise KeyError(self.id)
            yield self.row(row)
        if count and self.missing:
            raise KeyError(*sorted(self.missing))

    def row(self, row: Mapping[str, Any]) -> _Row:
        value = stored_bytes(row[self.receipt])
        ids = None if self.transaction_ids is None else json_text(row.get(self.transaction_ids))
        id = id_text(row.get(self.id or "id")) or _digest(value, ids)
        return _Row(id, value, {name: row[name] for name in self.keep}, ids)


def _digest(value: bytes, transaction_ids: str | None) -> str:
    return "sha256:" + hashlib.sha256(value + (transaction_ids or "").encode()).hexdigest()


def _iterator(values: Any, name: str) -> Iterator[Any]:
    """Returns an iterator, unless this is one value, or a table whose iterator yields columns."""
    is_one = isinstance(values, (str, Mapping)) or _is_bytes(values)
    if is_one or not isinstance(values, Iterable):
        raise TypeError(f"{name}: one {name_of(values)} instead of several values")
    if hasattr(values, "columns"):
        raise TypeError(f"{name}: {name_of(values)} is a table; pass a column of it to decode_all(), or its rows as dictionaries to migrate()")
    return iter(values)


def _is_bytes(value: Any) -> bool:
    try:
        return memoryview(value).itemsize == 1
    except TypeError:
        return False


def _count(workers: int | None) -> int:
    if workers is None:
        return len(os.sched_getaffinity(0))
    if isinstance(workers, bool):
        raise TypeError("workers is a bool, not a number")
    number = operator.index(workers)
    if not 1 <= number <= MAXIMUM_WORKERS:
        raise ValueError(f"workers is {number}, not a number from 1 to {MAXIMUM_WORKERS}")
    return number
