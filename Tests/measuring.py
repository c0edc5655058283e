"""Shared functions of the measuring scripts: start processes and wait until they are ready, read their CPU time, run wrk."""
import http.server
import json
import os
import re
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
import urllib.request


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def write_figures(path, figures):
    """Writes the values of several runs for Tests/compare_benchmarks.py: for each name the unit and a list of values."""
    with open(path, "w") as file:
        json.dump(figures, file, indent=1, ensure_ascii=False)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(arguments, marker):
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if marker in line:
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return process, re.search(r"http://[^\s\"]+", line).group(0)
    sys.exit(f"{arguments} ended before it was ready, exit code {process.wait()}")


def stop(process):
    process.send_signal(signal.SIGTERM)
    process.wait()


def post(url, body):
    request = urllib.request.Request(url, data=body if isinstance(body, bytes) else json.dumps(body).encode())
    with urllib.request.urlopen(request) as response:
        return response.headers, json.loads(response.read() or b"null")


def script(folder, path, bodies, name, unique=False):
    """Writes a wrk script that posts the bodies in turn, and starts again after the last one.

    With `unique`, each request has a further member with another number, so that no body is ever repeated.
    """
    data = os.path.join(folder, name + ".bodies")
    with open(data, "wb") as file:
        for body in bodies:
            file.write(body + b"\n")
    lua = os.path.join(folder, name + ".lua")
    if unique:
        with open(lua, "w") as file:
            file.write(f"""local bodies, next = {{}}, 0
init = function(args)
  for line in io.lines("{data}") do
    bodies[#bodies + 1] = line:match("^(.*)}}%s*$")
  end
end
request = function()
  next = next + 1
  return wrk.format("POST", "{path}", nil, bodies[next % #bodies + 1] .. ',"n":' .. next .. "}}")
end
""")
        return lua
    with open(lua, "w") as file:
        file.write(f"""local requests, next = {{}}, 0
init = function(args)
  for line in io.lines("{data}") do
    requests[#requests + 1] = wrk.format("POST", "{path}", nil, line)
  end
end
request = function()
  next = next % #requests + 1
  return requests[next]
end
""")
    return lua


def wrk(server, lua, seconds, connections=16):
    """Returns the requests, requests per second, microseconds of the server's CPU time per request, and the latencies p50 and p99."""
    process, url = server
    before = cpu_seconds(process.pid)
    output = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", lua, url],
        check=True, capture_output=True, text=True).stdout
    if "Non-2xx" in output or "Socket errors" in output:
        print(output)
        sys.exit("not all requests got a response with status 200")
    requests = int(re.search(r"(\d+) requests in", output).group(1))
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", output).group(1))
    cpu = (cpu_seconds(process.pid) - before) / requests * 1e6
    return requests, rate, cpu, *re.search(r"50%\s+([\d.]+\S+)[\s\S]*99%\s+([\d.]+\S+)", output).groups()


def wait(condition, seconds, step=0.05):
    """Returns the seconds until the condition was true; `None` if it was not in time."""
    begin = time.monotonic()
    while True:
        if condition():
            return time.monotonic() - begin
        if time.monotonic() - begin > seconds:
            return None
        time.sleep(step)


class Catcher(http.server.BaseHTTPRequestHandler):
    """Stores the notifications that the simulated App Store sends."""
    bodies = []
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Catching(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


def notifications(simulator, count):
    """Returns the bodies of the notifications that `count` events cause. All of them are different."""
    with Catching(("127.0.0.1", 0), Catcher) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        post(simulator + "/notifications/targets", {"url": f"http://127.0.0.1:{server.server_port}/"})
        post(simulator + "/events", {"count": count, "seed": 1, "concurrency": 16})
        while json.load(urllib.request.urlopen(simulator + "/notifications/deliveries"))["waiting"]:
            time.sleep(0.2)
        server.shutdown()
    return Catcher.bodies
