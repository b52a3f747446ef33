#!/bin/bash
# A real program: redis under load.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

need redis-server redis-benchmark
redis-server --bind 127.0.0.1 --port 0 --unixsocket "$TMP/redis.sock" --save '' --appendonly no --dir "$TMP" >"$TMP/log" &
server=$!
at_exit "kill $server"
await redis-cli -s "$TMP/redis.sock" ping
record_in_background -p $server
redis-benchmark -s "$TMP/redis.sock" -q -n 40000 -P 4 -t set,get,lrange_100,mset,zadd >/dev/null
kill -INT "$xprof"
wait "$recorder"
expect_samples 200
expect_complete 99
expect_share 95 '(_start|main);(.*;)?aeMain' 'processCommand;?.*'
expect_stack 'aeMain;(.*;)?(readQueryFromClient|processCommand)' "$profile" 50
