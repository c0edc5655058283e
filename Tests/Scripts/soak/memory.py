#!/usr/bin/env python3
"""Asks one server for very many different customers, and shows how its resident memory ends on a plateau.

A stand-in for the App Store Server API makes up a signed history for each id, so that no customer is asked for twice. The run
fails if the memory grows beyond `--most`, or without a store, whose page caches fill slowly, by more than a tenth in the second
half of the requests. Needs PyPI.

    Tests/Scripts/soak/memory.py --tool .build/release/receipt-bridge --customers 200000
"""
import argparse
import asyncio
import base64
import json
import multiprocessing
import os
import sys
import tempfile
import time
import urllib.parse

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import packages

packages.use("cryptography", packages.CRYPTOGRAPHY)

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

from measuring import free_port, memory, start, stop
import simulated

# Apple's limit is 180,000 calls an hour for each app.
APPS = ["com.example.app", "com.example.second", "com.example.third"]
TOKEN = "Zm9ydHktdHdvIGJ5dGVz"
NOW = int(time.time() * 1000)


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


class Issuer:
    """Signs transactions as the App Store does, with the keys of a simulator."""

    def __init__(self, keys, transactions):
        names = ["jwsLeaf", "jwsAuthority", "jwsRoot"]
        chain = [base64.b64encode(open(f"{keys}/{name}.cer", "rb").read()).decode() for name in names]
        self.header = base64url(json.dumps({"alg": "ES256", "x5c": chain}).encode())
        self.key = serialization.load_pem_private_key(open(f"{keys}/jwsLeaf.pem", "rb").read(), None)
        self.transactions = transactions

    def jws(self, payload):
        signed = self.header + b"." + base64url(json.dumps(payload).encode())
        r, s = utils.decode_dss_signature(self.key.sign(signed, ec.ECDSA(hashes.SHA256())))
        return (signed + b"." + base64url(r.to_bytes(32, "big") + s.to_bytes(32, "big"))).decode()

    def history(self, app, id):
        """The purchases of a customer. The ids of the next ones follow that of the first."""
        return {"revision": "1", "bundleId": app, "appAppleId": 1234567890, "environment": "Production", "hasMore": False,
                "signedTransactions": [self.jws({
                    "transactionId": str(id + number), "originalTransactionId": str(id + number), "bundleId": app,
                    "productId": f"{app}.unlock{number}", "type": "Non-Consumable", "inAppOwnershipType": "PURCHASED",
                    "purchaseDate": NOW - 86_400_000, "originalPurchaseDate": NOW - 86_400_000, "quantity": 1,
                    "signedDate": NOW, "environment": "Production", "storefront": "DEU", "storefrontId": "143443",
                    "transactionReason": "PURCHASE", "currency": "EUR", "price": 990,
                }) for number in range(self.transactions)]}


async def serve(port, issuer):
    """The App Store Server API: a history for each id, and no download of the app."""
    async def connection(reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                path = head.split(" ", 2)[1]
                if "/history/" in path:
                    token = next(line for line in head.split("\r\n") if line.lower().startswith("authorization:"))
                    claims = token.split(".")[1]
                    app = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["bid"]
                    id = int(urllib.parse.urlparse(path).path.rsplit("/", 1)[1])
                    status, body = "200 OK", json.dumps(issuer.history(app, id)).encode()
                else:
                    status, body = "404 Not Found", b'{"errorCode":4040019,"errorMessage":"none"}'
                writer.write(f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()
    async with await asyncio.start_server(connection, "127.0.0.1", port, backlog=512) as server:
        await server.serve_forever()


def configuration(state, port, listen, store):
    account = """    serverAPI:
      issuerId: 5e1f0c64-0000-4000-8000-53494d554c41
      keyId: SIMKEY0001
      privateKey: {file: SubscriptionKey_SIMKEY0001.p8}
    answer: [api]
"""
    with open(f"{state}/token.txt", "w") as file:
        file.write(TOKEN)
    os.chmod(f"{state}/token.txt", 0o600)
    path = f"{state}/memory.yaml"
    with open(path, "w") as file:
        file.write(f"""listen: 127.0.0.1:{listen}
operations: {{listen: 127.0.0.1:{free_port()}}}
tokens: [{{file: token.txt}}]
store: {store}
trust:
  roots: [roots/SimulatorRoot.cer, roots/SimulatorRootEC.cer]
upstream:
  verifyReceipt: {{production: "http://127.0.0.1:{port}/p", sandbox: "http://127.0.0.1:{port}/s"}}
  serverAPI: {{production: "http://127.0.0.1:{port}/production", sandbox: "http://127.0.0.1:{port}/sandbox"}}
apps:
""" + "".join(f"  - bundleId: {app}\n{account}" for app in APPS))
    return path


async def ask(port, ids, step, report):
    """Requests all ids on 32 connections. Calls `report` with the number of responses after every `step` of them."""
    done = 0

    async def client():
        nonlocal done
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for app, id in ids:
            writer.write(f"GET /v1/transactions/{id}?bundleId={app}&environment=Production HTTP/1.1\r\nHost: localhost\r\n"
                         f"Authorization: Bearer {TOKEN}\r\n\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            body = await reader.readexactly(int(head.split("content-length:")[1].split("\r\n")[0]))
            if " 200 " not in head.split("\r\n")[0]:
                sys.exit(f"{app} {id}: {head}{body.decode()}")
            done += 1
            if done % step == 0:
                report(done)
    await asyncio.gather(*(client() for _ in range(32)))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--tool", default=".build/release/receipt-bridge")
    arguments.add_argument("--customers", type=int, default=200_000)
    arguments.add_argument("--transactions", type=int, default=3, help="purchases of each customer")
    arguments.add_argument("--store", default="none", help="for example sqlite:bridge.sqlite")
    arguments.add_argument("--most", type=int, default=600, help="MB of resident memory (default: %(default)s)")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as state:
        simulated.write(options.tool, state, 1)
        appStore, listen = free_port(), free_port()
        issuer = Issuer(f"{state}/keys", options.transactions)
        upstream = multiprocessing.Process(target=lambda: asyncio.run(serve(appStore, issuer)), daemon=True)
        upstream.start()
        server, _ = start([options.tool, "serve", "--config", configuration(state, appStore, listen, options.store)], "http://")
        figures = [memory(server.pid)[0]]
        print(f"{'customers':>10} {'MB':>6}\n{0:>10} {figures[0]:6.0f}")
        begin = time.monotonic()

        def report(done):
            figures.append(memory(server.pid)[0])
            print(f"{done:>10} {figures[-1]:6.0f}   {done / (time.monotonic() - begin):.0f} a second", flush=True)

        ids = ((APPS[number % len(APPS)], 700_000_000_000_000 + number * options.transactions)
               for number in range(options.customers))
        asyncio.run(ask(listen, ids, max(options.customers // 20, 1), report))
        half, last, most = figures[len(figures) // 2], figures[-1], max(figures)
        stop(server)
        upstream.terminate()
        print(f"plateau: {half:.0f} MB after half of the customers, {last:.0f} MB after all, {most:.0f} MB at most")
        if (last > half * 1.1 and options.store == "none") or most > options.most:
            sys.exit("the memory grows")


if __name__ == "__main__":
    main()
