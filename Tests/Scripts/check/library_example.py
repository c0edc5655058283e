#!/usr/bin/env python3
"""Builds docs/examples/receipt-route, which uses the library as another package would, and compares its responses with Receipts/.

The build has a folder of its own. It must have none of the server's dependencies that the example does not name, and the program
must not load their libraries.
"""
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "docs/examples/receipt-route"
SCRATCH = ROOT / ".build/example"
SERVER_ONLY = {"grdb.swift", "yams", "swift-argument-parser"}
SERVER_LIBRARIES = ["libcurl", "libsqlite3", "libpq"]
CASES = ["app-receipt-active", "app-receipt-vpp", "tampered", "foreign-root", "app-receipt-sandbox"]


def build():
    """Builds the program with the versions that the server was built with, if it was, and returns its path."""
    if (ROOT / "Package.resolved").exists():
        shutil.copy(ROOT / "Package.resolved", EXAMPLE)
    command = [os.environ.get("SWIFT", "swift"), "build", "--package-path", EXAMPLE, "--scratch-path", SCRATCH]
    subprocess.run([ROOT / "Tests/Scripts/check/build.sh", *command], check=True)
    return SCRATCH / "debug/receipt-route"


def dependencies(program):
    """Returns what the library brought although only the server needs it."""
    state = json.loads((SCRATCH / "workspace-state.json").read_text())
    fetched = {dependency["packageRef"]["identity"] for dependency in state["object"]["dependencies"]}
    loaded = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    return [f"fetched {name}" for name in fetched & SERVER_ONLY] + [f"loads {name}" for name in SERVER_LIBRARIES if name in loaded]


def answer(port, body):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/verifyReceipt", body)
    response = connection.getresponse()
    return json.loads(response.read())


def undated(response):
    """Returns a response without the time of the request."""
    for name in [name for name in response.get("receipt", {}) if name.startswith("request_date")]:
        del response["receipt"][name]
    return response


def main():
    program = build()
    problems = dependencies(program)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    roots = sorted((ROOT / "Receipts/roots").iterdir())
    with subprocess.Popen([program, *roots], env=os.environ | {"PORT": str(port)}, stderr=subprocess.DEVNULL) as server:
        try:
            for attempt in range(600):
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.1)
            for name in CASES:
                folder = ROOT / "Receipts" / name
                found = undated(answer(port, (folder / "request.json").read_bytes()))
                expected = {"status": 21007} if name == "app-receipt-sandbox" else undated(json.loads((folder / "answer.json").read_text()))
                if found != expected:
                    problems.append(f"{name}: {json.dumps(found)[:200]} instead of {json.dumps(expected)[:200]}")
        finally:
            server.terminate()
    print("\n".join(problems) or f"example: {len(CASES)} receipts are answered as documented")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
