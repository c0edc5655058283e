#!/usr/bin/env python3
"""Runs real verifyReceipt clients against a proxy in front of the simulated App Store.

    run.py --proxy http://127.0.0.1:8080 --receipts STATE/receipts.jsonl --hostile STATE/hostile.jsonl --secret TEXT

The clients are unchanged except for the host. Prints one line per check. The exit code is 1 if a check fails.
"""

import argparse
import http.client
import json
import shutil
import subprocess
import sys
import traceback
import urllib.error
import urllib.request
from urllib.parse import urlsplit

CHECKS = []
NOT_RUN = []


def check(function):
    CHECKS.append(function)
    return function


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


class World:
    def __init__(self, options):
        self.proxy = options.proxy.rstrip("/")
        self.secret = options.secret
        self.receipts = [json.loads(line) for line in open(options.receipts)]
        self.hostile = [json.loads(line) for line in open(options.hostile)]

    def receipt(self, environment, style="appReceipt"):
        return next(
            line["receipt"] for line in self.receipts if line["environment"] == environment and line["style"] == style
        )

    def mangled(self, mangling):
        return next(line["receipt"] for line in self.hostile if line["mangling"] == mangling)

    def body(self, environment="Production", style="appReceipt", **more):
        return json.dumps({"receipt-data": self.receipt(environment, style), "password": self.secret, **more}).encode()


# --- Libraries ---------------------------------------------------------------------------------------------------


@check
def inapppy(world):
    """InAppPy: production, the sandbox with its own retry, both receipt styles, a wrong password, a damaged receipt."""
    from inapppy import AppStoreValidator, InAppPyValidationError

    class Validator(AppStoreValidator):
        def _change_url_by_sandbox(self):
            self.url = world.proxy + ("/sandbox" if self.sandbox else "/production") + "/verifyReceipt"

    def validate(receipt, secret=world.secret, **options):
        validator = Validator(sandbox=False, auto_retry_wrong_env_request=True)
        return validator.validate(receipt, secret, **options)

    response = validate(world.receipt("Production"))
    expect(response["status"] == 0 and response["environment"] == "Production", response.get("status"))
    expect(response["receipt"]["bundle_id"] == "com.example.app", response["receipt"])
    response = validate(world.receipt("Sandbox"), exclude_old_transactions=True)
    expect(response["status"] == 0 and response["environment"] == "Sandbox", response.get("status"))
    expect(validate(world.receipt("Production", "transactionReceipt"))["status"] == 0, "transactionReceipt")
    for receipt, secret, status in [
        (world.receipt("Production"), "wrong", 21004),
        (world.mangled("tamperedByte"), world.secret, 21003),
        ("bm90IGEgcmVjZWlwdA==", world.secret, 21002),
    ]:
        try:
            validate(receipt, secret)
        except InAppPyValidationError as error:
            expect(error.raw_response["status"] == status, error.raw_response)
        else:
            raise AssertionError(f"{status} was not raised")


@check
def itunes_iap(world):
    """itunes-iap: its review environment (production, then the sandbox), no Content-Type, and its own objects."""
    import itunesiap
    from itunesiap.request import Request

    Request.PRODUCTION_VALIDATION_URL = world.proxy + "/production/verifyReceipt"
    Request.SANDBOX_VALIDATION_URL = world.proxy + "/sandbox/verifyReceipt"
    for environment in ("Production", "Sandbox"):
        response = itunesiap.verify(world.receipt(environment), world.secret, env=itunesiap.env.review)
        expect(response.status == 0, response)
        expect(response.receipt.bundle_id == "com.example.app", response.receipt)
        expect(len(response.latest_receipt_info) > 0, "latest_receipt_info")
    response = itunesiap.verify(
        world.receipt("Production"), world.secret, env=itunesiap.env.production, exclude_old_transactions=True
    )
    products = [row.product_id for row in response.latest_receipt_info]
    expect(response.status == 0 and len(products) == len(set(products)) == 2, "exclude_old_transactions")
    try:
        itunesiap.verify(world.mangled("tamperedByte"), world.secret, env=itunesiap.env.production)
    except itunesiap.exc.InvalidReceipt as error:
        expect(error.status == 21003, error)
    else:
        raise AssertionError("21003 was not raised")


# --- Forms of requests -------------------------------------------------------------------------------------------

CONTENT_TYPES = [
    None, "application/json", "application/json; charset=utf-8", "application/x-www-form-urlencoded",
    "text/plain;charset=UTF-8", "application/octet-stream",
]


