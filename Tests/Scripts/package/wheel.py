#!/usr/bin/env python3
"""Packs the library and the Python module of Sources/python into a wheel for this platform. Prints its path.

    swift build -c release --target ReceiptBridgeLibrary
    Tests/Scripts/package/wheel.py .build/release DIR

The tag has the newest version of the C library of which the library needs a symbol. The same objects give the same bytes;
SOURCE_DATE_EPOCH is the date of all files.
"""
import base64
import hashlib
import json
import os
import platform
import shutil
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from components import ROOT, component, sbom, swift_runtime
from library import SOURCES, link, needs, openssl_version, version

# PEP 440 knows the versions between releases as `.dev0`.
VERSION = version().replace("-dev", ".dev0")
MODULE = ROOT / "Sources/python/receipt_bridge"
# Libraries that PEP 600 allows a wheel to expect.
SYSTEM = {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
# The licences of what is in the library, from this machine.
LICENSES = {
    "swift.txt": Path(shutil.which("swiftc") or "/").resolve().parents[1] / "share/swift/LICENSE.txt",
    "openssl.txt": Path("/usr/share/doc/libssl-dev/copyright"),
}
METADATA = f"""Metadata-Version: 2.4
Name: receipt-bridge
Version: {VERSION}
Summary: Decodes App Store receipts and signed data, and checks whether they are authentic
Requires-Python: >=3.9
Classifier: Operating System :: POSIX :: Linux
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

`receipt_bridge.decode(receipt)`, `receipt_bridge.decode_all(receipts)` and `receipt_bridge.migrate(rows)` decode receipts in this
process. The wheel needs nothing but Python. `libreceipt_bridge.so` and `receipt_bridge.h` are for other languages.
"""


def tag(library):
    """Returns the tag of the platform, for example py3-none-manylinux_2_34_x86_64."""
    libraries, version = needs(library)
    if more := set(libraries) - SYSTEM:
        sys.exit(f"wheel: {library} needs {' '.join(sorted(more))}")
    return f"py3-none-manylinux_{'_'.join(map(str, version))}_{platform.machine()}"


def parts():
    """Returns the components of the library."""
    openssl = openssl_version()
    return [swift_runtime(), component("openssl", openssl, "Apache-2.0", f"pkg:generic/openssl@{openssl}")]


def contents(build):
    """Returns the files of the wheel by their paths, and the tag."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "libreceipt_bridge.so")
        link(build, library)
        platform_tag = tag(library)
        files = {file: file.read_bytes() for file in [library, SOURCES / "receipt_bridge.h", *MODULE.glob("*.py"), MODULE / "py.typed"]}
    files = {f"receipt_bridge/{file.name}": data for file, data in files.items()}
    information = f"receipt_bridge-{VERSION}.dist-info"
    licenses = {name: path.read_bytes() for name, path in LICENSES.items()}
    head, _, body = METADATA.partition("\n\n")
    lines = "".join(f"\nLicense-File: {name}" for name in licenses)
    files[f"{information}/METADATA"] = f"{head}{lines}\n\n{body}".encode()
    files[f"{information}/WHEEL"] = \
        f"Wheel-Version: 1.0\nGenerator: receipt-bridge ({VERSION})\nRoot-Is-Purelib: false\nTag: {platform_tag}\n".encode()
    files[f"{information}/sboms/receipt-bridge.cdx.json"] = json.dumps(sbom(parts=parts()), indent=2).encode()
    files |= {f"{information}/licenses/{name}": data for name, data in licenses.items()}
    record = f"{information}/RECORD"
    rows = [f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')},{len(data)}\n"
            for path, data in sorted(files.items())]
    files[record] = "".join([*rows, f"{record},,\n"]).encode()
    return files, platform_tag


def main():
    files, platform_tag = contents(sys.argv[1])
    # A zip file has no dates before 1980.
    date = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800))[:6]
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"receipt_bridge-{VERSION}-{platform_tag}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, data in sorted(files.items(), key=lambda file: (".dist-info/" in file[0], file[0])):
            info = zipfile.ZipInfo(path, date)
            info.create_system, info.external_attr = 3, 0o100644 << 16
            archive.writestr(info, data, zipfile.ZIP_DEFLATED, 9)
    print(wheel)


if __name__ == "__main__":
    main()
