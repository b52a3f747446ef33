#!/bin/bash
# Python: waits have the functions that wait, also of a thread that slept before the recording began, and locks are known by
# the functions that want them.
set -euo pipefail
. e2e/lib.sh
. e2e/python/lib.sh
need_root
need bpftool jq

# record() of a Python program that is attached to while its first thread sleeps.
attached() { # EVENT
    [ -p "$TMP/gate" ] || mkfifo "$TMP/gate"
    rm -f "$TMP/out"
    "$python" e2e/python/waits.py <"$TMP/gate" >"$TMP/out" 2>&1 &
    local pid=$!
    exec 3>"$TMP/gate"
    at_exit "kill -KILL $pid"
    await grep -q ready "$TMP/out"
    record -e "$1" -p $pid &
    recorder=$!
    at_exit "kill \$(pgrep -P $recorder) 2>/dev/null"
    await follows_waits
    sleep 1 # what is to be known of the process is read
    echo >&3
    exec 3>&-
    wait "$recorder" || fail "the recording ended with $?"
}

seconds() { # REGEX LEAST MOST: of waits in such stacks, their root first
    local ns
    ns=$(awk -v regex="$1" '$0 ~ ";" regex "[; ]" { n += $NF } END { printf "%.0f", n }' "$profile")
    echo "$version: $1: $((ns / 1000000)) ms"
    is "$ns" '>=' "$2 * 1e9" || fail "$1: $ns ns, not $2 s"
    is "$ns" '<=' "$3 * 1e9" || fail "$1: $ns ns, more than $3 s"
}

CACHE=$TMP/cache
find_pythons
for python in "${pythons[@]}"; do
    version=$(python_version "$python")
    record -- "$python" -c 'import threading' 2>/dev/null # so that unwind tables are there
    attached offcpu
    seconds '.*outer_long;(.*;)?long_sleep;.*' 2 4
    seconds '.*short_sleep;.*' 0.45 2
    seconds '.*hold;.*' 0.8 4
    seconds '.*outer_take;(.*;)?take;.*' 0.1 4
    seconds '.*(start_thread|pythread_wrapper);(.*;)?_PyEval_EvalFrameDefault;.*' 0 0.1
    seconds '.*\[python(: gone)?\];.*' 0 0.05
done
attached lock
seconds '.*outer_take;(.*;)?take;.*\[lock.*\]' 0.05 4
if grep 'outer_long' "$profile" >"$TMP/part"; then fail "sleeping is no lock: $(head -n 1 "$TMP/part")"; fi
