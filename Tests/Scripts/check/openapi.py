#!/usr/bin/env python3
"""Tests the running server against its OpenAPI document, docs/openapi.json, with generated valid and invalid requests.

Requests are sent to both listeners of a server in front of the simulated App Store: to the public listener with a token, to the
operations listener without one. Needs PyPI. Every response must have a status, a Content-Type, headers and a body that the document declares,
and none may be a server error.

    python3 Tests/Scripts/check/openapi.py --tool .build/release/receipt-bridge
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import urllib.request

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from measuring import free_port, start, stop
import packages

CHECKS = ("not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
          "response_schema_conformance")
TOKEN = "Zm9ydHktdHdvIGJ5dGVz"


def schemathesis(base, paths, *more):
    """Tests the given paths of a listener with the document that it serves."""
    if not paths:
        sys.exit(f"the document of {base} has no such paths")
    wanted = [option for path in paths for option in ("--include-path", path)]
    return subprocess.run(
        [program("schemathesis"), "run", base + "/openapi.json", "--url", base, "--checks", CHECKS, "--phases", "examples,coverage,fuzzing",
         "--seed", "7", "--generation-database", "none", "--max-examples", "60", "--request-timeout", "20",
         "--warnings", "off", *wanted, *more]).returncode


def program(name):
    return os.path.join(sys.prefix, "bin", name)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True)
    arguments = parser.parse_args()
    packages.use("openapi", "schemathesis==4.32.5", "openapi-spec-validator==0.9.0")
    subprocess.run([program("openapi-spec-validator"), os.path.join(packages.ROOT, "docs/openapi.json")], check=True)
    running = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            simulator, _ = start(
                [arguments.tool, "simulate", "--listen", "127.0.0.1:0", "--state", folder, "--seed", "7"],
                "simulated App Store at")
            running.append(simulator)
            configuration = os.path.join(folder, "receipt-bridge.yaml")
            operations = f"127.0.0.1:{free_port()}"
            with open(os.path.join(folder, "token.txt"), "w") as file:
                file.write(TOKEN)
            with open(configuration, "a") as file:
                file.write(f"\noperations: {{listen: '{operations}'}}\ntokens: [{{file: token.txt}}]\n"
                           "store: sqlite:bridge.sqlite\n")
            server, public = start(
                [arguments.tool, "serve", "--config", configuration, "--listen", "127.0.0.1:0"], "listening on")
            running.append(server)
            document = json.load(urllib.request.urlopen(f"http://{operations}/openapi.json"))
            paths = list(document["paths"])
            old = [path for path in paths if path.endswith("verifyReceipt") or path == "/v1/notifications"]
            bearer = ["-H", f"Authorization: Bearer {TOKEN}"]
            failed = schemathesis(public, paths, *bearer)
            failed |= schemathesis(f"http://{operations}", [path for path in paths if path not in old])
            sys.exit(1 if failed else 0)
        finally:
            for process in reversed(running):
                stop(process)


if __name__ == "__main__":
    main()
