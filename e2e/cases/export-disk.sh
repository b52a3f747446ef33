#!/bin/bash
# The spool's disk is full, or read-only, or not there: profiles go on in memory, within its bound, and it is said once.
# beside others
set -euo pipefail
. e2e/lib.sh
. e2e/pyroscope/lib.sh

record_profile
need unshare
port=0
free_ports
cat >"$TMP/inside.sh" <<'EOF2'
set -eu
mkdir -p "$TMP/small"
mount -t tmpfs -o size="$1" none "$TMP/small" || exit 99
[ "$2" = rw ] || mount -o "remount,$2" "$TMP/small"
exec "$send" -s "$TMP/small/spool" -M 262144 "pyroscope:main:url=http://127.0.0.1:$port"
EOF2
export send port TMP

try() { # SIZE rw|ro PROFILES DROPPED...: a jq condition
    rm -f "$TMP/sent"
    { echo "put $TMP/x.pb.gz $3 service_name=shop __name__=process_cpu"; echo stats; } >"$TMP/commands"
    rc=0
    unshare -m --propagation private bash "$TMP/inside.sh" "$1" "$2" <"$TMP/commands" >"$TMP/sent" 2>"$errors" || rc=$?
    [ $rc != 99 ] || skip "there is no tmpfs to be had"
    [ $rc = 0 ] || fail "exit $rc"
    [ "$(grep -c '^put [0-9]* 0$' "$TMP/sent")" = "$3" ] || fail "not every put succeeded"
    [ "$(grep -c '^news spool: .*kept in memory' "$TMP/sent")" = 1 ] || fail "it is not said once"
    grep '^{"spool"' "$TMP/sent" | jq -e "$4" >/dev/null || fail "this is not so: $4"
}

size=$(stat -c %s "$TMP/x.pb.gz")
try 128k rw 150 ".memory > 0 and .disk > 60000 and .errors > 0 and .put == 150"
expect_stat 0 '.pending + (.dropped["spool-full"] // 0)' 150
try 128k ro 20 ".memory > 20000 and .disk == 0"
expect_stat 0 .pending 20
try 128k ro 400 ".memory <= 262144 and .disk == 0"
expect_stat 0 '.pending + .dropped["spool-full"]' 400
expect_stat 0 '.pending > 262144 / 2 / '"$((size + 500))" true
