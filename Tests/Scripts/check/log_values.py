#!/usr/bin/env python3
"""Checks that numbers and booleans in the log's JSON are not texts: `"count": "\\(count)"` is a text, `.stringConvertible(count)` is not.

    python3 Tests/Scripts/check/log_values.py

The type of a value cannot be seen in the source, so the keys of texts are listed here. Every other key must have `.stringConvertible`,
and a key has the same kind of value everywhere.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# Also ids that have digits only: they are names, and may exceed what JSON readers keep of a number.
TEXTS = set("""
    address apps as asked bundleId by changed code environment finding first from host key keyId keys level member message method
    nested notificationUUID outcome path reason requestId result route source state subtype time to type url waitsFor
""".split())
# A pair of a metadata dictionary, and an assignment to one of its keys. The value is up to the next comma or line.
PAIR = re.compile(r'(?:"([\w.]+)":|metadata\["([\w.]+)"\] =)\s*("|\.stringConvertible\()')


def main():
    found, pairs = [], 0
    for file in sorted((ROOT / "Sources").rglob("*.swift")):
        text = file.read_text()
        if not re.search(r"\bLogg(?:er|ing)\b|\blogger\b", text):
            continue
        for match in PAIR.finditer(text):
            key, isText = match[1] or match[2], match[3] == '"'
            pairs += 1
            if isText != (key in TEXTS):
                line = text.count("\n", 0, match.start()) + 1
                expected = "text, see TEXTS" if key in TEXTS else ".stringConvertible, or a key of TEXTS"
                found.append(f"{file.relative_to(ROOT)}:{line}: {key}: expected {expected}")
    if not pairs:
        found.append("no log call was found")
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
