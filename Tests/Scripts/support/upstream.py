#!/usr/bin/env python3
"""An upstream that is far away: answers every request with the same valid verifyReceipt response, after a delay.

    python3 Tests/Scripts/support/upstream.py --delay 300 --jitter 10

Prints its URL when it listens. With --relay PORT it passes everything on to the server at that port of this machine instead, and
delays what that server answers. Every option except --listen, --relay and --bytes can be changed while it runs:

    curl 'http://127.0.0.1:PORT/control?delay=4000'     also returns how many requests and connections there were;
                                                        clear=1 starts these counts from zero

One process, one epoll loop, and one list of answers for each millisecond, because it shares the cores with what is measured.
"""
import argparse
import collections
import json
import os
import random
import re
import select
import socket
import struct
import sys
import time
import urllib.parse

CONTROL = b"GET /control"
RESET = b"RST"  # instead of bytes, if a connection ends with RST
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.I)
START = (b'{"status":0,"environment":"Production","receipt":{"receipt_type":"Production","in_app":[{"quantity":"1",'
         b'"product_id":"com.example.app.unlock","transaction_id":"500000000060001"}]},"latest_receipt":"')


def http_response(body):
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body


class Connection:
    __slots__ = ("fd", "missing", "head", "unsent", "peer", "isTarget", "last", "delay")

    def __init__(self, fd):
        self.fd = fd  # -1 after the end
        self.missing = 0  # bytes of the request that have not arrived
        self.head = b""  # an incomplete head
        self.unsent = b""
        self.peer = None  # of a relay: the other connection
        self.isTarget = False
        self.last = 0  # of a relay: the millisecond of the last answer, which none may overtake
        self.delay = 0  # of a relay: the additional delay of the current request, in ms


