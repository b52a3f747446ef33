#!/bin/bash
# Time waiting for monitors of Java, and for its ReentrantLock, is what the program itself measures, with default flags.
set -euo pipefail
. e2e/lib.sh
need_root
need java javac bpftool jq

javac -d "$TMP" e2e/targets/Locks.java

# Compares the time of a FRAME with what the program has printed, in $TMP/own.
expect_delay() { # WHAT NAME FRAME
    local ns sum
    ns=$(awk -v name="$2" '$1 == name { print $3 }' "$TMP/own")
    sum=$(awk -v frame=";[lock: $3] " 'index($0, frame) && !/;\[stack not taken\];/ { n += $NF } END { print n + 0 }' "$profile")
    echo "$1, $2: $ns ns, in the profile $sum ns"
    [ "$ns" -ge 100000000 ] || fail "$1: $2 was contended for $ns ns only"
    is "$sum" '>=' "0.98 * $ns" || fail "$1: $2 was waited for for $ns ns, not for $sum"
    is "$sum" '<=' "1.02 * $ns" || fail "$1: $2 was waited for for $ns ns, not for $sum"
    expect .lost.wait == 0
}

record -e lock -- java -cp "$TMP" Locks 50 >"$TMP/own"
expect_delay launched monitor 'Java monitor'
expect_delay launched reentrant 'Java lock'
if grep -F 'ObjectMonitor::wait' "$profile" >/dev/null; then fail "waiting to be notified is no lock"; fi

mkfifo "$TMP/gate"
java -Xcomp -cp "$TMP" Locks 50 <"$TMP/gate" >"$TMP/own" 2>"$TMP/says" &
java=$!
exec 3>"$TMP/gate"
at_exit "kill -KILL $java"
await grep -q ready "$TMP/says"
record -e lock -p $java &
recorder=$!
at_exit "kill \$(pgrep -P $recorder) 2>/dev/null"
await follows_waits
echo >&3
exec 3>&-
wait "$recorder" || fail "the recording ended with $?"
expect_delay attached monitor 'Java monitor'
expect_delay attached reentrant 'Java lock'
