#!/bin/bash
# Pyroscope is killed and started again: what was put meanwhile arrives, each profile once, also when the sender was
# killed in between.
# beside others
set -euo pipefail
. e2e/lib.sh
. e2e/pyroscope/lib.sh

need_server
record_profile
free_ports
start_server v2
labels="__name__=process_cpu service_name=shop"

start_sender -s "$TMP/spool" "pyroscope:push:url=$url"
say put "$TMP/x.pb.gz" 10 "$labels" pod=before-%
say flush 20000
await_stat 0 '.pending == 0'
kill -KILL "$server_pid"
say put "$TMP/x.pb.gz" 30 "$labels" pod=down-%
await_stat 0 '.failed.unreachable > 1'
grep -q '^news push: unreachable: ' "$TMP/sent" || fail "nobody says that the server is away"
[ "$(grep -c '^news push: unreachable: ' "$TMP/sent")" = 1 ] || fail "it is said more than once"
kill -KILL "$sender"
wait "$sender" || true
exec 8>&-

rm "$TMP/sent"
start_sender -s "$TMP/spool" "pyroscope:push:url=$url"
say put "$TMP/x.pb.gz" 10 "$labels" pod=again-%
await_stat 0 '.pending == 40'
start_server v2
await_stat 0 '.pending == 0'
expect_stat 0 .sent 40
expect_stat 0 '.dropped|tojson' '{}'
await has_nanoseconds $cpu '{service_name="shop",pod="again-9"}' burn
each=$(nanoseconds $cpu '{service_name="shop",pod="down-0"}')
[ "$(nanoseconds $cpu '{service_name="shop"}')" = $((50 * each)) ] ||
    fail "the server has $(nanoseconds $cpu '{service_name="shop"}') ns, not 50 x $each"
end_sender
