#!/bin/sh
# Runs a command with a PostgreSQL server of its own, see main() in postgresql.py, and stops the server in any case.
#
#   Tests/Scripts/support/postgresql.sh COMMAND…
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

exec python3 "$(dirname "$0")/postgresql.py" "$@"
