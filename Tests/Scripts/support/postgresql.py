"""Starts PostgreSQL servers for tests: on loopback, in temporary folders, as an ordinary user. Tests/Scripts/support/postgresql.sh installs them."""
import atexit
import functools
import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

from measuring import cpu_seconds, free_port, wait

# Who runs PostgreSQL if the script was started by root, because its programs refuse to run as root.
USER = "nobody"


@functools.cache
def environment():
    """Returns the environment of PostgreSQL's programs, which are searched in PATH and in /usr/lib/postgresql."""
    found = dict(os.environ)
    found["PATH"] += os.pathsep + "/usr/sbin"
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
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
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


def command(program, *arguments):
    """Returns the command line that runs a program as an ordinary user."""
    if os.getuid() != 0:
        return [program, *arguments]
    user = pwd.getpwnam(USER)
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", program, *arguments]


class Database:
    """A PostgreSQL server in a folder of its own, on loopback and on a Unix socket."""

    def __init__(self, folder, name="primary", port=None, source=None, isNew=True):
        self.data, self.socket = os.path.join(folder, name), os.path.join(folder, name + ".s")
        self.port = port or free_port()
        if not isNew:
            return
        for path in (folder, self.socket):
            os.makedirs(path, exist_ok=True)
            if os.getuid() == 0:
                shutil.chown(path, USER)
        if source is None:
            self.run("initdb", "-D", self.data, "--no-sync", "-U", "bridge", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
            self.append("postgresql.conf", "shared_buffers = 32MB\nmax_connections = 200\nlisten_addresses = '127.0.0.1'\n"
                        "wal_retrieve_retry_interval = '100ms'\nlog_min_messages = fatal\n")
        else:
            self.run("pg_basebackup", "-h", source.socket, "-p", str(source.port), "-U", "bridge", "-D", self.data, "-R",
                     "-X", "stream", "-C", "-S", name, "-c", "fast")

    def append(self, name, text):
        """Adds lines to a configuration file of the server."""
        with open(os.path.join(self.data, name), "a") as file:
            file.write(text)

    def run(self, program, *arguments):
        done = subprocess.run(command(program, *arguments), capture_output=True, text=True, cwd="/", env=environment())
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
        subprocess.run(command("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop"), capture_output=True, cwd="/", env=environment())

    def sql(self, text, database="receipts"):
        output = self.run("psql", "-h", self.socket, "-p", str(self.port), "-U", "bridge", "-X", "-q", "-At", "-F", "\t",
                          "-v", "ON_ERROR_STOP=1", "-d", database, "-c", text)
        return [line.split("\t") for line in output.splitlines()]


class Certificates:
    """A certificate authority in a folder, and a certificate that it issues to a server."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.roots, self.root_key = self.path("roots.pem"), self.path("root.key")
        self.openssl("req", "-x509", "-days", "2", "-subj", f"/CN={name}", "-keyout", self.root_key, "-out", self.roots)

    def path(self, name):
        return os.path.join(self.folder, f"{self.name}-{name}")

    def openssl(self, command_name, *arguments):
        subprocess.run(["openssl", command_name, "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", *arguments],
                       check=True, capture_output=True)

    def issue(self, host):
        self.certificate, self.key = self.path("server.pem"), self.path("server.key")
        self.openssl("req", "-x509", "-days", "2", "-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}",
                     "-addext", "basicConstraints=critical,CA:FALSE", "-CA", self.roots, "-CAkey", self.root_key,
                     "-keyout", self.key, "-out", self.certificate)
        os.chmod(self.key, 0o600)
        if os.getuid() == 0:
            for path in (self.certificate, self.key):
                shutil.chown(path, USER)


def named_hosts(folder, *names):
    """Returns an environment in which these names are other names of 127.0.0.1."""
    libraries = glob.glob("/usr/lib/*/libnss_wrapper.so")
    if not libraries:
        sys.exit("libnss_wrapper.so is missing (apt-get install libnss-wrapper)")
    path = os.path.join(folder, "hosts")
    with open(path, "w") as file:
        file.writelines(f"127.0.0.1 {name}\n" for name in names)
    return {"LD_PRELOAD": libraries[0], "NSS_WRAPPER_HOSTS": path}


class Pool:
    """PgBouncer in transaction mode, in front of one database of a server."""

    def __init__(self, folder, database, name, size=20):
        self.port = free_port()
        ini = os.path.join(folder, "pgbouncer.ini")
        with open(ini, "w") as file:
            file.write(f"[databases]\n{name} = host=127.0.0.1 port={database.port} user=bridge dbname={name}\n[pgbouncer]\n"
                       f"listen_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\nauth_type = any\n"
                       f"pool_mode = transaction\ndefault_pool_size = {size}\nlogfile = {folder}/pgbouncer.log\n")
        self.process = subprocess.Popen(
            command("pgbouncer", "--quiet", ini), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
        if wait(self.accepts, 10) is None:
            sys.exit(f"PgBouncer does not start: {open(folder + '/pgbouncer.log').read()}")

    def accepts(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self):
        self.process.kill()
        self.process.wait()


# The control program of a server, see main().
CONTROL = """#!{python}
import sys
sys.path.insert(0, {scripts!r})
from postgresql import control
control({folder!r}, {port}, sys.argv[1])
"""


def control(folder, port, action):
    """Stops or starts a server, or suspends or resumes its processes."""
    database = Database(folder, port=port, isNew=False)
    actions = {"stop": database.stop, "start": database.start, "pause": lambda: database.signal(signal.SIGSTOP),
               "resume": lambda: database.signal(signal.SIGCONT)}
    actions[action]()


def main():
    """Runs a command with a server and a pool, and ends with its exit code. On 127.0.0.1, the user `guarded` needs the password
    `open sesame`. The command finds in its environment:

    - RECEIPT_BRIDGE_TEST_POSTGRESQL: connection parameters of a superuser, such as `host=/tmp/x port=5433 user=bridge dbname=bridge`
    - RECEIPT_BRIDGE_TEST_POSTGRESQL_CONTROL: a program with one argument: stop, start, pause (SIGSTOP) or resume
    - RECEIPT_BRIDGE_TEST_PGBOUNCER: connection parameters of PgBouncer in transaction mode
    """
    folder = tempfile.mkdtemp(prefix="postgresql.")
    os.chmod(folder, 0o755)
    database, pool = Database(folder), None
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with open(os.path.join(database.data, "pg_hba.conf"), "w") as file:
            file.write("local all all trust\nhost all guarded 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n")
        database.start()
        database.sql("CREATE DATABASE bridge", "postgres")
        database.sql("CREATE ROLE guarded LOGIN PASSWORD 'open sesame'", "postgres")
        pool = Pool(folder, database, "bridge", size=2)
        program = os.path.join(folder, "control")
        with open(program, "w") as file:
            file.write(CONTROL.format(python=sys.executable, scripts=os.path.dirname(os.path.abspath(__file__)), folder=folder,
                                      port=database.port))
        os.chmod(program, 0o755)
        done = subprocess.run(sys.argv[1:], env=os.environ | {
            "RECEIPT_BRIDGE_TEST_POSTGRESQL": f"host={database.socket} port={database.port} user=bridge dbname=bridge",
            "RECEIPT_BRIDGE_TEST_POSTGRESQL_CONTROL": program,
            "RECEIPT_BRIDGE_TEST_PGBOUNCER": f"host=127.0.0.1 port={pool.port} user=bridge dbname=bridge"})
    finally:
        if pool:
            pool.stop()
        # A test that was interrupted may have left the server suspended.
        try:
            database.signal(signal.SIGCONT)
        except FileNotFoundError:
            pass
        database.stop("immediate")
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
