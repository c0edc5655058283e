"""Shared functions of the measuring scripts: start processes and wait until they are ready, read their CPU time and memory, run wrk."""
import collections
import http.client
import http.server
import json
import os
import re
import resource
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
import urllib.request


def cpu_seconds(pid):
    """Returns the CPU time of a process and of its children, for example of the workers of nginx."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        children = file.read().split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + sum(map(cpu_seconds, children))


def memory(pid):
    """Returns the resident memory of a process in MB, now and at most."""
    with open(f"/proc/{pid}/status") as file:
        text = file.read()
    return [int(re.search(name + r":\s+(\d+)", text).group(1)) / 1024 for name in ("VmRSS", "VmHWM")]


def write_figures(path, figures):
    """Writes the values of several runs for Tests/Scripts/bench/compare_benchmarks.py: for each name the unit and a list of values."""
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


def nginx(folder, name, server, workers=1):
    """Starts nginx with the given `server` block. PORT in it becomes a free port.

    - workers: the number of worker processes, or `auto` for one on each core
    """
    port = free_port()
    home = os.path.join(folder, name)
    os.makedirs(home)
    config = os.path.join(home, "nginx.conf")
    with open(config, "w") as file:
        # Otherwise the workers of root's nginx run as another user, which cannot write to the folder.
        user = "user root;" if os.geteuid() == 0 else ""
        file.write(f"""{user} daemon off; master_process {"off" if workers == 1 else "on"}; worker_processes {workers}; pid {home}/pid;
error_log {home}/error.log; worker_rlimit_nofile {resource.getrlimit(resource.RLIMIT_NOFILE)[1]};
events {{ worker_connections {4096 if workers == 1 else 16384}; }}
http {{
  access_log off; client_max_body_size 4m; client_body_buffer_size 1m; keepalive_requests 1000000;
  client_body_temp_path {home}/body; proxy_temp_path {home}/proxy; fastcgi_temp_path {home}/fastcgi;
  uwsgi_temp_path {home}/uwsgi; scgi_temp_path {home}/scgi;
  {server.replace("PORT", str(port))}
}}
""")
    process = subprocess.Popen(["nginx", "-e", os.path.join(home, "error.log"), "-c", config])
    if wait(lambda: is_open(port), 5, 0.01) is None:
        sys.exit(f"no server listens at port {port}")
    return process, f"http://127.0.0.1:{port}"


def is_open(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def ask(port, method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


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


COUNTING = """
counts, threads = {}, {}
response = function(status, headers, body)
  local key = (status == 200 and body:match('"status"%s*:%s*(%d+)') or "HTTP" .. status)
    .. " " .. (headers["Receipt-Bridge-Source"] or "-")
  counts[key] = (counts[key] or 0) + 1
end
setup = function(thread) table.insert(threads, thread) end
done = function(summary, latency)
  for _, thread in ipairs(threads) do
    for key, count in pairs(thread:get("counts")) do io.write("counted ", count, " ", key, "\\n") end
  end
  local errors = summary.errors
  io.write("figures ", summary.duration, " ", latency:percentile(50), " ", latency:percentile(99), " ",
    errors.connect + errors.read + errors.write, " ", errors.timeout, "\\n")
end
"""


class Load:
    """The result of a run of wrk with a script that counts.

    - counts: responses by (status of the body as text or HTTP and its status, source)
    - p50, p99: latency in ms
    - failures, timeouts: of connections
    """

    def __init__(self, output):
        self.counts = collections.Counter()
        for count, status, source in re.findall(r"^counted (\d+) (\S+) (\S+)$", output, re.M):
            self.counts[status, source] += int(count)
        figures = [float(figure) for figure in re.search(r"^figures (.*)$", output, re.M).group(1).split()]
        self.seconds, self.p50, self.p99 = figures[0] / 1e6, figures[1] / 1e3, figures[2] / 1e3
        self.failures, self.timeouts = map(int, figures[3:])
        self.responses = sum(self.counts.values())

    def of(self, status):
        return sum(count for (found, _), count in self.counts.items() if found == status)


def counting(lua):
    """Lets a script of `script` count statuses and sources, for `start_load`."""
    with open(lua, "a") as file:
        file.write(COUNTING)
    return lua


def start_load(url, lua, seconds, connections):
    """Starts wrk. Returns a function that waits for its end and returns a `Load`. Errors and timeouts are part of the result."""
    process = subprocess.Popen(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "60s", "-s", lua, url],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def result():
        output = process.communicate()[0]
        if process.returncode:
            sys.exit(f"wrk failed: {output}")
        return Load(output)
    return result


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