class Upstream:
    def __init__(self, port, relay, size, settings, spreads=()):
        self.settings = settings
        self.spreads = spreads
        self.relay = relay
        self.response = http_response(START + b"M" * (size - len(START) - 2) + b'"}')
        self.counts = collections.Counter()
        self.connections = {}
        self.due = {}  # millisecond -> [(connection, bytes)]; without bytes: the end of the connection
        self.waiting = 0
        self.tick = self.milliseconds()
        self.listener = socket.create_server(("127.0.0.1", port), backlog=4096)
        self.listener.setblocking(False)
        self.epoll = select.epoll()
        self.epoll.register(self.listener, select.EPOLLIN)

    @staticmethod
    def milliseconds():
        return int(time.monotonic() * 1000)

    def run(self):
        listener, connections = self.listener.fileno(), self.connections
        while True:
            for fd, events in self.epoll.poll(0.001 if self.waiting else 1):
                if fd == listener:
                    self.accept()
                    continue
                connection = connections.get(fd)
                if connection is None:
                    continue
                if events & select.EPOLLOUT:
                    self.send(connection, b"")
                if events & ~select.EPOLLOUT and connection.fd >= 0:
                    self.read(connection)
            if self.waiting:
                self.send_due()

    def accept(self):
        while True:
            try:
                accepted, _ = self.listener.accept()
            except OSError:
                return
            connection = self.add(accepted)
            if self.relay:
                target = self.add(socket.create_connection(("127.0.0.1", self.relay)))
                target.isTarget = True
                connection.peer, target.peer = target, connection

    def add(self, opened):
        opened.setblocking(False)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(opened.detach())
        self.connections[connection.fd] = connection
        self.epoll.register(connection.fd, select.EPOLLIN)
        self.counts["connections"] += 1
        return connection

    def close(self, connection, isReset=False):
        if connection.fd < 0:
            return
        del self.connections[connection.fd]
        if isReset:
            with socket.socket(fileno=connection.fd) as opened:
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            os.close(connection.fd)
        connection.fd = -1
        if connection.peer and not connection.isTarget:
            self.close(connection.peer)

    def read(self, connection):
        try:
            data = os.read(connection.fd, 262_144)
        except BlockingIOError:
            return
        except OSError:
            data = RESET
        if connection.peer and not data.startswith(CONTROL):
            return self.pass_on(connection, data)
        if not data or data is RESET:
            return self.close(connection)
        if connection.missing:
            connection.missing -= len(data)
        else:
            data = connection.head + data
            end = data.find(b"\r\n\r\n")
            connection.head = data if end < 0 else b""
            if end < 0:
                return
            length = LENGTH.search(data, 0, end)
            connection.missing = end + 4 + (int(length.group(1)) if length else 0) - len(data)
            if data.startswith(CONTROL):
                return self.control(connection, data[:end])
        if connection.missing <= 0:
            connection.missing = 0
            self.counts["requests"] += 1
            self.answer(connection, self.response)

    def pass_on(self, connection, data):
        if connection.isTarget:
            self.answer(connection.peer, data)
        elif data and data is not RESET:
            self.counts["requests"] += 1
            for text, low, high in self.spreads:
                if text in data.split(b"\r\n", 1)[0]:
                    connection.delay = random.uniform(low, high)
            self.send(connection.peer, data)
        if not data or data is RESET:
            self.close(connection)

    def answer(self, connection, data):
        settings = self.settings
        delay = settings["delay"] + connection.delay
        if settings["slow"] and self.counts["requests"] % settings["slow"] == 0:
            delay = settings["slowDelay"]
        if settings["jitter"]:
            delay *= 1 + random.uniform(-settings["jitter"], settings["jitter"]) / 100
        if settings["reset"] and random.random() < settings["reset"]:
            self.counts["resets"] += 1
            data = RESET
        if delay <= 0:
            return self.deliver(connection, data)
        tick = max(self.milliseconds() + int(delay), self.tick)
        if self.relay:
            tick = connection.last = max(tick, connection.last)
        self.due.setdefault(tick, []).append((connection, data))
        self.waiting += 1
        if self.waiting > self.counts["mostWaiting"]:
            self.counts["mostWaiting"] = self.waiting

    def send_due(self):
        now = self.milliseconds()
        for tick in range(self.tick, now + 1):
            for connection, data in self.due.pop(tick, ()):
                self.waiting -= 1
                self.deliver(connection, data)
        self.tick = now + 1

    def deliver(self, connection, data):
        if data and data is not RESET:
            self.send(connection, data)
        else:
            self.close(connection, isReset=data is RESET)

    def send(self, connection, data):
        if connection.fd < 0:
            return
        data = connection.unsent + data
        try:
            sent = os.write(connection.fd, data)
        except BlockingIOError:
            sent = 0
        except OSError:
            return self.close(connection)
        if sent < len(data) or connection.unsent:
            connection.unsent = data[sent:]
            self.epoll.modify(connection.fd, select.EPOLLIN | (select.EPOLLOUT if connection.unsent else 0))

    def control(self, connection, head):
        query = urllib.parse.urlsplit(head.split(b" ")[1].decode()).query
        self.settings.update({key: float(value) for key, value in urllib.parse.parse_qsl(query) if key in self.settings})
        counts = dict(self.counts, open=len(self.connections), waiting=self.waiting, **self.settings)
        if "clear" in query:
            self.counts.clear()
        connection.missing = 0
        self.send(connection, http_response(json.dumps(counts).encode()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listen", type=int, default=0, metavar="PORT")
    parser.add_argument("--relay", type=int, metavar="PORT")
    parser.add_argument("--bytes", type=int, default=3_000, help="length of the response (default: %(default)s)")
    parser.add_argument("--delay", type=float, default=0, help="milliseconds to a response (default: %(default)s)")
    parser.add_argument("--jitter", type=float, default=0, help="percent by which the delay varies to both sides")
    parser.add_argument("--reset", type=float, default=0, help="share of requests whose connection is reset, e.g. 0.001")
    parser.add_argument("--slow", type=float, default=0, metavar="N", help="one of N requests takes --slow-delay milliseconds")
    parser.add_argument("--slow-delay", type=float, default=8_000, dest="slowDelay")
    parser.add_argument("--spread", nargs=3, action="append", default=[], metavar=("TEXT", "LOW", "HIGH"),
                        help="with --relay: requests whose first line contains TEXT take LOW to HIGH ms longer")
    arguments = parser.parse_args()
    spreads = [(text.encode(), float(low), float(high)) for text, low, high in arguments.spread]
    settings = {name: getattr(arguments, name) for name in ("delay", "jitter", "reset", "slow", "slowDelay")}
    upstream = Upstream(arguments.listen, arguments.relay, arguments.bytes, settings, spreads)
    print(f"upstream at http://127.0.0.1:{upstream.listener.getsockname()[1]}", file=sys.stderr, flush=True)
    try:
        upstream.run()
    except KeyboardInterrupt:
        pass


main()
