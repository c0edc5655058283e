#!/usr/bin/env python3
"""Tests the library and the Python module: installs a wheel into a new environment without a network and without compilers, and
decodes there. The examples for other languages are run too.

    swift build -c release --target ReceiptBridgeLibrary
    Tests/Scripts/package/test_wheel.py .build/release/receipt-bridge [--rows N] [--pandas] [--peer]

The objects of the library are beside the program, which is the reference. --pandas also installs pandas, numpy, pyarrow, polars and
cryptography from PyPI. --peer compares the time of a receipt with that of apple-purchase-receipt-verifier from PyPI.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
ROOT = PACKAGE.parents[2]
sys.path.append(str(PACKAGE.parent / "support"))
import simulated

PEER = "apple-purchase-receipt-verifier==0.12.0"
EXPORTS = {"receipt_bridge_decode", "receipt_bridge_decode_all", "receipt_bridge_free", "receipt_bridge_version"}
MAXIMUM_SIZE = 15_000_000


def expect(condition, text):
    if not condition:
        sys.exit(f"wheel: FAILED: {text}")
    print(f"wheel: {text}", flush=True)


def output(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, **options).stdout


def check_library(folder):
    """Checks the file, and the examples that use it."""
    library = folder / "libreceipt_bridge.so"
    symbols = [line.split() for line in output("objdump", "-T", library).splitlines() if ".text" in line or "*UND*" in line]
    expect({line[-1] for line in symbols if ".text" in line} == EXPORTS, "only the functions of the header are exported")
    size = os.path.getsize(library)
    expect(size < MAXIMUM_SIZE, f"{library.name}: {size:,} bytes")
    receipt = next((ROOT / "Receipts").rglob("*.b64")).read_text()
    compilers = {"c": ["cc", "-Wall", "-Werror", "-I", folder, ROOT / "docs/examples/library/decode.c", "-L", folder, f"-Wl,-rpath,{folder}",
                       "-l", "receipt_bridge", "-o", folder / "decode_c"],
                 "rs": ["rustc", ROOT / "docs/examples/library/decode.rs", "-L", folder, "-C", f"link-arg=-Wl,-rpath,{folder}",
                        "-o", folder / "decode_rs"]}
    printed = {}
    for language, command in compilers.items():
        if shutil.which(command[0]) is None or subprocess.run([command[0], "--version"], capture_output=True).returncode:
            print(f"wheel: SKIPPED decode.{language}, because there is no {command[0]}")
            continue
        subprocess.run(command, check=True)
        printed[language] = output(folder / f"decode_{language}", input=receipt).strip()
        expect('"kind":"appReceipt"' in printed[language] or '"kind":"transactionReceipt"' in printed[language], f"decode.{language}")
    expect(len(set(printed.values())) == 1, "the examples print the same")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--pandas", action="store_true")
    parser.add_argument("--peer", action="store_true")
    arguments = parser.parse_args()
    tool = Path(arguments.tool).resolve()
    with tempfile.TemporaryDirectory(prefix="wheel-") as name:
        folder = Path(name)
        wheel = output(sys.executable, PACKAGE / "wheel.py", tool.parent, folder).strip()
        print(f"wheel: {Path(wheel).name}, {os.path.getsize(wheel):,} bytes")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder / "contents")
        check_library(folder / "contents/receipt_bridge")
        venv.create(folder / "venv", with_pip=True)
        bin = folder / "venv/bin"
        pip = [bin / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--no-index", wheel], check=True)
        libraries = ["pandas", "numpy", "pyarrow", "polars", "cryptography"] * arguments.pandas + [PEER] * arguments.peer
        if libraries:
            subprocess.run([*pip, "--only-binary", ":all:", *libraries], check=True)
        simulated.write(tool, folder / "state", 300)
        # Without the folders of compilers and of an installed receipt-bridge.
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")} | {"PATH": str(bin)}
        for script in ["wheel_values.py", "wheel_results.py", "wheel_processes.py"]:
            subprocess.run([bin / "python", "-W", "error", "-W", "ignore::DeprecationWarning", PACKAGE / script, tool,
                            folder / "state", str(arguments.rows)], check=True, cwd=folder, env=environment)


if __name__ == "__main__":
    main()
