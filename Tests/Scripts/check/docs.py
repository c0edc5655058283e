#!/usr/bin/env python3
"""Runs the commands of the documents as they stand.

    python3 Tests/Scripts/check/docs.py --tool .build/release/receipt-bridge [PAGE...]

All blocks marked `sh` of a page run in one bash, in the order of the page, with `receipt-bridge` in PATH. The folder is empty
except for Mappings, Receipts and docs of this checkout. A page fails at the first command that fails.

A block marked `text` directly after a block of commands is what these commands print to standard output; `…` stands for any text.
Other blocks, for example `console`, are for commands that need Apple, root, a cluster or a whole checkout. They do not run.

A page that needs more than the tool, curl and jq says so in a comment: <!-- needs: nginx (nginx-light), psql (postgresql) -->
names programs, and in parentheses their Debian packages.

A loop that waits for a server must end, and with the server, see `WAITING`. README's first block is also run while another program
has one of its ports: it must end within seconds, and say which port.

If the kernel allows it, every page has a network of its own, so the ports of the pages need not be free, and two pages run at a
time. As root, the commands run as the user `nobody`, because PostgreSQL refuses to run as root.
"""
import argparse
import ctypes
import fcntl
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import postgresql

ROOT = Path(__file__).resolve().parents[3]
BLOCK = re.compile(r"^( *)```sh\n(.*?)^ *```\n(?:\n* *```text\n(.*?)^ *```\n)?", re.S | re.M)
NEEDS = re.compile(r"<!-- needs: (.*?) -->")
WAITING = "for try in $(seq 99); do sleep 0.2; kill -0 $! && ! curl "
PORTS = [8000, 8080, 8081, 8082, 8083, 8090, 5433]
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCSIFFLAGS, IFF_UP_RUNNING = 0x8914, 0x41


class Page:
    """One document with its blocks of commands and what each of them prints."""

    def __init__(self, path):
        self.path = path
        text = path.read_text()
        self.name = str(path.relative_to(ROOT))
        self.blocks = [(re.sub(f"^{indent}", "", block, flags=re.M), output) for indent, block, output in BLOCK.findall(text)]
        if len(self.blocks) != len(re.findall(r"^ *```sh$", text, re.M)):
            sys.exit(f"{self.name}: a block of commands cannot be read")
        for line in re.findall(r"^.*\bdo\b.*$", "".join(block for block, _ in self.blocks), re.M):
            if "curl" in line and ("until " in line or "while " in line or "sleep" in line) and not line.startswith(WAITING):
                sys.exit(f"{self.name}: this loop does not end with the server, write {WAITING}…: {line}")
        found = NEEDS.search(text)
        self.needs = re.findall(r"([\w.-]+) \(([\w.-]+)\)", found.group(1)) if found else []
        self.needs += [("curl", "curl"), ("jq", "jq")]

    def script(self, taken=None):
        """Returns the commands, with a mark after the output of each block. A failed command ends the script before the mark. With
        `taken`, only the first block, while another server has that port."""
        if taken:
            return f"python3 -m http.server {taken} --bind 127.0.0.1 2>/dev/null & sleep 1\nset -eo pipefail\n{self.blocks[0][0]}"
        return "set -eo pipefail\n" + "".join(f"{block}printf '\\n--- %s\\n' {number}\n"
                                              for number, (block, _) in enumerate(self.blocks))


def pages(names):
    files = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    chosen = [Path(name).resolve() for name in names] or [ROOT / name for name in files if (ROOT / name).exists()]
    return [page for page in map(Page, chosen) if page.blocks]


def isolate():
    """Gives the current process a network of its own, with loopback only."""
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET | (CLONE_NEWUSER if user else 0)) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    if user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP_RUNNING))


def can_isolate():
    return subprocess.run(["true"], preexec_fn=isolate).returncode == 0


def port_in_use():
    for port in PORTS:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                return port


