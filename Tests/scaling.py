#!/usr/bin/env python3
"""Runs the page "Two servers behind nginx" of docs/SCALING.md as it stands, and compares what it prints with the page.

All blocks of shell commands of that section run in one bash, in an empty folder. A block of text after a block of commands is the
expected output of these commands; commands without such a block must print nothing. The ports are those of the page.
"""
import argparse
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import postgresql

PAGE = Path(__file__).resolve().parent.parent / "docs/SCALING.md"
SECTION = "Two servers behind nginx"
BLOCK = re.compile(r"```sh\n(.*?)```\n(?:\n?```text\n(.*?)```\n)?", re.S)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--seconds", type=int, default=120, help="the page must end within this time (default: %(default)s)")
    arguments = parser.parse_args()
    section = PAGE.read_text().split(f"\n## {SECTION}\n")[1].split("\n## ")[0]
    blocks = BLOCK.findall(section)
    commands = "".join(block for block, _ in blocks)
    if len(blocks) != section.count("```sh\n") or len(blocks) < 2:
        sys.exit(f"{PAGE.name}: the blocks of {SECTION} cannot be read")
    for port in sorted(set(re.findall(r"127\.0\.0\.1:(\d{4})", commands)) | set(re.findall(r"port = (\d+)", commands))):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", int(port)))
            except OSError:
                sys.exit(f"port {port} is in use")
    folder = tempfile.mkdtemp(prefix="receipt-bridge-scaling.")
    tool = os.path.join(folder, "receipt-bridge")
    shutil.copy(arguments.tool, tool)
    # PostgreSQL refuses to run as root.
    if os.getuid() == 0:
        shutil.chown(folder, postgresql.USER)
    # Two marks around the output of each block; a failed command ends the script before the next mark.
    script = "set -eo pipefail\nexport LC_ALL=C.UTF-8\n" + "".join(
        f"{block}printf '\\n--- %s\\n' {number}\n" for number, (block, _) in enumerate(blocks))
    environment = postgresql.environment() | {"HOME": folder, "PATH": f"{folder}:{postgresql.environment()['PATH']}", "no_proxy": "*"}
    command = ["bash", "-c", script]
    if os.getuid() == 0:
        command = ["runuser", "-u", postgresql.USER, "--", *command]
    with open(os.path.join(folder, "output"), "w+") as output:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code = process.wait(arguments.seconds)
        except subprocess.TimeoutExpired:
            code = "none: it did not end in time"
        finally:
            clean_up(folder, process)
        output.seek(0)
        printed = re.split(r"\n--- \d+\n", output.read())
    failures = [] if code == 0 else [f"exit code {code}"]
    for (block, expected), found in zip(blocks, printed):
        if found.rstrip() != expected.rstrip():
            failures.append(f"{block}\nprinted:\n{found.rstrip()}\nexpected:\n{expected.rstrip()}")
    if failures:
        for name in ("a.log", "b.log", "store.log", "nginx.log", "postgresql.log"):
            log = Path(folder, "two-servers", name)
            if log.exists():
                print(f"{name}:\n{log.read_text()[-1_500:]}")
        print("\n".join(failures))
    shutil.rmtree(folder, ignore_errors=True)
    if failures:
        sys.exit(f"{PAGE.name}: {SECTION} does not do what it says")
    print(f"{PAGE.name}: {len(blocks)} blocks of {SECTION} ran and printed what the page says")


def clean_up(folder, process):
    """Ends what an interrupted page has left: the group of its shell, and the two servers that have a group of their own."""
    for name in ("nginx.pid", "data/postmaster.pid"):
        try:
            os.kill(int(Path(folder, "two-servers", name).read_text().split()[0]), signal.SIGQUIT)
        except (OSError, ValueError, IndexError):
            pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


main()
