"""A headless browser, controlled with the DevTools protocol. Uses only Python's standard library.

https://chromedevtools.github.io/devtools-protocol/
"""

import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"


def find_browser():
    """Returns the path of a browser. As root, installs Chromium with apt-get if there is none; otherwise exits with a message."""
    for _ in range(2):
        for name in NAMES:
            if path := shutil.which(name):
                return path
        if os.path.exists(MAC):
            return MAC
        if not shutil.which("apt-get") or os.geteuid() != 0:
            break
        subprocess.run(["apt-get", "update"], stdout=subprocess.DEVNULL, check=False)
        subprocess.run(["apt-get", "install", "-y", "chromium"], stdout=subprocess.DEVNULL, check=False)
    sys.exit("Chromium or Chrome is not installed: install one, for example with `apt-get install chromium`")


class Socket:
    """A WebSocket client for text messages."""

    def __init__(self, address):
        host, path = address.removeprefix("ws://").split("/", 1)
        name, port = host.split(":")
        self.socket = socket.create_connection((name, int(port)), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            self.buffer += self.socket.recv(65536)
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        assert b" 101 " in head.split(b"\r\n")[0], head

    def send(self, text):
        data = text.encode()
        mask = os.urandom(4)
        size = len(data)
        if size < 126:
            head = struct.pack("!BB", 0x81, 0x80 | size)
        elif size < 65536:
            head = struct.pack("!BBH", 0x81, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", 0x81, 0x80 | 127, size)
        self.socket.sendall(head + mask + bytes(byte ^ mask[index % 4] for index, byte in enumerate(data)))

    def receive(self):
        message = b""
        while True:
            first, second = self.read(2)
            size = second & 0x7F
            if size == 126:
                size = struct.unpack("!H", self.read(2))[0]
            elif size == 127:
                size = struct.unpack("!Q", self.read(8))[0]
            data = self.read(size)
            if first & 0x0F in (0, 1):
                message += data
                if first & 0x80:
                    return message.decode()
            elif first & 0x0F == 8:
                raise ConnectionError("the browser closed the connection")

    def read(self, count):
        while len(self.buffer) < count:
            data = self.socket.recv(1 << 20)
            if not data:
                raise ConnectionError("the browser ended")
            self.buffer += data
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data


class Browser:
    """A browser process with one page. Use it in a `with` statement."""

    def __init__(self, netlog):
        self.folder = tempfile.mkdtemp(prefix="browser-")
        self.process = subprocess.Popen(
            [find_browser(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--disable-default-apps", "--disable-extensions", "--remote-debugging-port=0",
             "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", f"--log-net-log={netlog}",
             f"--user-data-dir={self.folder}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port = self.port()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list") as response:
            pages = [page for page in json.load(response) if page["type"] == "page"]
        self.socket = Socket(pages[0]["webSocketDebuggerUrl"])
        self.last = 0
        self.events = []
        for domain in ["Page", "Runtime", "Network", "Log", "DOM", "Accessibility"]:
            self.call(f"{domain}.enable")

    def port(self):
        path = os.path.join(self.folder, "DevToolsActivePort")
        for _ in range(600):
            if os.path.exists(path) and (lines := open(path).read().split()):
                return lines[0]
            time.sleep(0.1)
        sys.exit("the browser did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
        except (ConnectionError, OSError):
            pass
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, **parameters):
        self.last += 1
        self.socket.send(json.dumps({"id": self.last, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.receive())
            if message.get("id") == self.last:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def wait(self, method):
        """Waits until an event arrives. Returns at once if it is among the received events."""
        while not any(event["method"] == method for event in self.events):
            self.events.append(json.loads(self.socket.receive()))

    def open(self, address):
        self.call("Page.navigate", url="about:blank")
        self.events = [event for event in self.events if event["method"] != "Page.loadEventFired"]
        self.call("Page.navigate", url=address)
        self.wait("Page.loadEventFired")
        while self.evaluate("document.readyState") != "complete" or self.evaluate("location.href") == "about:blank":
            time.sleep(0.05)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"]))
        return result["result"].get("value")

    KEYS = {"Tab": (9, ""), "Enter": (13, "\r"), "ArrowDown": (40, ""), " ": (32, " ")}

    def press(self, key):
        code, text = self.KEYS.get(key, (ord(key[0].upper()), key))
        for kind in ["keyDown", "keyUp"]:
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code,
                **({"text": text} if text and kind == "keyDown" else {}))

    def screenshot(self, path, whole=True, clip=None):
        parameters = {"format": "png", "captureBeyondViewport": whole}
        if clip:
            parameters["clip"] = {**clip, "scale": 1}
        elif whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            parameters["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", **parameters)["data"]))