@check
def urllib_content_types(world):
    """urllib: every Content-Type that clients send, with Connection: close."""
    for content_type in CONTENT_TYPES:
        headers = {"Content-Type": content_type} if content_type else {}
        request = urllib.request.Request(world.proxy + "/verifyReceipt", world.body(), headers)
        with urllib.request.urlopen(request, timeout=20) as response:
            expect(response.status == 200, response.status)
            expect(json.load(response)["status"] == 0, content_type)
            expect(response.headers["Receipt-Bridge-Source"] == "apple", response.headers)
            expect(response.headers["Receipt-Bridge-Environment"] == "Production", response.headers)


@check
def http_client(world):
    """http.client: no Content-Type, chunked, one connection for all, values of exclude-old-transactions."""
    connection = http.client.HTTPConnection(urlsplit(world.proxy).netloc, timeout=20)

    def ask(body, **options):
        connection.request("POST", "/verifyReceipt", body, **options)
        return json.load(connection.getresponse())

    expect(ask(world.body())["status"] == 0, "no Content-Type")
    pieces = [world.body()[start : start + 999] for start in range(0, len(world.body()), 999)]
    expect(ask(iter(pieces), encode_chunked=True, headers={"Transfer-Encoding": "chunked"})["status"] == 0, "chunked")
    for value in (True, "true", False, "false", None, 1):
        expect(ask(world.body(**{"exclude-old-transactions": value}))["status"] == 0, value)
    escaped = world.body().replace(b"/", b"\\/")
    expect(ask(escaped)["status"] == 0, "escaped slashes")
    expect(ask(b'{"receipt_data":"QQ=="}')["status"] == 21002, "a misspelled key")


@check
def http_1_0(world):
    """HTTP/1.0 as sent by PHP's streams, without and with Host."""
    for host in (False, True):
        connection = http.client.HTTPConnection(urlsplit(world.proxy).netloc, timeout=20)
        connection._http_vsn, connection._http_vsn_str = 10, "HTTP/1.0"
        connection.putrequest("POST", "/verifyReceipt", skip_host=not host, skip_accept_encoding=True)
        connection.putheader("Content-Length", str(len(world.body())))
        connection.endheaders(world.body())
        expect(json.load(connection.getresponse())["status"] == 0, f"host: {host}")


@check
def curl(world):
    """curl: plain -d, chunked, HTTP/1.0, Expect: 100-continue, Host, and a body that is one byte too large."""
    if not shutil.which("curl"):
        NOT_RUN.append("curl: curl is not installed")
        return

    def ask(*arguments, body=world.body(), path="/verifyReceipt"):
        command = ["curl", "-sS", "--max-time", "20", "-w", "\n%{http_code}", *arguments]
        command += ["--data-binary", "@-", world.proxy + path]
        done = subprocess.run(command, input=body, capture_output=True, check=True)
        text, _, code = done.stdout.decode().rpartition("\n")
        return int(code), text

    def status(*arguments, **options):
        code, text = ask(*arguments, **options)
        expect(code == 200, f"{arguments}: HTTP {code}")
        return json.loads(text)["status"]

    for arguments in [
        [], ["-H", "Content-Type:"], ["-H", "Transfer-Encoding: chunked"], ["--http1.0"],
        ["-H", "Expect: 100-continue"], ["-H", "Connection: close"], ["-H", "Content-Type: text/plain"],
        ["-H", "Host: buy.itunes.apple.com"],
    ]:
        expect(status(*arguments) == 0, arguments)
    expect(status("-H", "Host: sandbox.itunes.apple.com") == 21008, "Host of the sandbox")
    expect(status("-H", "Host: sandbox.itunes.apple.com", body=world.body("Sandbox")) == 0, "Host of the sandbox")
    for path in ("/verifyReceipt/", "/WebObjects/MZFinance.woa/wa/verifyReceipt"):
        expect(status(path=path) == 0, path)
    for more in ([], ["-H", "Expect: 100-continue"], ["-H", "Transfer-Encoding: chunked", "-H", "Expect:"]):
        code, text = ask(*more, body=b" " * 3_145_729)
        expect(code == 413 and json.loads(text)["code"] == "bodyTooLarge", f"{code} {text}")
    code, _ = ask("-H", "Content-Encoding: gzip", body=b"\x1f\x8b" * 500_000)
    expect(code == 415, code)


def main():
    parser = argparse.ArgumentParser()
    for name in ("proxy", "receipts", "hostile", "secret"):
        parser.add_argument("--" + name, required=True)
    world = World(parser.parse_args())
    failures = 0
    for function in CHECKS:
        try:
            function(world)
            print(f"ok      {function.__doc__}", flush=True)
        except Exception:
            failures += 1
            print(f"FAILED  {function.__doc__}", flush=True)
            traceback.print_exc(file=sys.stdout)
    for text in NOT_RUN:
        print(f"not run {text}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
