"""Decodes stored App Store receipts with the program receipt-bridge, which this package contains.

    for result in receipt_bridge.migrate(rows, receipt_column="receipt_b64", id_column="user_id"):
        print(result["id"], result["outcome"], result["originalTransactionIds"])

A result has the columns of `receipt-bridge migrate - --to -`, which docs/MIGRATION.md describes. A row that is not an authentic receipt
is a result too: its `outcome` is `refused`, and `reason` has the cause. Only the failure of the program is an exception.
"""
from __future__ import annotations

import base64
import fcntl
import json
import math
import os
import queue
import shutil
import subprocess
import sysconfig
import tempfile
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import IO, Any, Union

__all__ = ["ReceiptBridgeError", "decode", "executable", "migrate"]

# A batch ends at either limit. The program decodes batches of 64 rows.
BATCH_ROWS, BATCH_BYTES = 64, 1 << 20
# Characters that JSON escapes. To search for each is much faster than to escape a text that has none.
ESCAPED = ('"', "\\", *map(chr, range(32)))
F_SETPIPE_SZ = 1031

Path = Union[str, "os.PathLike[str]"]


class ReceiptBridgeError(Exception):
    """The program failed. Its messages never contain receipts."""

    def __init__(self, exit_code: int, stderr: str):
        """
        Arguments:
            exit_code: 2: a usage error, or certificates or a configuration that cannot be read; 3: stopped; negative: a signal.
            stderr: The last lines of what the program said."""
        super().__init__(exit_code, stderr)
        self.exit_code, self.stderr = exit_code, stderr

    def __str__(self) -> str:
        ending = f"ended with exit code {self.exit_code}" if self.exit_code >= 0 else f"was ended by signal {-self.exit_code}"
        return f"receipt-bridge {ending}" + (f": {self.stderr}" if self.stderr else "")


def executable() -> str:
    """Returns the path of the program, which pip installs with the scripts of an environment.

    Raises FileNotFoundError."""
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", "posix_user"),
               os.path.join(os.path.dirname(os.path.dirname(__file__)), "bin"), os.environ.get("PATH", os.defpath)]
    path = shutil.which("receipt-bridge", path=os.pathsep.join(folders))
    if path is None:
        raise FileNotFoundError("receipt-bridge is not in " + ", ".join(folders))
    return path


def decode(receipts: Iterable[Any], *, roots: Path | None = None, config: Path | None = None,
           workers: int | None = None) -> Iterator[dict[str, Any]]:
    """Decodes receipts, each of them a text, bytes, or the JSON that contains it, and yields a dictionary for each, in order, as
    migrate() does, but without an id."""
    for result in migrate(({"receipt": receipt} for receipt in receipts), roots=roots, config=config, workers=workers):
        del result["id"]
        yield result


def migrate(rows: Iterable[Mapping[str, Any]], *, receipt_column: str = "receipt", id_column: str = "id", keep: Sequence[str] = (),
            transaction_id_column: str | None = None, roots: Path | None = None, config: Path | None = None, workers: int | None = None) -> Iterator[dict[str, Any]]:
    """Decodes rows, and yields a dictionary for each, in order.

    The program runs while the generator does. Rows are read in the thread of the caller, at most some hundred in advance, so memory
    does not depend on their number. Because they are passed on in batches, `rows` must not wait for results.

    Arguments:
        rows: Dictionaries. Columns that are not named are ignored.
        receipt_column: The column with a text, bytes, or the JSON that contains a receipt. None and NaN count as empty.
        id_column: The column with the id. A row without it gets the digest of its line as the id.
        transaction_id_column: A column with transaction ids, which are in `unverifiedIds`. A row need not have it.
        keep: Columns that results have too. If a result has a column of that name itself, that one counts.
        roots: A folder of test root certificates to trust in addition to Apple's.
        config: A configuration file, for its certificates only.
        workers: The number of batches that are decoded at a time; the default is one for each core.

    Raises:
        ReceiptBridgeError: The program failed.
        KeyError: A row has no column `receipt_column`, or lacks one of `keep`.
        Exception: Whatever `rows` raises."""
    command = [executable(), "migrate", "-", "--to", "-", "--quiet", "--receipt-column", "receipt", "--id-column", "id"]
    ids_key = None if transaction_id_column is None else "transactionId"
    for option, value in [("--transaction-id-column", ids_key), ("--roots", roots), ("--config", config), ("--workers", workers)]:
        if value is not None:
            command += [option, str(value)]
    # Enough that each worker has a batch and the next one is ready.
    in_flight = 2 * (workers or os.cpu_count() or 1) + 4
    unread: deque[list[dict[str, Any]]] = deque()
    with tempfile.TemporaryFile() as stderr:
        program = _Program(command, stderr)
        try:
            for data, kept in _batches(iter(rows), receipt_column, id_column, transaction_id_column, keep):
                program.batches.put(data)
                unread.append(kept)
                if len(unread) > in_flight:
                    yield from program.results(unread.popleft())
            program.batches.put(None)
            for kept in unread:
                yield from program.results(kept)
            program.finish()
        finally:
            program.end()


