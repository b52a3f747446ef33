#!/bin/bash
# xprof stack: the Java frames of threads that wait are those of jstack, with their lines, in every mode of the virtual
# machine, and without stopping it.
# beside others
set -euo pipefail
. e2e/lib.sh
. e2e/java/lib.sh
need_root
need python3

build_java Parked

compare() { # JAVA [FLAG...]
    local java=$1 pid
    shift
    "$java" "$@" -cp "$TMP" Parked 1200 >"$TMP/out" 2>&1 &
    pid=$!
    at_exit "kill -KILL $pid"
    await grep -q ready "$TMP/out"
    "$XPROF" stack --no-cache --json $pid >"$TMP/json" 2>"$errors" || fail "xprof stack failed"
    "$(jstack_of "$java")" $pid >"$TMP/jstack" || fail "jstack failed"
    { kill -KILL $pid && wait $pid; } 2>/dev/null || true
    echo -n "$(version_of "$java") $*: "
    python3 e2e/java/jstack.py "$TMP/json" "$TMP/jstack" main park wait sleep accept hold contend enter join take deep loop \
        lambda reflect || fail "jstack has other frames"
}

for_each_java 17 25
for java in "${javas[@]}"; do
    compare "$java"
    compare "$java" -Xint
    compare "$java" -XX:+UseZGC
    compare "$java" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
done
