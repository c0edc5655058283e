#!/usr/bin/env python3
"""Packs the binary and the Python module of Sources/python into a wheel for this platform. Prints its path.

    Tests/Scripts/package/wheel.py .build-static/release/receipt-bridge DIR

The tag has the newest version of the C library of which the binary needs a symbol. The other libraries that the binary needs are not
in the wheel (docs/INSTALLATION.md). The same binary gives the same bytes; SOURCE_DATE_EPOCH is the date of all files.
"""
import base64
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path

from release import ROOT, VERSION as SOURCES, sbom

# PEP 440 knows the versions between releases as `.dev0`.
VERSION = SOURCES.replace("-dev", ".dev0")
METADATA = f"""Metadata-Version: 2.4
Name: receipt-bridge
Version: {VERSION}
Summary: Decodes stored App Store receipts, and replaces the verifyReceipt endpoint for old app versions
Requires-Python: >=3.9
Classifier: Operating System :: POSIX :: Linux
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

`receipt_bridge.decode(receipts)` and `receipt_bridge.migrate(rows)` decode stored receipts; `receipt-bridge` is the whole program. It
needs libcurl, OpenSSL 3 and SQLite of the system: `apt-get install libcurl4 libssl3 libsqlite3-0 ca-certificates`.
"""


def tag(tool):
    """Returns the tag of the platform, for example py3-none-manylinux_2_35_x86_64."""
    symbols = subprocess.run(["readelf", "--version-info", "--wide", tool], capture_output=True, text=True, check=True).stdout
    minor = max(int(version) for version in re.findall(r"\bGLIBC_2\.(\d+)", symbols))
    return f"py3-none-manylinux_2_{minor}_{platform.machine()}"


def main():
    tool, folder = Path(sys.argv[1]), Path(sys.argv[2])
    name = f"receipt_bridge-{VERSION}"
    platform_tag = tag(tool)
    files = {f"receipt_bridge/{file.name}": file.read_bytes() for file in (ROOT / "Sources/python/receipt_bridge").iterdir()
             if file.suffix in (".py", ".typed")}
    files[f"{name}.data/scripts/receipt-bridge"] = tool.read_bytes()
    files[f"{name}.dist-info/METADATA"] = METADATA.encode()
    files[f"{name}.dist-info/WHEEL"] = \
        f"Wheel-Version: 1.0\nGenerator: receipt-bridge ({VERSION})\nRoot-Is-Purelib: false\nTag: {platform_tag}\n".encode()
    files[f"{name}.dist-info/sboms/receipt-bridge.cdx.json"] = json.dumps(sbom(), indent=2).encode()
    record = f"{name}.dist-info/RECORD"
    rows = [f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')},{len(data)}\n"
            for path, data in sorted(files.items())]
    files[record] = "".join([*rows, f"{record},,\n"]).encode()
    # A zip file has no dates before 1980.
    date = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800))[:6]
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{name}-{platform_tag}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, data in sorted(files.items(), key=lambda file: (".dist-info/" in file[0], file[0])):
            info = zipfile.ZipInfo(path, date)
            info.create_system, info.external_attr = 3, (0o100755 if "/scripts/" in path else 0o100644) << 16
            archive.writestr(info, data, zipfile.ZIP_DEFLATED, 9)
    print(wheel)


main()
