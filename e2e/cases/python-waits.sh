#!/bin/bash
# Python: waits have the functions that wait, also of a thread that slept before the recording began, and locks are known by
# the functions that want them.
set -euo pipefail
. e2e/lib.sh
. e2e/python/lib.sh
need_root
need bpftool jq

attached() { # EVENT; meanwhile, what is to be known of the process is read
    record_waiting "$1" 1 "$python" e2e/python/waits.py
}

seconds() { # REGEX LEAST MOST
    expect_seconds "$version" "$@"
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
python=${pythons[0]} # not 3.14, whose threads wait for locks on semaphores of their own
version=$(python_version "$python")
attached lock
seconds '.*outer_take;(.*;)?take;.*\[lock.*\]' 0.05 4
if grep 'outer_long' "$profile" >"$TMP/part"; then fail "sleeping is no lock: $(head -n 1 "$TMP/part")"; fi
