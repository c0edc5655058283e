#!/usr/bin/env python3
"""Replaces the seeds of the fuzz targets in `Corpus/`. One simulated App Store, whose roots are in `Corpus/trust`, signs
all of them. Its keys are not stored, so a single signed seed cannot be replaced without replacing all of them.

    Tests/Fuzzing/seeds.py --tool .build/release/receipt-bridge
"""
import argparse
import base64
import gzip
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import zlib

CORPUS = pathlib.Path(__file__).parent / "Corpus"
LARGEST = 8_192


def write(target, name, data):
    data = data.encode() if isinstance(data, str) else data
    if len(data) > LARGEST:
        sys.exit(f"{target}/{name}: {len(data)} bytes")
    (CORPUS / target).mkdir(parents=True, exist_ok=True)
    (CORPUS / target / name).write_bytes(data)


def post(url, body):
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode()), timeout=30) as response:
        text = response.read()
        return json.loads(text) if text else None


def listen(bodies):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def notifications(store, events, version):
    """The bodies of the notifications that the simulated App Store sends for these events."""
    bodies = []
    urllib.request.urlopen(urllib.request.Request(f"{store}/notifications/targets", method="DELETE"), timeout=30).read()
    post(f"{store}/notifications/targets", {"url": listen(bodies), "version": version})
    expected = sum(len(event["notifications"]) for name in events for event in post(f"{store}/events", {"event": name})["events"])
    until = time.monotonic() + 30
    while len(bodies) < expected and time.monotonic() < until:
        time.sleep(0.1)
    return bodies


def claims(jws):
    segment = jws.split(".")[1]
    return base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4))


def payload(der):
    """Returns the content of a PKCS#7 container: the first OCTET STRING after the object identifier of `data`."""
    offset = der.index(bytes.fromhex("06092a864886f70d010701")) + 11
    for _ in range(2):  # [0], OCTET STRING
        first = der[offset + 1]
        length, offset = (first, offset + 2) if first < 128 else (
            int.from_bytes(der[offset + 2:offset + 2 + first - 128], "big"), offset + 2 + first - 128)
    return der[offset:offset + length]


