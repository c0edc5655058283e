"""Values of Python, pandas, numpy, pyarrow and polars as the library takes them."""
from __future__ import annotations

import base64
import json
import math
import uuid
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

# The types of missing values of pandas and numpy, whose modules vary.
MISSING = {"NAType", "NaTType", "MaskedConstant"}
# Larger floats have lost digits of a whole number.
EXACT = 1 << 53


def name_of(value: Any) -> str:
    """Returns the name of the type, for messages."""
    module, name = type(value).__module__, type(value).__qualname__
    return name if module == "builtins" else f"{module}.{name}"


def stored_bytes(value: Any) -> bytes:
    """Returns the bytes of a receipt, empty if there is none."""
    if isinstance(value, str):
        return value.encode(errors="surrogatepass")
    if isinstance(value, bytes):
        return value
    plain = _plain(value)
    if plain is None:
        return b""
    if isinstance(plain, (str, bytes)):
        return stored_bytes(plain)
    if isinstance(plain, (Mapping, list, int, float, Decimal)) and not isinstance(plain, bool):
        return json_text(plain).encode()
    raise TypeError(f"{name_of(value)} cannot be a receipt: a text, bytes, or a dictionary or list of JSON is expected")


def id_text(value: Any) -> str | None:
    """Returns an id; None if there is none."""
    if isinstance(value, str):
        return value or None
    plain = _plain(value)
    if isinstance(plain, (float, Decimal)) and plain == int(plain) and (isinstance(plain, Decimal) or abs(plain) < EXACT):
        plain = int(plain)
    if plain is None or isinstance(plain, str):
        return plain or None
    if isinstance(plain, int) and not isinstance(plain, bool):
        return str(plain)
    # The form of UUIDs and of the ids of MongoDB is defined by their classes.
    if isinstance(plain, uuid.UUID) or type(plain).__name__ == "ObjectId":
        return str(plain)
    # The forms in exports of MongoDB and DynamoDB: {"$oid": "5f…"}, {"N": "7"}.
    if isinstance(plain, dict) and len(plain) == 1:
        (name, only), = plain.items()
        if isinstance(name, str) and (name.startswith("$") or name in ("S", "N")) and not isinstance(only, dict):
            return id_text(only)
    raise TypeError(f"{name_of(value)} cannot be an id: a text, a whole number that is exact, or a UUID is expected"
                    + (" (value.hex() is a text)" if isinstance(plain, bytes) else ""))


def json_text(value: Any) -> str:
    """Returns JSON. NaN, infinity and the missing values of pandas are null."""
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return json.dumps(_json(value), allow_nan=False)


def _json(value: Any) -> Any:
    value = _plain(value)
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else str(key): _json(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(element) for element in value]
    if isinstance(value, bytes):
        return (value if value.isascii() else base64.b64encode(value)).decode()
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else str(value)
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    # Other values beside a receipt, for example dates, are never ids.
    return str(value)


def _plain(value: Any) -> Any:
    """Returns the value of Python that a scalar or a buffer of a library stands for; None for a missing one."""
    if isinstance(value, (float, Decimal)):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (str, bytes, int, dict, list, tuple)):
        return value
    if type(value).__name__ in MISSING:
        return None
    # A scalar of pyarrow.
    if callable(as_py := getattr(value, "as_py", None)):
        return _plain(as_py())
    # A scalar of numpy; `V` are bytes, or the fields of a structure. An array of bytes is one value.
    if (dtype := getattr(value, "dtype", None)) is not None and getattr(value, "shape", None) == ():
        return value.tobytes() if dtype.kind == "V" and dtype.names is None else _plain(value.item())
    try:
        view = memoryview(value)
    except TypeError:
        return value
    return view.tobytes() if view.format in ("B", "b", "c") and view.ndim <= 1 else value
