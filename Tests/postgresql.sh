#!/bin/sh
# Runs a command with a PostgreSQL server of its own, and stops the server in any case.
#
#   Tests/postgresql.sh COMMAND…
#
# The server is in a temporary folder and listens on a Unix socket and a port of 127.0.0.1. The command finds in its environment:
#   RECEIPT_BRIDGE_TEST_POSTGRESQL  connection parameters of a superuser, such as `host=/tmp/x port=5433 user=bridge dbname=bridge`
#   RECEIPT_BRIDGE_TEST_POSTGRESQL_CONTROL  a program with one argument: stop, start, pause (SIGSTOP) or resume
#   RECEIPT_BRIDGE_TEST_PGBOUNCER  connection parameters of PgBouncer in transaction mode
# On 127.0.0.1 the user `guarded` needs the password `open sesame`.
#
# If PostgreSQL, PgBouncer or libnss-wrapper is missing, it installs the Debian packages with apt-get, as root or with sudo.
set -eu

say() { echo "postgresql.sh: $1" >&2; }

server_programs() {
    for folder in /usr/lib/postgresql/*/bin; do
        if [ -x "$folder/initdb" ]; then echo "$folder"; fi
    done | sort -V | tail -n 1
}

bouncer_program() { PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v pgbouncer || true; }

name_wrapper() { ls /usr/lib/*/libnss_wrapper.so 2>/dev/null | head -n 1; }

has_name() { id -un >/dev/null 2>&1; }

# As root, libnss-wrapper is installed for a later run by a user without a name.
if [ -z "$(server_programs)" ] || [ -z "$(bouncer_program)" ] ||
    { [ -z "$(name_wrapper)" ] && { [ "$(id -u)" = 0 ] || ! has_name; }; }; then
    sudo=""
    if [ "$(id -u)" != 0 ]; then
        if ! sudo -n true 2>/dev/null; then
            say "the Debian packages postgresql, libpq5, pgbouncer and libnss-wrapper are needed; only root can install them"
            exit 2
        fi
        sudo=sudo
    fi
    say "installing postgresql, libpq5, pgbouncer and libnss-wrapper"
    $sudo apt-get update -qq >&2
    # Without this file, the package creates a cluster and starts it.
    $sudo mkdir -p /etc/postgresql-common
    [ -e /etc/postgresql-common/createcluster.conf ] ||
        echo "create_main_cluster = false" | $sudo tee /etc/postgresql-common/createcluster.conf >/dev/null
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        postgresql libpq5 pgbouncer libnss-wrapper >&2
fi
programs=$(server_programs)
bouncer=$(bouncer_program)
if [ -z "$programs" ] || [ -z "$bouncer" ]; then
    say "PostgreSQL or PgBouncer is not installed"
    exit 2
fi

folder=$(mktemp -d /tmp/receipt-bridge-postgresql.XXXXXX)
# PostgreSQL refuses to run as root, and as a user without an entry in the user database, which libnss-wrapper adds.
as_server=""
if [ "$(id -u)" = 0 ]; then
    user=postgres
    id -u $user >/dev/null 2>&1 || user=nobody
    chown $user "$folder"
    as_server="setpriv --reuid=$(id -u $user) --regid=$(id -g $user) --clear-groups"
elif ! has_name; then
    echo "bridge:x:$(id -u):$(id -g)::$folder:/bin/false" >"$folder/passwd"
    echo "bridge:x:$(id -g):" >"$folder/group"
    as_server="env LD_PRELOAD=$(name_wrapper) NSS_WRAPPER_PASSWD=$folder/passwd NSS_WRAPPER_GROUP=$folder/group"
fi
chmod 0755 "$folder"

# Two free ports of 127.0.0.1.
ports=$(python3 -c '
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*[each.getsockname()[1] for each in sockets])')
port=${ports% *}
bouncer_port=${ports#* }

cat >"$folder/control" <<END
#!/bin/sh
# Stops, starts, pauses or resumes the server.
set -eu
cd "$folder"
server() { head -n 1 "$folder/data/postmaster.pid"; }
# A process can end before it gets the signal.
signal() { for process in \$(processes); do kill -"\$1" "\$process" 2>/dev/null || true; done; }
processes() { echo "\$(server) \$(cat "/proc/\$(server)/task/\$(server)/children")"; }
case \$1 in
    start) $as_server "$programs/pg_ctl" --pgdata "$folder/data" --log "$folder/server.log" --wait --silent start >/dev/null ;;
    stop) $as_server "$programs/pg_ctl" --pgdata "$folder/data" --mode \${2:-fast} --wait --silent stop >/dev/null ;;
    pause) signal STOP ;;
    resume) signal CONT ;;
    *) exit 2 ;;
esac
END
chmod 0755 "$folder/control"

finish() {
    status=$?
    trap - EXIT INT TERM
    if [ -s "$folder/data/postmaster.pid" ]; then
        "$folder/control" resume 2>/dev/null || true
        "$folder/control" stop immediate || say "the server cannot be stopped"
    fi
    if [ -s "$folder/bouncer.pid" ]; then kill "$(cat "$folder/bouncer.pid")" 2>/dev/null || true; fi
    rm -rf "$folder"
    exit $status
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

cd_here=$(pwd)
cd "$folder"
$as_server "$programs/initdb" --pgdata "$folder/data" --username bridge --auth trust --no-sync --encoding UTF8 \
    --locale C.UTF-8 >"$folder.log" 2>&1 || {
    cat "$folder.log" >&2
    rm -f "$folder.log"
    say "initdb has failed"
    exit 2
}
rm -f "$folder.log"
$as_server tee -a "$folder/data/postgresql.conf" >/dev/null <<END
port = $port
listen_addresses = '127.0.0.1'
unix_socket_directories = '$folder'
shared_buffers = 64MB
max_connections = 60
END
$as_server tee "$folder/data/pg_hba.conf" >/dev/null <<END
local all all trust
host all guarded 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
END
if ! "$folder/control" start; then
    cat "$folder/server.log" >&2
    say "the server does not start"
    exit 2
fi
"$programs/psql" --quiet --no-psqlrc --host "$folder" --port "$port" --username bridge --dbname postgres \
    --command "CREATE DATABASE bridge" --command "CREATE ROLE guarded LOGIN PASSWORD 'open sesame'"

cat >"$folder/bouncer.ini" <<END
[databases]
bridge = host=$folder port=$port user=bridge dbname=bridge
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $bouncer_port
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
logfile = $folder/bouncer.log
pidfile = $folder/bouncer.pid
END
$as_server "$bouncer" --quiet --daemon "$folder/bouncer.ini"
cd "$cd_here"

export RECEIPT_BRIDGE_TEST_POSTGRESQL="host=$folder port=$port user=bridge dbname=bridge"
export RECEIPT_BRIDGE_TEST_POSTGRESQL_CONTROL="$folder/control"
export RECEIPT_BRIDGE_TEST_PGBOUNCER="host=127.0.0.1 port=$bouncer_port user=bridge dbname=bridge"
"$@"
