#!/usr/bin/env python3
"""Links libreceipt_bridge.so from the objects of a release build, which need not be static. Prints its size and what it needs.

    swift build -c release --target ReceiptBridgeLibrary
    Tests/Scripts/package/library.py .build/release libreceipt_bridge.so

Swift's runtime and OpenSSL are inside with hidden symbols, so that a process can have others: only the functions of receipt_bridge.h
are exported. The same objects give the same bytes.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from components import ROOT, VERSION as RELEASE

SOURCES = ROOT / "Sources/Library"
MODULES = ["ReceiptBridge" + name for name in ("Base", "Cryptography", "Receipts", "Responses", "Library")]
# The compiler with which SwiftPM compiles C.
CLANG = str(Path(shutil.which("swiftc") or "/usr/bin/swiftc").resolve().parent / "clang")
EXPORTS = "{ global: receipt_bridge_decode; receipt_bridge_decode_all; receipt_bridge_free; receipt_bridge_version; local: *; };\n"


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def version():
    """Returns the version. Between releases every commit has its own."""
    if not RELEASE.endswith("-dev"):
        return RELEASE
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True).stdout.strip()
    return RELEASE + (f"+g{commit}" if commit else "")


def current_objects(folder):
    """Returns the objects of a module. Those of sources that no longer exist stay in the folder, but not in its map."""
    outputs = json.loads((folder / "output-file-map.json").read_text())
    # The entry without a source is the module.
    return sorted(folder / Path(output["object"]).name for source, output in outputs.items() if source)


def link(build, library):
    """Links the library from the objects in the folder of a build."""
    folders = [Path(build) / f"{module}.build" for module in MODULES]
    if not (folders[-1] / "Exports.swift.o").exists():
        sys.exit(f"library: {build} has no objects of ReceiptBridgeLibrary: swift build -c release --target ReceiptBridgeLibrary")
    objects = [object for folder in folders for object in current_objects(folder)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "exports").write_text(EXPORTS)
        # The linker takes the first folder that has the library: here only the static one.
        static = output(CLANG, "-print-file-name=libcrypto.a").strip()
        if not os.path.isabs(static):
            sys.exit("library: libcrypto.a is missing: apt-get install libssl-dev")
        (folder / "libcrypto.a").symlink_to(static)
        subprocess.run([CLANG, "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-fvisibility=hidden", "-fno-math-errno",
                        f'-DRECEIPT_BRIDGE_VERSION="{version()}"', "-c", SOURCES / "receipt_bridge.c", "-o", folder / "receipt_bridge.o"], check=True)
        options = ["--gc-sections", f"--version-script={folder}/exports", "-Bsymbolic", "--exclude-libs=ALL", "-z", "nodelete",
                   "-z", "now", "-z", "relro", "--as-needed", "-s", "--build-id=none", "-soname=libreceipt_bridge.so"]
        # The compiler writes a file beside the first object.
        linked = subprocess.run(["swiftc", "-emit-library", "-static-stdlib", "-use-ld=lld", "-L", folder, folder / "receipt_bridge.o", *objects,
                        "-o", library, *(part for option in options for part in ("-Xlinker", option))])
        if linked.returncode:
            sys.exit("library: the objects cannot be linked")
        # Digests of the modules, which nothing reads at run time, and which vary although the code is the same (.ci/release).
        size = int(re.search(r"\.swift_modhash\s+PROGBITS\s+\w+ \w+ (\w+)", output("readelf", "--sections", "--wide", library)).group(1), 16)
        (folder / "zeros").write_bytes(bytes(size))
        subprocess.run(["objcopy", "--update-section", f".swift_modhash={folder}/zeros", library], check=True)


def needs(library):
    """Returns the libraries of the system that the library needs, and the newest version of glibc."""
    dynamic = output("readelf", "--dynamic", "--version-info", "--wide", library)
    versions = [tuple(map(int, version.split("."))) for version in re.findall(r"\bGLIBC_([\d.]+)", dynamic)]
    return re.findall(r"NEEDED.*\[(.*?)\]", dynamic), max(versions)


def openssl_version():
    """Returns the version of OpenSSL that is linked."""
    macros = output(CLANG, "-dM", "-E", "-include", "openssl/opensslv.h", "-x", "c", os.devnull)
    return re.search(r'#define OPENSSL_FULL_VERSION_STR "(.*?)"', macros).group(1)


def main():
    link(*sys.argv[1:3])
    libraries, version = needs(sys.argv[2])
    size = os.path.getsize(sys.argv[2])
    # ICU alone has 40 MB. It comes with Foundation's text functions, for example CharacterSet; FoundationEssentials does not need it.
    if size > 15_000_000 or version > (2, 34):
        sys.exit(f"library: {size:,} bytes with glibc {version}: a source needs more of Foundation than FoundationEssentials")
    print(f"library: {size:,} bytes, glibc {'.'.join(map(str, version))}, {' '.join(libraries)}")


if __name__ == "__main__":
    main()
