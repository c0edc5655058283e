#!/usr/bin/env python3
"""Measures the server in front of an App Store that is far away: every response of the upstream takes 50 ms to 3 s.

Tests/Scripts/support/upstream.py is the upstream. nginx as a reverse proxy in front of the same upstream is measured in the same run. wrk posts
different receipts of simulated customers and counts the statuses and sources of the responses. Only 0 and 21006 of the source that
is measured count as answered; 21005 means that a paying customer has to wait. Upstream, nginx, server and load generator share the
cores of this machine, so only numbers of the same run can be compared, and the maximum of the upstream alone, which is printed
first, limits every row. "beyond" is p99 without the delay, "at once" the largest number of exchanges that the upstream had in
flight, and "opened" the number of connections to it in a row.

    distance.py --tool TOOL                     the table, 5 minutes
    distance.py --tool TOOL --quick             three rows of it, 1 minute
    distance.py --tool TOOL --rows 300:4000 3000:1000:15 --tls   
    distance.py --tool TOOL --answer api        Server API calls that take as long
    distance.py --tool TOOL --fairness          10 clients of an app beside 5,000 of another
    distance.py --tool TOOL --slowdown          200 ms become 4 s and 200 ms again
    distance.py --tool TOOL --brownout          one of three exchanges takes 8 s

Needs wrk and nginx; --fairness also openssl, --tls also root or user namespaces.
"""
import argparse
import asyncio
import base64
import collections
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

SUPPORT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support")
sys.path.append(SUPPORT)
from measuring import (counting, cpu_seconds, free_port, memory, nginx, post, script, start, start_load, stop, wait,
                       write_figures)

# Delay in ms, clients, seconds. The longest has five exchanges of each client.
ROWS = [(0, 400, 6), (50, 1_000, 8), (300, 1_000, 10), (300, 2_000, 10), (300, 4_000, 12), (300, 5_000, 12), (1_000, 2_000, 12),
        (3_000, 1_000, 15)]
QUICK = [(0, 400, 4), (300, 1_000, 6), (300, 4_000, 8)]
API_ROWS = [(0, 400, 8), (300, 400, 12), (1_000, 400, 12)]


