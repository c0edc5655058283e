"""Starts PostgreSQL servers for tests: on loopback, in temporary folders, as an ordinary user."""
import functools
import glob
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile

from measuring import cpu_seconds, free_port

# Who runs PostgreSQL if the script was started by root, because its programs refuse to run as root.
USER = "nobody"


@functools.cache
def environment():
    """Returns the environment of PostgreSQL's programs, which are searched in PATH and in /usr/lib/postgresql."""
    found = dict(os.environ)
    for folder in sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4])):
        found["PATH"] = folder + os.pathsep + found["PATH"]
    for program in ("initdb", "pg_ctl", "psql", "pg_basebackup"):
        if not shutil.which(program, path=found["PATH"]):
            sys.exit(f"{program} is missing (apt-get install postgresql)")
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        # initdb looks up the name of the user, so one without an entry in the user database gets one.
        folder = tempfile.mkdtemp(prefix="receipt-bridge-user.")
        for name, text in (("PASSWD", f"bridge:x:{os.getuid()}:{os.getgid()}::{folder}:/bin/false\n"),
                           ("GROUP", f"bridge:x:{os.getgid()}:\n")):
            found["NSS_WRAPPER_" + name] = os.path.join(folder, name.lower())
            with open(found["NSS_WRAPPER_" + name], "w") as file:
                file.write(text)
        libraries = glob.glob("/usr/lib/*/libnss_wrapper.so")
        if not libraries:
            sys.exit("this user has no entry in the user database, which initdb needs (apt-get install libnss-wrapper)")
        found["LD_PRELOAD"] = libraries[0]
    return found


class Database:
    """A PostgreSQL server in a folder of its own, on loopback."""

    def __init__(self, folder, name="primary", port=None, source=None):
        self.data, self.socket = os.path.join(folder, name), os.path.join(folder, name + ".s")
        self.port = port or free_port()
        for path in (folder, self.socket):
            os.makedirs(path, exist_ok=True)
            if os.getuid() == 0:
                shutil.chown(path, USER)
        if source is None:
            self.run("initdb", "-D", self.data, "--no-sync", "-U", "bridge", "-A", "trust", "-E", "UTF8", "--locale=C")
            with open(os.path.join(self.data, "postgresql.conf"), "a") as file:
                file.write("shared_buffers = 32MB\nmax_connections = 60\nlisten_addresses = '127.0.0.1'\n"
                           "wal_retrieve_retry_interval = '100ms'\nlog_min_messages = fatal\n")
        else:
            self.run("pg_basebackup", "-h", source.socket, "-p", str(source.port), "-U", "bridge", "-D", self.data, "-R",
                     "-X", "stream", "-C", "-S", name, "-c", "fast")

    def command(self, program, *arguments):
        return (["runuser", "-u", USER, "--"] if os.getuid() == 0 else []) + [program, *arguments]

    def run(self, program, *arguments):
        done = subprocess.run(self.command(program, *arguments), capture_output=True, text=True, cwd="/", env=environment())
        if done.returncode != 0:
            sys.exit(f"{program} failed: {done.stderr or done.stdout}")
        return done.stdout

    def start(self, *options):
        settings = " ".join([f"-k {self.socket} -p {self.port}", *(f"-c {option}" for option in options)])
        self.run("pg_ctl", "-D", self.data, "-w", "-t", "60", "-l", self.data + ".log", "-o", settings, "start")
        return self

    def processes(self):
        """Returns the ids of the postmaster and its children."""
        with open(os.path.join(self.data, "postmaster.pid")) as file:
            postmaster = int(file.readline())
        children = subprocess.run(["pgrep", "-P", str(postmaster)], capture_output=True, text=True).stdout.split()
        return [postmaster, *map(int, children)]

    def cpu_seconds(self):
        """Returns the CPU time of the server, including connections that have ended."""
        total = 0
        for process in self.processes():
            try:
                total += cpu_seconds(process)
            except FileNotFoundError:
                pass
        with open(f"/proc/{self.processes()[0]}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return total + (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")

    def signal(self, number):
        for process in self.processes():
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass

    def stop(self, mode="fast"):
        subprocess.run(self.command("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop"), capture_output=True, cwd="/", env=environment())

    def sql(self, text, database="receipts"):
        output = self.run("psql", "-h", self.socket, "-p", str(self.port), "-U", "bridge", "-X", "-q", "-At", "-F", "\t",
                          "-v", "ON_ERROR_STOP=1", "-d", database, "-c", text)
        return [line.split("\t") for line in output.splitlines()]


def main():
    """Runs a command with a server, whose parameters are in RECEIPT_BRIDGE_TEST_POSTGRESQL, and ends with its exit code."""
    folder = tempfile.mkdtemp(prefix="postgresql.")
    os.chmod(folder, 0o755)
    database = Database(folder)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        database.start()
        database.sql("CREATE DATABASE bridge", "postgres")
        parameters = f"host={database.socket} port={database.port} user=bridge dbname=bridge"
        done = subprocess.run(sys.argv[1:], env=os.environ | {"RECEIPT_BRIDGE_TEST_POSTGRESQL": parameters})
    finally:
        database.stop("immediate")
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
