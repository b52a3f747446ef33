#!/bin/bash
# A real program: postgres under pgbench, a process per connection.
set -euo pipefail
. e2e/lib.sh
need_root

PATH=$PATH:$(compgen -G '/usr/lib/postgresql/*/bin' | tail -n 1 || true)
need initdb postgres pgbench setpriv
id -u postgres >/dev/null 2>&1 || skip "there is no user postgres"
chmod 755 "$(dirname "$TMP")" "$TMP"
mkdir "$TMP/pg"
chown postgres "$TMP/pg"
as_postgres() {
    setpriv --reuid postgres --regid postgres --clear-groups "$@"
}
as_postgres initdb -D "$TMP/pg/data" -A trust --no-sync >"$TMP/log" 2>&1 || fail "initdb: $(tail -n 3 "$TMP/log")"
setpriv --reuid postgres --regid postgres --clear-groups "$(command -v postgres)" -D "$TMP/pg/data" -F \
    -c listen_addresses= -c unix_socket_directories="$TMP/pg" >"$TMP/log" 2>&1 &
server=$!
at_exit "kill -QUIT $server; sleep 0.3"
await as_postgres psql -h "$TMP/pg" -c 'select 1' postgres
as_postgres pgbench -h "$TMP/pg" -i -s 1 -q postgres >/dev/null 2>&1
record_in_background -p $server
as_postgres pgbench -h "$TMP/pg" -c 2 -T 2 postgres >/dev/null 2>&1
kill -INT "$xprof"
wait "$recorder"
expect_samples 300
expect_complete 99
expect_share 95 '(_start|main);(.*;)?PostmasterMain;(.*;)?PostgresMain' 'PostgresMain;?.*'
expect_stack 'PostgresMain;(.*;)?(standard_ExecutorRun|ExecModifyTable|PortalRun)' "$profile" 50
