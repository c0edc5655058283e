#!/usr/bin/env python3
"""Checks that Tests/threats.md lists the tests of each threat, and nothing else.

    python3 Tests/Scripts/check/threats.py             compares
    python3 Tests/Scripts/check/threats.py --record    writes them

A test is of a threat if a comment directly before it, or before its suite, begins with the threat's number:

    // T3, T17: what follows is for readers
    @Test("A receipt with one changed bit is rejected")

A suite stands for its tests, and is listed by its name. A file in another language, or without such comments, stays as it is listed while it exists.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
DOCUMENT = ROOT / "Tests/threats.md"
MARK = re.compile(r"^ *///? ((?:T\d+(?:, )?)+)(?:[:.]|$)")
NAME = re.compile(r'@(?:Test|Suite)\(\s*"((?:[^"\\]|\\.)*)"')
ROW = re.compile(r"^(\| T(\d+) \| )([^|]*)( \|)$")


def marked():
    """Returns the tests of each threat as (file, name), in the order of the files, and the files with marks."""
    tests, files = {}, set()
    for file in sorted((ROOT / "Tests").rglob("*.swift"), key=lambda file: (file.name, str(file))):
        lines = file.read_text().split("\n")
        for index, line in enumerate(lines):
            mark = MARK.match(line)
            if not mark:
                continue
            name = NAME.search("\n".join(lines[index + 1:index + 12]))
            if not name:
                sys.exit(f"{file.relative_to(ROOT)}:{index + 1}: no test follows")
            files.add(file.name)
            for number in re.findall(r"\d+", mark[1]):
                found = tests.setdefault(int(number), {}).setdefault(file.name, [])
                if name[1] not in found:
                    found.append(name[1])
    return tests, files


def column(tests, files, old):
    """Returns the text of the column: the marked tests, then what `old` lists of other files."""
    parts = [f"`{name}`: " + ", ".join(f'"{test}"' for test in names) for name, names in tests.items()]
    for part in re.split(r"; (?=`[\w+.]+\.\w+`)", old):
        name = re.match(r"`([\w+.]+)`", part)
        if name and name[1] not in files and list((ROOT / "Tests").rglob(name[1])):
            parts.append(part)
    return "; ".join(parts)


def main():
    tests, files = marked()
    lines, stale, missing, rows = DOCUMENT.read_text().split("\n"), [], [], 0
    for index, line in enumerate(lines):
        row = ROW.match(line)
        if not row:
            continue
        rows += 1
        listed = column(tests.pop(int(row[2]), {}), files, row[3])
        if not listed:
            missing.append(f"T{row[2]}")
        text = row[1] + listed + row[4]
        if text != line:
            stale.append(f"T{row[2]}")
            lines[index] = text
    if not rows or not files:
        sys.exit(f"threats: {rows} threats in docs/threat-model.md, {len(files)} files of tests that name one")
    if tests:
        sys.exit(f"threats: tests name threats that {DOCUMENT.name} has not: {sorted(tests)}")
    if missing:
        sys.exit(f"threats: no test names {', '.join(missing)}")
    if stale and "--record" in sys.argv:
        DOCUMENT.write_text("\n".join(lines))
    elif stale:
        sys.exit(f"threats: stale: {', '.join(stale)}. Run Tests/Scripts/check/threats.py --record")
    print(f"threats: {rows} list their tests")


main()