def signed(state, store):
    shutil.copytree(state / "roots", CORPUS / "trust/roots")
    shutil.copytree(state / "intermediates", CORPUS / "trust/intermediates")
    receipts = [json.loads(line) for line in (state / "receipts.jsonl").open()]
    decoded = sorted(((base64.b64decode(row["receipt"]), row["environment"]) for row in receipts), key=lambda row: len(row[0]))
    for style, is_of_style in [("app", lambda der: der[0] == 0x30), ("transaction", lambda der: der[0] == 0x7B)]:
        for environment in ["Production", "Sandbox"]:
            found = [der for der, found_environment in decoded if found_environment == environment and is_of_style(der)]
            for index, der in enumerate([found[0], found[len(found) // 2]]):
                write("receipt", f"{style}-{environment}-{index}", der)
                if style == "app":
                    write("attributes", f"{environment}-{index}", payload(der))
                else:
                    info = re.search(rb'"purchase-info" = "([^"]*)"', der)[1]
                    write("purchaseInfo", f"{environment}-{index}", base64.b64decode(info))
    second = notifications(store, ["autoRenewOff", "refund", "buyConsumable", "renew"], 2)
    first = notifications(store, ["autoRenewOn", "billingFailure"], 1)
    for index, body in enumerate(second):
        document = json.loads(claims(body["signedPayload"]))
        data = document["data"]
        kind = document["notificationType"]
        write("jws", f"transaction-{index}", data["signedTransactionInfo"])
        write("claims", f"transaction-{index}", claims(data["signedTransactionInfo"]))
        if "signedRenewalInfo" in data:
            write("jws", f"renewal-{index}", data["signedRenewalInfo"])
            write("claims", f"renewal-{index}", claims(data["signedRenewalInfo"]))
        for name in ["signedTransactionInfo", "signedRenewalInfo"]:
            if name in data:
                data[name] = "eyJh.eyJi.c2ln"
        write("claims", f"notification-{kind}", json.dumps(document))
    write("answer", "notification-2", json.dumps({"signedPayload": "eyJh.eyJi.c2ln"}))
    for index, body in enumerate(first[:2]):
        unified = body.get("unified_receipt", {})
        unified["latest_receipt"] = "MIIB"
        for name in ["latest_receipt_info", "pending_renewal_info"]:
            unified[name] = unified.get(name, [])[:1]
        write("answer", f"notification-1-{index}", json.dumps(body))


def synthetic():
    text = "eyJh.eyJi.c2ln"
    write("answer", "history", json.dumps({
        "revision": "1795262400000_7", "bundleId": "com.example.app", "appAppleId": 1234567890,
        "environment": "Production", "hasMore": False, "signedTransactions": [text, text]}))
    write("answer", "statuses", json.dumps({
        "environment": "Sandbox", "bundleId": "com.example.app", "data": [{
            "subscriptionGroupIdentifier": "20000001", "lastTransactions": [{
                "originalTransactionId": "2000000000000301", "status": 1, "signedTransactionInfo": text,
                "signedRenewalInfo": text}]}]}))
    write("answer", "notificationHistory", json.dumps({
        "paginationToken": "t", "hasMore": True, "notificationHistory": [{
            "signedPayload": text, "sendAttempts": [{"attemptDate": 1795262400000, "sendAttemptResult": "SUCCESS"}]}]}))
    write("answer", "refused", '{"errorCode":4040010,"errorMessage":"Transaction id not found."}')
    write("answer", "extension", json.dumps({
        "originalTransactionId": "1", "webOrderLineItemId": "2", "success": True, "effectiveDate": 1795262400000,
        "requestIdentifier": "u", "complete": True, "completeDate": 1, "succeededCount": 2, "failedCount": 0}))
    write("answer", "verifyReceipt", '{"status":"21002","is_retryable":1,"is-retryable":"true","status":21005}')
    write("answer", "pair", json.dumps({
        "verifyReceipt": {"status": 0, "environment": "Production", "latest_receipt_info": [
            {"product_id": "a", "transaction_id": "1", "original_transaction_id": "1", "quantity": "1",
             "purchase_date_ms": "1795262400000", "expires_date_ms": "1795262500000"}]},
        "history": {"environment": "Production", "signedTransactions": [
            {"transactionId": "1", "originalTransactionId": "1", "productId": "a", "purchaseDate": 1795262400000}]},
        "statuses": {"data": []}}))
    requests = {
        "plain": '{"receipt-data":"MIIBAA==","password":"secret","exclude-old-transactions":true}',
        "twice": '{"receipt-data":"MIIB","receipt-data":"MIIC","password":null,"password":"b"}',
        "escaped": '{"receipt\\u002ddata":"MII\\/\\u002b=","p\\u0061ssword":"a\\"b","\\ud83d\\ude00":1}',
        "mark": '\ufeff{"receipt-data":"ewoJInNpZ25hdHVyZSIgPSAiIjsKfQ==\\n"}',
        "numbers": '{"a":[-0.0,1E+9,1e400,{"b":[[],{}]}],"receipt-data":1,"password":[1]}',
        "mangled": '{ "receipt-data" : "MIIB AA\\r\\n" ,"password":"" }',
        "markBehindEscape": '\ufeff{"receipt-data":"(\\\\\ufeffn"}',
    }
    for name, body in requests.items():
        write("request", name, body)
    write("json", "nested", '{"a":' + "[" * 63 + "]" * 63 + "}")
    write("json", "trailingComma", '{"":null,  }')
    write("json", "scalars", '{"":null,"t":true,"f":false,"n":-12.5e-3,"s":"\\b\\f\\n\\r\\t\\/\\\\\\""}')
    texts = {
        "plain": "MIIBAA==", "folded": "MIIB\r\nAA==", "urlSafe": "MII-_w", "percent": "MII%2BAA%3D%3D",
        "hexadecimal": "<3082 0100>", "dataURL": "data:application/octet-stream;base64,MIIBAA==",
        "unity": '{"Store":"AppleAppStore","TransactionID":"1","Payload":"MIIBAA=="}',
        "answer": '{"status":0,"latest_receipt":"MIIBAA\\u003d\\u003d","in_app":[{"transaction_id":"1"}]}',
        "double": base64.b64encode(b"MIIBAA==").decode(), "jws": text, "blanks": "MIIB AAA ", "foldedList": "ey1 0Mey1 ",
        "member": '{"a":{"b":[{"transactionId":{"$numberLong":"7"},"c":"' + "MIIBAA" + "A" * 60 + '"}]}}',
        "nodeBuffer": json.dumps({"type": "Buffer", "data": [48, 130] + [0] * 70}),
        "printedBuffer": "<Buffer 30 82 " + "00 " * 70 + ">", "lostBuffer": "<Buffer 30 82 06 09 ... 12 more bytes>",
        "python": "b'0\\x82" + "\\x01" * 70 + "'", "sql": "X'3082" + "00" * 70 + "'", "go": "[48 130" + " 7" * 70 + "]",
        "form": "password=a%26b&receipt-data=MIIB" + "AA%2B" * 16, "mongo": '{"$binary":{"base64":"' + "MIIB" * 20 + '","subType":"00"}}',
        "gzip": base64.b64encode(gzip.compress(b'{"r":"' + b"MIIBAA" * 30 + bytes(range(65, 91)) * 9 + b'"}', mtime=0)).decode(),
        "zlib": base64.b64encode(zlib.compress(bytes([48, 130]) + bytes(range(90)) * 3, 9)).decode(),
        "gzipStored": base64.b64encode(gzip.compress(bytes([48, 130]) + bytes(90), 0, mtime=0)).decode(),
        "escapedList": '"{\\n\\t\\"signature\\" = \\"AA==\\";\\n\\t\\"purchase-info\\" = \\"eyJhIiA9ICJiIjt9\\";\\n}"',
        "string": json.dumps(json.dumps({"receipt": "MIIB" * 20})), "markup": "<r>" + "MIIB" * 20 + "</r>",
        "list": '{"signature" = "AA=="; "purchase-info" = "eyJhIiA9ICJiIjt9"; pod = 43;}',
    }
    for name, content in texts.items():
        write("base64", name, content)
    tables = {
        "plain": "id,receipt\n1,MIIB\n2,MIIC\n", "quoted": 'id;receipt\r\n"a;""b";"MI\nIB"\r\n"broken"x;MIIC\r\n',
        "tabs": "receipt\tid\nMIIB\t1\nMIIC", "open": '\ufeffid,receipt\n1,"MIIB\n2,MIIC\n',
        "blank": "receipt\n\n\r\nMIIB,MIIC\n,\n",
    }
    for name, content in tables.items():
        write("rows", f"{name}.csv", "c" + content)
    write("rows", "plain.jsonl", 'j{"id":"1","receipt":"MIIB"}\n\n{"id":2,"receipt-data":null}\r\n{"receipt":"\\u0041"\n{}')


def members():
    """Members of gzip in each form of block, with and without the optional fields."""
    text = b'{"status":0,"receipt":{"in_app":[' + b",".join(b'{"transaction_id":"%d"}' % (5_000_000 + 37 * i) for i in range(30)) + b"]}}"
    fixed = zlib.compressobj(9, zlib.DEFLATED, -15, 8, zlib.Z_FIXED)
    body = fixed.compress(text) + fixed.flush() + zlib.crc32(text).to_bytes(4, "little") + len(text).to_bytes(4, "little")
    header = bytes([0x1F, 0x8B, 8, 0x1E, 0, 0, 0, 0, 0, 3, 2, 0]) + b"ab" + b"name\0" + b"comment\0"
    write("gzip", "dynamic", gzip.compress(text, 9, mtime=0))
    write("gzip", "stored", gzip.compress(text[:90], 0, mtime=0))
    write("gzip", "two", gzip.compress(b"a" * 300, mtime=0) + gzip.compress(b"", mtime=0))
    write("gzip", "fields", header + (zlib.crc32(header) & 0xFFFF).to_bytes(2, "little") + body)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tool", required=True, help="the receipt-bridge binary")
    tool = options.parse_args().tool
    shutil.rmtree(CORPUS, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        state = pathlib.Path(folder)
        simulator = subprocess.Popen(
            [tool, "simulate", "--state", folder, "--listen", "127.0.0.1:0", "--customers", "24", "--seed", "7",
             "--clock", "2026-11-21T12:00:00Z"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            store = next(word for line in simulator.stdout for word in line.split() if word.startswith("http://"))
            signed(state, store)
        finally:
            simulator.terminate()
            simulator.wait()
    synthetic()
    members()
    print(sum(1 for path in CORPUS.rglob("*") if path.is_file()), "files")


main()
