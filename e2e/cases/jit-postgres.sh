#!/bin/bash
# PostgreSQL compiles expressions with LLVM, for each query anew, and keeps no frame pointers. It registers their unwind
# information, and if it is asked to, shows them to debuggers.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
. e2e/postgres/lib.sh

ask() { # OPTIONS [ARGUMENT...]
    PGOPTIONS=$1 as_postgres psql -qAtX -h "$TMP/pg" "${@:2}" postgres
}
# Optimized code keeps no frame pointers.
start_postgres -c jit=on -c jit_above_cost=0 -c jit_inline_above_cost=0 -c jit_optimize_above_cost=0 \
    -c max_parallel_workers_per_gather=0
[ "$(ask '' -c 'select pg_jit_available()')" = t ] || skip "this PostgreSQL has no JIT"
ask '' -c 'create table t as select g as a, g * 2 as b, (g % 100)::float8 as c from generate_series(1, 1000000) g'
query='select sum(a * 2 + b), avg(c * c + a) from t where a % 3 = 1 and b < 1500000'
for _ in {1..20}; do echo "$query;"; done >"$TMP/queries"
echo 'select pg_sleep(1);' >>"$TMP/queries"

profiled() { # OPTIONS
    HZ=499
    record_in_background -p $server
    ask "$1" -f "$TMP/queries" >/dev/null
    kill -INT "$xprof"
    wait "$recorder"
    expect_samples 300
    expect_complete 93
}
profiled '-c jit_debugging_support=off'
expect_stack '_start;(.*;)?PostgresMain;.*;\[anonymous\](;.*)?' "$profile" 50
profiled '-c jit_debugging_support=on'
expect_share 90 '_start;(.*;)?PostgresMain;.*;evalexpr_[0-9_]+' 'evalexpr_[0-9_]+'
expect_stack '.*;evalexpr_[0-9_]+(;.*)?' "$profile" 50
