"""The calls of libreceipt_bridge.so (receipt_bridge.h). They release the lock of the interpreter."""
from __future__ import annotations

import base64
import ctypes
import functools
import json
import os
import re
from collections.abc import Sequence
from typing import Any

_PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libreceipt_bridge.so")
_library = ctypes.CDLL(_PATH)
_decode = _library.receipt_bridge_decode
_decode.argtypes, _decode.restype = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p], ctypes.c_void_p
_decode_all = _library.receipt_bridge_decode_all
_decode_all.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
_decode_all.restype = ctypes.c_void_p
_library.receipt_bridge_version.restype = ctypes.c_char_p
# To release memory is too short for a release of the interpreter's lock.
_free = ctypes.PyDLL(_PATH).receipt_bridge_free
_free.argtypes, _free.restype = [ctypes.c_void_p], None

# PEP 440 knows the versions between releases as `.dev0`.
__version__: str = _library.receipt_bridge_version().decode().replace("-dev", ".dev0")

PEM = re.compile(rb"-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----", re.S)


class ReceiptBridgeError(Exception):
    """Certificates that cannot be used. Refused receipts are results."""

    def __init__(self, code: str, reason: str):
        """
        Arguments:
            code: For programs: `badOptions` or `unavailable`.
            reason: A sentence for people, without data of receipts."""
        super().__init__(code, reason)
        self.code, self.reason = code, reason

    def __str__(self) -> str:
        return f"{self.code}: {self.reason}"


def call(value: bytes, options: bytes | None) -> Any:
    """Returns the result of a value."""
    return _checked([_json(_decode(value, len(value), options))])[0]


def call_all(values: Sequence[bytes], options: Sequence[bytes | None]) -> list[Any]:
    """Returns the results of values, each with its options. One call costs less than many: the lock of the interpreter is released once."""
    count = len(values)
    texts, lengths = ctypes.c_char_p * count, ctypes.c_size_t * count
    return _checked(_json(_decode_all(texts(*values), lengths(*map(len, values)), texts(*options), count)))


def _json(pointer: int | None) -> Any:
    """Returns what the library has returned, and releases it."""
    if not pointer:
        raise MemoryError
    try:
        text = ctypes.string_at(pointer)
    finally:
        _free(pointer)
    return json.loads(text.decode())


def _checked(results: list[Any]) -> list[Any]:
    for result in results:
        if "error" in result:
            raise ReceiptBridgeError(**result["error"])
    return results


class Certificates:
    """Certificates that are trusted in addition to Apple's, as the options of calls."""

    def __init__(self, encodings: list[bytes]):
        texts = [base64.b64encode(der).decode() for der in encodings]
        self.member = f'"certificates":{json.dumps(texts)},' if texts else ""
        if texts:
            call(b"", self.options())

    def options(self, purchases: bool = True, transaction_ids: str | None = None) -> bytes | None:
        """Returns the options of a call; `transaction_ids` is JSON."""
        ids = "" if transaction_ids is None else f'"transactionIds":{transaction_ids},'
        if purchases and not ids and not self.member:
            return None
        return f'{{{self.member}{ids}"purchases":{str(purchases).lower()}}}'.encode()


APPLE = Certificates([])


def certificates(roots: str | os.PathLike[str] | None) -> Certificates:
    """Returns the certificates of a folder, or of a file; those of Apple alone without one."""
    return APPLE if roots is None else _certificates(os.fspath(roots))


@functools.lru_cache
def _certificates(roots: str) -> Certificates:
    """Reads certificates. The simulator writes `intermediates` beside its roots, which need not exist."""
    found = _read(roots)
    if not found:
        raise ReceiptBridgeError("badOptions", f"no certificate in {roots}")
    beside = os.path.join(os.path.dirname(os.path.abspath(roots)), "intermediates")
    return Certificates(found + (_read(beside) if os.path.isdir(beside) else []))


def _read(path: str) -> list[bytes]:
    """Returns the certificates in DER: of the files with the extensions cer, crt, der and pem, or of one file."""
    if os.path.isdir(path):
        names = sorted(name for name in os.listdir(path) if name.rpartition(".")[2] in ("cer", "crt", "der", "pem"))
        return [der for name in names for der in _read(os.path.join(path, name))]
    with open(path, "rb") as file:
        data = file.read()
    return [base64.b64decode(block) for block in PEM.findall(data)] or [data]