class _Program:
    """A running filter, and the thread that writes its input."""

    def __init__(self, command: list[str], stderr: IO[bytes]):
        self.stderr = stderr
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, bufsize=1 << 17)
        assert self.process.stdin and self.process.stdout
        self.input, self.output = self.process.stdin, self.process.stdout
        try:
            fcntl.fcntl(self.input, F_SETPIPE_SZ, 1 << 20)
        except OSError:
            pass
        self.batches: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.writer = threading.Thread(target=self.write, daemon=True)
        self.writer.start()

    def write(self) -> None:
        """Writes batches until the last one. If the program has ended, who reads its output reports that."""
        try:
            with self.input:
                while (batch := self.batches.get()) is not None:
                    self.input.write(batch)
                    self.input.flush()
        except OSError:
            pass

    def results(self, kept: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yields the results of a batch, each with the columns that are kept of its row."""
        parse, read = json.JSONDecoder().raw_decode, self.output.readline
        for columns in kept:
            line = read()
            if not line.endswith(b"\n"):
                raise self.failure()
            result: dict[str, Any] = parse(line.decode())[0]
            yield {**columns, **result} if columns else result

    def finish(self) -> None:
        """Waits for the end of the program."""
        if self.output.read(1) or self.process.wait():
            raise self.failure()

    def failure(self) -> ReceiptBridgeError:
        self.process.wait()
        self.stderr.seek(max(os.fstat(self.stderr.fileno()).st_size - 4096, 0))
        lines = self.stderr.read().decode(errors="replace").strip().splitlines()
        return ReceiptBridgeError(self.process.returncode, "\n".join(lines[-5:]).removeprefix("receipt-bridge: "))

    def end(self) -> None:
        """Ends the program if it still runs, and the thread."""
        self.process.kill()
        self.process.wait()
        self.batches.put(None)
        self.writer.join()
        self.output.close()


def _batches(rows: Iterator[Mapping[str, Any]], receipt_column: str, id_column: str, transaction_id_column: str | None,
             keep: Sequence[str]) -> Iterator[tuple[bytes, list[dict[str, Any]]]]:
    """Yields batches: lines of JSON, and the columns to keep of each row."""
    while True:
        lines: list[str] = []
        kept: list[dict[str, Any]] = []
        size = 0
        for row in islice(rows, BATCH_ROWS):
            ids = "" if transaction_id_column is None else f',"transactionId":{_receipt(row.get(transaction_id_column))}'
            line = f'{{"id":{_id(row.get(id_column))},"receipt":{_receipt(row[receipt_column])}{ids}}}\n'
            lines.append(line)
            kept.append({name: row[name] for name in keep})
            size += len(line)
            if size >= BATCH_BYTES:
                break
        if not lines:
            return
        yield "".join(lines).encode(), kept


def _receipt(value: Any) -> str:
    """Returns the JSON of a receipt, or of transaction ids. A float is one in pandas if other rows have none."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        value = bytes(value)
        value = (value if value.isascii() else base64.b64encode(value)).decode()
    if isinstance(value, str):
        return _text(value)
    is_number = isinstance(value, int) or isinstance(value, float) and math.isfinite(value)
    return json.dumps(value, default=str) if is_number or isinstance(value, (dict, list)) else "null"


def _id(value: Any) -> str:
    """Returns the JSON of an id."""
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, (dict, list, int)):
        return json.dumps(value, default=str)
    return "null" if str(value) in ("nan", "<NA>", "NaT") else _text(str(value))


def _text(value: str) -> str:
    if value.isascii():
        for character in ESCAPED:
            if character in value:
                break
        else:
            return f'"{value}"'
    return json.dumps(value)