class Bench:
    """The folder, the options and the processes of a run."""

    def __init__(self, folder, arguments):
        self.folder, self.arguments, self.tool = folder, arguments, arguments.tool
        self.running = []
        self.servers = 0

    def start(self):
        """Starts simulator and upstream."""
        folder, arguments = self.folder, self.arguments
        simulator, self.store = start(
            [self.tool, "simulate", "--listen", "127.0.0.1:0", "--state", folder, "--customers", str(arguments.customers),
             "--seed", "7"], "simulated App Store at")
        self.running.append(simulator)
        with open(os.path.join(folder, "receipts.jsonl")) as file:
            self.receipts = [json.loads(line)["receipt"] for line in file]
        self.bodies = [json.dumps({"receipt-data": receipt}).encode() for receipt in self.receipts]
        relay = ["--relay", str(urllib.parse.urlsplit(self.store).port)] if arguments.answer in ("api", "stored") else []
        process, self.upstream = start([sys.executable, os.path.join(SUPPORT, "upstream.py"), *relay], "upstream at")
        self.running.append(process)
        self.endpoint = self.upstream
        if arguments.tls:
            self.endpoint = self.tls(urllib.parse.urlsplit(self.upstream).port)

    def stop(self):
        for process in reversed(self.running):
            stop(process)

    def set(self, **settings):
        """Changes the upstream, and returns what it counted since the last change."""
        with urllib.request.urlopen(f"{self.upstream}/control?{urllib.parse.urlencode(settings)}") as response:
            return json.load(response)

    def set_delay(self, delay):
        return self.set(delay=delay, jitter=self.arguments.jitter, reset=self.arguments.reset, clear=1)

    def tls(self, port):
        """Starts an nginx that terminates TLS in front of the upstream. `self.ca` is its certificate, which signs itself."""
        self.ca, key = (os.path.join(self.folder, name) for name in ("upstream.pem", "upstream.key"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", self.ca, "-days", "2",
                        "-subj", "/CN=upstream", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        process, url = nginx(self.folder, "terminator", f"""ssl_certificate {self.ca}; ssl_certificate_key {key};
            ssl_session_cache shared:tls:10m;
            upstream far {{ server 127.0.0.1:{port}; keepalive 8192; keepalive_requests 1000000; }}
            server {{ listen 127.0.0.1:PORT ssl backlog=4096; location / {{ {PASS} proxy_pass http://far; }} }}""", "auto")
        self.running.append(process)
        return url.replace("http:", "https:")

    def nginx(self):
        scheme, address = self.endpoint.split("://")
        started = nginx(self.folder, "reverse-proxy", f"""upstream far {{ server {address}; keepalive 8192;
                keepalive_requests 1000000; }}
            server {{ listen 127.0.0.1:PORT backlog=4096; location / {{ {PASS} proxy_pass {scheme}://far; }} }}""", "auto")
        self.running.append(started[0])
        return started

    def serve(self, answer, apps=""):
        """Starts a server with the default configuration but its sources and its store."""
        self.servers += 1
        with open(os.path.join(self.folder, "receipt-bridge.yaml")) as file:
            config = re.sub(r"\noperations:.*", "", file.read())
        if self.arguments.answer == "apple":
            config = re.sub(r"(production|sandbox): http://\S+/verifyReceipt", rf"\1: {self.endpoint}/verifyReceipt", config)
        else:
            config = config.replace(self.store, self.upstream)
        config = re.sub(r"answer: .*", f"answer: [{answer}]", config) + apps
        store = self.arguments.store
        if self.arguments.answer == "stored" and store == "none":
            store = "sqlite"
        if store == "sqlite":
            store = f"sqlite:server-{self.servers}.sqlite"
        path = os.path.join(self.folder, f"server-{self.servers}.yaml")
        with open(path, "w") as file:
            file.write(f"{config}\nstore: {store}\noperations: {{listen: 127.0.0.1:{free_port()}}}\n")
        command = [self.tool, "serve", "--config", path, "--listen", "127.0.0.1:0"]
        if self.arguments.tls:
            # libcurl trusts this file; no key of the configuration names another one.
            command = ["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c",
                       'mount --bind "$0" /etc/ssl/certs/ca-certificates.crt && exec "$@"', self.ca, *command]
        started = start(command, "listening on")
        self.running.append(started[0])
        return started

    def end(self, server):
        self.running.remove(server[0])
        stop(server[0])

    def lua(self, name, bodies=None):
        return counting(script(self.folder, "/verifyReceipt", bodies or self.bodies, name))


PASS = 'proxy_http_version 1.1; proxy_set_header Connection ""; proxy_read_timeout 60s;'


def is_answer(status, source, wanted):
    """Whether a response is what was asked for: 21006 is a subscription that has ended."""
    return status in ("0", "21006") and source == wanted


class Measured:
    """A load on one server: the result of wrk, the CPU time of a response and the growth of memory for each client."""

    def __init__(self, server, lua, seconds, clients, source):
        pid = server[0].pid
        before, begin = memory(pid)[0], cpu_seconds(pid)
        self.load = start_load(server[1], lua, seconds, clients)()
        self.cpu = (cpu_seconds(pid) - begin) / max(1, self.load.responses) * 1e6
        self.most = memory(pid)[1]
        self.growth = (self.most - before) * 1024 / clients
        answered = sum(count for key, count in self.load.counts.items() if is_answer(*key, source))
        self.answered = answered / self.load.seconds
        self.unavailable = self.load.of("21005")
        self.others = self.load.responses - answered - self.unavailable


def upstream_alone(bench):
    """Prints what the upstream can do with the same load generator."""
    lua = bench.lua("upstream")
    print(f"upstream alone ({'TLS, ' if bench.arguments.tls else ''}responses/s, p50, p99, CPU µs of the upstream):")
    pid = bench.running[1].pid
    for delay, clients, seconds in ((0, 400, 3), (300, 4_000, 6)):
        bench.set_delay(delay)
        begin = cpu_seconds(pid)
        load = start_load(bench.upstream, lua, seconds, clients)()
        cpu = (cpu_seconds(pid) - begin) / load.responses * 1e6
        print(f"  {delay:>5} ms, {clients:,} clients: {load.responses / load.seconds:,.0f}, {load.p50:,.0f} ms, "
              f"{load.p99:,.0f} ms, {cpu:.1f}", flush=True)


HEAD = (f"{'upstream':>9}{'clients':>9}  {'server':<8}{'answered/s':>11}{'of nginx':>10}{'21005':>9}{'other':>7}{'failed':>8}"
        f"{'timeout':>9}{'p50 ms':>9}{'p99 ms':>9}{'beyond':>8}{'CPU µs':>8}{'MB':>6}{'KB/client':>11}{'at once':>9}{'opened':>8}")


def row_text(delay, clients, name, figures):
    ratio = f"{figures['of nginx']:.2f}" if "of nginx" in figures else ""
    memory_text = f"{figures['MB']:>6,.0f}{figures['KB/client']:>11,.0f}" if "MB" in figures else " " * 17
    return (f"{delay:>6} ms{clients:>9,}  {name:<8}{figures['answered/s']:>11,.0f}{ratio:>10}{figures['21005']:>9,.0f}"
            f"{figures['other']:>7,.0f}{figures['failed']:>8,.0f}{figures['timeout']:>9,.0f}{figures['p50 ms']:>9,.0f}"
            f"{figures['p99 ms']:>9,.0f}{figures['p99 ms'] - delay:>8,.0f}{figures['CPU µs']:>8,.0f}{memory_text}"
            f"{figures['at once']:>9,.0f}{figures['opened']:>8,.0f}")


def measure_row(bench, server, lua, delay, clients, seconds, source):
    bench.set_delay(0)
    start_load(server[1], lua, 1, 16)()
    bench.set_delay(delay)
    measured = Measured(server, lua, seconds, clients, source)
    # Responses to the clients that wrk has left behind must not be part of the next row.
    wait(lambda: bench.set()["waiting"] == 0, 20)
    counts = bench.set()
    return measured, {
        "answered/s": measured.answered, "21005": measured.unavailable, "other": measured.others, "failed": measured.load.failures,
        "timeout": measured.load.timeouts, "p50 ms": measured.load.p50, "p99 ms": measured.load.p99, "CPU µs": measured.cpu,
        "at once": counts.get("mostWaiting", 0), "opened": counts.get("connections", 0)}


def table(bench):
    """The rows of delays and clients, several times if asked; then the medians and the file of figures."""
    arguments = bench.arguments
    lua = bench.lua("load")
    compared = arguments.answer == "apple"
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    proxy = bench.nginx() if compared else None
    answer = {"stored": "stored, api"}.get(arguments.answer, arguments.answer)
    print(HEAD, flush=True)
    for _ in range(arguments.runs):
        for delay, clients, seconds in arguments.rows:
            reached = None
            if compared:
                measured, figures = measure_row(bench, proxy, lua, delay, clients, seconds, "-")
                reached = figures["answered/s"]
                print(row_text(delay, clients, "nginx", figures) + others_text(measured.load, "-"), flush=True)
                for key, value in figures.items():
                    found[delay, clients, "nginx"][key].append(value)
            server = bench.serve(answer)
            if arguments.answer == "stored":
                fill_store(bench, server, lua)
            measured, figures = measure_row(bench, server, lua, delay, clients, seconds, arguments.answer)
            bench.end(server)
            figures |= {"MB": measured.most, "KB/client": measured.growth}
            if reached:
                figures["of nginx"] = figures["answered/s"] / reached
            print(row_text(delay, clients, "ours", figures) + others_text(measured.load, arguments.answer), flush=True)
            for key, value in figures.items():
                found[delay, clients, "ours"][key].append(value)
    if arguments.runs > 1:
        print(f"\nmedians of {arguments.runs}\n{HEAD}")
        for (delay, clients, name), figures in found.items():
            print(row_text(delay, clients, name, {key: statistics.median(values) for key, values in figures.items()}), flush=True)
    if arguments.json:
        write_figures(arguments.json, {
            f"{delay} ms, {clients} clients, {name}: {LOWER_IS_BETTER[key][0]}":
                {"unit": LOWER_IS_BETTER[key][0], "values": [LOWER_IS_BETTER[key][1](value) for value in values]}
            for (delay, clients, name), figures in found.items() for key, values in figures.items() if key in LOWER_IS_BETTER})


# For Tests/Scripts/bench/compare_benchmarks.py.
LOWER_IS_BETTER = {
    "answered/s": ("µs for each answered request", lambda rate: 1e6 / max(rate, 1e-3)),
    "of nginx": ("times slower than nginx", lambda ratio: 1 / max(ratio, 1e-6)),
    **{key: (key, float) for key in ("21005", "other", "failed", "timeout", "p50 ms", "p99 ms", "CPU µs", "MB", "KB/client")},
}


def others_text(load, wanted):
    """Names the responses that are neither what is measured nor 21005."""
    others = {key: count for key, count in load.counts.items() if not is_answer(*key, wanted) and key[0] != "21005"}
    return "".join(f"  {status} {source} {count:,}" for (status, source), count in sorted(others.items()))


def fill_store(bench, server, lua):
    """Lets the server store all customers, while the upstream is near."""
    bench.set_delay(0)
    for _ in range(3):
        start_load(server[1], lua, 6, 32)()


def one_at_a_time(bench):
    """Prints how long a request takes if there is no other: what is asked one after the other adds up."""
    answer = bench.arguments.answer
    server = bench.serve(answer)
    post(server[1] + "/verifyReceipt", bench.bodies[0])
    delay = 300
    bench.set_delay(delay)
    times = []
    for body in bench.bodies[1:42]:
        begin = time.monotonic()
        post(server[1] + "/verifyReceipt", body)
        times.append((time.monotonic() - begin) * 1000)
    times.sort()
    print(f"one request at a time, {delay} ms, [{answer}]: p50 {times[20]:,.0f} ms, at most {times[-1]:,.0f} ms", flush=True)
    bench.end(server)


# MARK: - Two apps

def fields(data, at, end):
    """Yields tag, beginning and end of the content of each DER element."""
    while at < end:
        tag, length, at = data[at], data[at + 1], at + 2
        if length & 0x80:
            count = length & 0x7F
            length, at = int.from_bytes(data[at:at + count], "big"), at + count
        yield tag, at, at + length
        at += length


def of_other_app(folder, receipt, bundle_id):
    """Returns the receipt as one of another app, signed with the simulator's key. `None` if it has another form.

    - bundle_id: as long as the receipt's own, com.example.app
    """
    data = bytearray(base64.b64decode(receipt))

    def child(parent, number):
        return list(fields(data, parent[1], parent[2]))[number]

    try:
        signed = child(child(next(fields(data, 0, len(data))), 1), 0)
        digest = data[child(signed, 1)[1]:child(signed, 1)[2]]
        content = child(child(child(signed, 2), 1), 0)
        signature = child(child(child(signed, -1), 0), -1)
    except IndexError:
        return None
    isSHA256 = bytes.fromhex("608648016503040201") in digest
    if b"com.example.app" not in data[content[1]:content[2]] or not isSHA256 or signature[2] - signature[1] != 256:
        return None
    data[content[1]:content[2]] = data[content[1]:content[2]].replace(b"com.example.app", bundle_id)
    data[signature[1]:signature[2]] = subprocess.run(
        ["openssl", "dgst", "-sha256", "-sign", os.path.join(folder, "keys/receiptLeaf.pem")],
        input=bytes(data[content[1]:content[2]]), capture_output=True, check=True).stdout
    return base64.b64encode(data).decode()


def fairness(bench):
    """Prints what 10 clients of an app get, alone and beside 5,000 of another app."""
    delay, seconds = 300, bench.arguments.seconds or (6 if bench.arguments.quick else 15)
    others = filter(None, (of_other_app(bench.folder, receipt, b"com.example.two") for receipt in bench.receipts[:150]))
    small = bench.lua("small", [json.dumps({"receipt-data": receipt}).encode() for receipt in others])
    flood = bench.lua("flood")
    app = """
  - bundleId: com.example.two
    answer: [apple]
"""
    print(f"app B with 10 clients, upstream {delay} ms\n{'':<26}{'answered/s':>11}{'21005':>9}{'other':>7}{'failed':>8}"
          f"{'p50 ms':>9}{'p99 ms':>9}")

    def line(name, load):
        others = load.responses - load.of("0") - load.of("21005")
        times = f"{load.p50:>9,.0f}{load.p99:>9,.0f}" if load.responses else "  no responses"
        print(f"{name:<26}{load.of('0') / load.seconds:>11,.1f}{load.of('21005'):>9,}{others:>7,}"
              f"{load.failures + load.timeouts:>8,}{times}", flush=True)

    for name, server in (("nginx", bench.nginx()), ("ours", bench.serve("apple", app))):
        bench.set_delay(delay)
        line(f"{name}: B alone", start_load(server[1], small, min(seconds, 6), 10)())
        loud = start_load(server[1], flood, seconds, 5_000)
        time.sleep(1)
        line(f"{name}: B beside A", start_load(server[1], small, seconds - 2, 10)())
        line(f"{name}: A, 5,000 clients", loud())
        wait(lambda: bench.set()["waiting"] == 0, 20)


# MARK: - A constant load while the upstream changes

class ConstantLoad:
    """Sends requests at a fixed rate without waiting for earlier responses, like apps on many devices."""

    def __init__(self, url, bodies, rate):
        parts = urllib.parse.urlsplit(url)
        self.host, self.port, self.rate, self.idle = parts.hostname, parts.port, rate, []
        self.requests = [b"POST /verifyReceipt HTTP/1.1\r\nHost: old.example.com\r\nContent-Length: %d\r\n\r\n" % len(body) + body
                         for body in bodies]
        self.results = []  # (second in which the request was sent, status and source, seconds)

    async def run(self, seconds):
        begin, tasks = time.monotonic(), set()
        for number in range(int(seconds * self.rate)):
            pause = begin + number / self.rate - time.monotonic()
            if pause > 0:
                await asyncio.sleep(pause)
            task = asyncio.create_task(self.send(self.requests[number % len(self.requests)], begin))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)

    async def send(self, request, begin):
        sent = time.monotonic()
        try:
            outcome = await asyncio.wait_for(self.exchange(request), 30)
        except (OSError, EOFError, asyncio.TimeoutError) as error:
            outcome = type(error).__name__, "-"
        self.results.append((sent - begin, outcome, time.monotonic() - sent))

    async def exchange(self, request):
        connection = self.idle.pop() if self.idle else await asyncio.open_connection(self.host, self.port)
        reader, writer = connection
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(int(re.search(rb"content-length: *(\d+)", head, re.I).group(1)))
        if re.search(rb"connection: *close", head, re.I):
            writer.close()
        else:
            self.idle.append(connection)
        source = re.search(rb"receipt-bridge-source: *(\S+)", head, re.I)
        status = re.search(rb'"status"\s*:\s*(\d+)', body)
        return status.group(1).decode() if status else head.split(b" ")[1].decode(), source.group(1).decode() if source else "-"


def under_change(bench, seconds, settings_at, step=5):
    """Sends the same constant load to servers with [apple] and [apple, receipt], and prints what became of it in each step.

    - settings_at: the settings of the upstream at a second of the run, and a text about them
    - step: seconds; a request belongs to the step in which it was sent
    """
    orders = ["apple", "apple, receipt"]
    rate = bench.arguments.rate
    bench.set_delay(settings_at(0)[0]["delay"])
    loads = [ConstantLoad(bench.serve(order)[1], bench.bodies, rate) for order in orders]

    async def change():
        begin = time.monotonic()
        while time.monotonic() - begin < seconds:
            await asyncio.to_thread(lambda: bench.set(**settings_at(time.monotonic() - begin)[0]))
            await asyncio.sleep(1)

    async def both():
        await asyncio.gather(change(), *(load.run(seconds) for load in loads))

    print(f"{rate} requests/s to each of two servers, whatever they answer")
    asyncio.run(both())
    columns = f"{'0 apple':>9}{'0 receipt':>10}{'0 other':>8}{'21005':>7}{'other':>6}{'failed':>7}{'p50 s':>7}{'p99 s':>7}"
    print(f"{'second':<8}{'upstream':<18}" + "".join(f"| {'[' + order + ']':<{len(columns)}}" for order in orders))
    print(f"{'':<26}" + "".join(f"| {columns}" for _ in orders))

    def cells(results):
        counts = collections.Counter(outcome for _, outcome, _ in results)
        times = sorted(took for _, _, took in results) or [0]
        zero = collections.Counter({source: count for (status, source), count in counts.items() if status == "0"})
        failed = sum(count for (status, _), count in counts.items() if not status.isdigit() or len(status) == 3)
        unavailable = sum(count for (status, _), count in counts.items() if status == "21005")
        others = zero.total() - zero["apple"] - zero["receipt"]
        return (f"| {zero['apple']:>9,}{zero['receipt']:>10,}{others:>8,}{unavailable:>7,}"
                f"{len(results) - zero.total() - unavailable - failed:>6,}{failed:>7,}"
                f"{times[len(times) // 2]:>7.2f}{times[len(times) * 99 // 100]:>7.2f}")

    for second in range(0, int(seconds), step):
        print(f"{second:<8}{settings_at(second)[1]:<18}"
              + "".join(cells([row for row in load.results if second <= row[0] < second + step]) for load in loads))
    print(f"{'all':<26}" + "".join(cells(load.results) for load in loads), flush=True)


def slowdown(bench):
    """200 ms, then within 30 s up to 4 s, 20 s of that, and back; two minutes in all."""
    scale = 0.5 if bench.arguments.quick else 1

    def settings_at(second):
        second /= scale
        share = min(1, max(0, (second - 20) / 30)) if second < 70 else max(0, 1 - (second - 70) / 30)
        delay = round(200 + 3_800 * share)
        return {"delay": delay}, f"{delay:,} ms"
    under_change(bench, 120 * scale, settings_at)


def brownout(bench):
    """300 ms; meanwhile, for 40 s, one of three exchanges takes 8 s."""
    scale = 0.5 if bench.arguments.quick else 1

    def settings_at(second):
        isSlow = 20 <= second / scale < 60
        return {"delay": 300, "slow": 3 if isSlow else 0}, "300 ms" + (", 1 of 3 8 s" if isSlow else "")
    under_change(bench, 90 * scale, settings_at)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--answer", choices=["apple", "api", "stored"], default="apple",
                        help="source of the responses; api and stored use the simulated App Store, behind a relay "
                        "(default: %(default)s)")
    parser.add_argument("--rows", nargs="+", metavar="MS:CLIENTS[:SECONDS]", help="other rows than the usual ones")
    parser.add_argument("--seconds", type=int, help="length of each row")
    parser.add_argument("--runs", type=int, default=1, help="measure every row this many times, in turn, and print medians")
    parser.add_argument("--json", metavar="FILE", help="write the figures of all runs to this file")
    parser.add_argument("--customers", type=int, default=1_500)
    parser.add_argument("--store", default="none",
                        help="the key store; sqlite is a new file for each server. With a store the archive also answers, because "
                        "every receipt was sent before (default: %(default)s)")
    parser.add_argument("--jitter", type=float, default=0, metavar="PERCENT", help="variation of the delay")
    parser.add_argument("--reset", type=float, default=0, metavar="SHARE", help="share of exchanges that end with a reset (0.001)")
    parser.add_argument("--rate", type=int, default=300, help="requests/s of --slowdown and --brownout (default: %(default)s)")
    parser.add_argument("--tls", action="store_true", help="TLS between the servers and the upstream")
    parser.add_argument("--quick", action="store_true")
    for name, function in (("fairness", fairness), ("slowdown", slowdown), ("brownout", brownout)):
        parser.add_argument("--" + name, action="append_const", const=function, dest="scenarios", help=function.__doc__)
    arguments = parser.parse_args()
    missing = [name for name in ("wrk", "nginx", "openssl") if shutil.which(name) is None]
    if missing:
        sys.exit(f"missing: {', '.join(missing)} (apt-get install wrk nginx-light openssl)")
    if arguments.tls and arguments.answer != "apple":
        sys.exit("--tls is for --answer apple only")
    rows = QUICK if arguments.quick else ROWS if arguments.answer == "apple" else API_ROWS
    if arguments.rows:
        rows = [([*map(int, row.split(":"))] + [12])[:3] for row in arguments.rows]
    arguments.rows = [(delay, clients, arguments.seconds or seconds) for delay, clients, seconds in rows]
    print(f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, before the run")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder, arguments)
        try:
            bench.start()
            if arguments.scenarios:
                for scenario in arguments.scenarios:
                    scenario(bench)
                return
            if arguments.answer == "apple":
                upstream_alone(bench)
            if not arguments.quick and arguments.answer != "stored":
                one_at_a_time(bench)
            table(bench)
        finally:
            bench.stop()


main()