def run(page, tools, seconds, isolated, taken=None):
    """Runs one page and returns what is wrong with it, or nothing. With `taken`, the page must say that this port is in use."""
    folder = tempfile.mkdtemp(prefix="receipt-bridge-docs.")
    for name in ("Mappings", "Receipts", "docs"):
        shutil.copytree(ROOT / name, Path(folder, name))
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", postgresql.USER, folder], check=True)
    environment = page.environment | {"HOME": folder, "PATH": f"{tools}:{page.environment['PATH']}", "no_proxy": "*",
                                      "LC_ALL": "C.UTF-8"}
    for name in [name for name in environment if name.startswith("RECEIPT_BRIDGE_")]:
        del environment[name]
    with open(os.path.join(folder, ".output"), "w+") as output, open(os.path.join(folder, ".errors"), "w+") as errors:
        process = subprocess.Popen(postgresql.command("bash", "-c", page.script(taken)), cwd=folder, env=environment,
                                   stdin=subprocess.DEVNULL, stdout=output, stderr=errors, start_new_session=True,
                                   preexec_fn=isolate if isolated else None)
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = f"none: it did not end within {seconds} seconds"
        finally:
            clean_up(folder, process)
        output.seek(0)
        errors.seek(0)
        printed = re.split(r"\n--- \d+\n", output.read())
        complaints = errors.read()
    failures = []
    if taken:
        shutil.rmtree(folder, ignore_errors=True)
        return [] if isinstance(code, int) and re.search(rf"127.0.0.1:{taken}\b.* already in use", complaints) else [f"port {taken}: {code}\n{complaints}"]
    if code != 0:
        failures.append(f"exit code {code} in the block\n{page.blocks[min(len(printed), len(page.blocks)) - 1][0]}"
                        f"{printed[-1][-2_000:]}{complaints[-4_000:]}")
    for (block, expected), found in zip(page.blocks, printed[:-1]):
        if expected and not matches(expected, found):
            failures.append(f"{block}printed:\n{found.rstrip()}\nexpected:\n{expected.rstrip()}")
    shutil.rmtree(folder, ignore_errors=True)
    return failures


def matches(expected, found):
    """Compares an output with the page. Runs of white space are equal, because the page may break lines."""
    pieces = [r"\s+".join(map(re.escape, piece.split())) for piece in expected.split("…")]
    return re.fullmatch(r"\s*" + r"\s*.*?\s*".join(pieces) + r"\s*", found, re.S) is not None


def clean_up(folder, process):
    """Ends what a page leaves running: the group of its shell, and servers that have a group of their own."""
    for name in ("nginx.pid", "postmaster.pid"):
        for file in Path(folder).rglob(name):
            try:
                os.kill(int(file.read_text().split()[0]), signal.SIGQUIT)
            except (OSError, ValueError, IndexError):
                pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--seconds", type=int, default=300, help="a page must end within this time (default: %(default)s)")
    parser.add_argument("pages", nargs="*")
    arguments = parser.parse_args()
    found = pages(arguments.pages)
    if not found or len(found) < len(arguments.pages):
        sys.exit("no commands were found in " + (", ".join(arguments.pages) or "any document"))
    missing = set()
    for page in found:
        database = any(program in ("psql", "initdb") for program, _ in page.needs)
        page.environment = postgresql.environment() if database else dict(os.environ)
        path = page.environment["PATH"] + ":/usr/sbin"
        missing |= {package for program, package in page.needs if not shutil.which(program, path=path)}
    if missing:
        sys.exit("the documents need these packages: apt-get install " + " ".join(sorted(missing)))
    isolated = can_isolate()
    if not isolated and (port := port_in_use()):
        sys.exit(f"port {port} is in use, and this kernel does not allow a network for each page")
    tools = tempfile.mkdtemp(prefix="receipt-bridge-tool.")
    os.chmod(tools, 0o755)
    shutil.copy(arguments.tool, os.path.join(tools, "receipt-bridge"))

    def timed(page):
        begin = time.monotonic()
        failures = run(page, tools, arguments.seconds, isolated)
        verdict = "failed" if failures else "ran"
        print("\n".join([f"{page.name}: {len(page.blocks)} blocks {verdict} ({time.monotonic() - begin:.0f} s)", *failures]), flush=True)
        return not failures

    try:
        with ThreadPoolExecutor(2 if isolated else 1) as pool:
            good = list(pool.map(timed, found))
        if isolated and (readme := next((page for page in found if page.name == "README.md"), None)):
            failures = [line for port in (8090, 8080, 8081) for line in run(readme, tools, 30, isolated, port)]
            print("\n".join(["README.md: a port that is in use is " + ("not named" if failures else "named"), *failures]), flush=True)
            good.append(not failures)
        elif not isolated:
            print("SKIPPED, because this kernel does not allow a network for each page: README.md with a port that is in use")
    finally:
        shutil.rmtree(tools, ignore_errors=True)
    if not all(good):
        sys.exit(f"{good.count(False)} of {len(found)} pages do not do what they say")
    print(f"documents: {sum(len(page.blocks) for page in found)} blocks of {len(found)} pages ran")


main()
