# shellcheck shell=bash disable=SC2154
# What cases with a PostgreSQL share. To be sourced after e2e/lib.sh; skips where there is none.

PATH=$PATH:$(compgen -G '/usr/lib/postgresql/*/bin' | tail -n 1 || true)
need initdb postgres psql setpriv
id -u postgres >/dev/null 2>&1 || skip "there is no user postgres"
chmod 755 "$(dirname "$TMP")" "$TMP"
mkdir "$TMP/pg"
chown postgres "$TMP/pg"

as_postgres() { # COMMAND...
    setpriv --reuid postgres --regid postgres --clear-groups "$@"
}

# In the background, ready: $server. Its socket is in $TMP/pg.
start_postgres() { # OPTION...
    as_postgres initdb -D "$TMP/pg/data" -A trust --no-sync >"$TMP/log" 2>&1 || fail "initdb: $(tail -n 3 "$TMP/log")"
    setpriv --reuid postgres --regid postgres --clear-groups "$(command -v postgres)" -D "$TMP/pg/data" -F \
        -c listen_addresses= -c unix_socket_directories="$TMP/pg" "$@" >>"$TMP/log" 2>&1 &
    server=$!
    at_exit "kill -QUIT $server; sleep 0.3"
    await as_postgres psql -h "$TMP/pg" -c 'select 1' postgres
}
