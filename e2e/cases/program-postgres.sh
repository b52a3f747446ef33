#!/bin/bash
# A real program: postgres under pgbench, a process per connection.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
. e2e/postgres/lib.sh
need pgbench

start_postgres
as_postgres pgbench -h "$TMP/pg" -i -s 1 -q postgres >/dev/null 2>&1
record_in_background -p $server
as_postgres pgbench -h "$TMP/pg" -c 2 -T 2 postgres >/dev/null 2>&1
kill -INT "$xprof"
wait "$recorder"
expect_samples 300
expect_complete 99
expect_share 95 '(_start|main);(.*;)?PostmasterMain;(.*;)?PostgresMain' 'PostgresMain;?.*'
expect_stack 'PostgresMain;(.*;)?(standard_ExecutorRun|ExecModifyTable|PortalRun)' "$profile" 50
