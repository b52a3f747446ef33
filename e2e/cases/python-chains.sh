#!/bin/bash
# Python: known chains of calls have exactly their frames and lines in place of the interpreter's loop, launched and attached
# to, in all versions that are installed: functions of all kinds, generators, coroutines, classes, callbacks of C, text that
# is executed, threads, and code that runs without the interpreter's lock.
set -euo pipefail
. e2e/lib.sh
. e2e/python/lib.sh
need_root
need python3 go

check() { # WHAT OPTION...
    echo -n "$1: "
    python3 e2e/python/chains.py "$TMP/x.pb.gz" "$TMP/own" "${@:2}" || fail "$1: the chains are not as the program has them"
    expect '.lost["ring-full"] + .lost.scratch + .lost["stack-memory"] + .lost.malformed' == 0
}

launched() { # PYTHON
    record -F 199 -o "$TMP/x.pb.gz" -- "$1" e2e/python/chains_target.py 60 >"$TMP/own"
    check "$version launched" --missed 300
}

# It writes a map for profilers, for which it calls each function through generated code.
mapped() { # PYTHON
    # shellcheck disable=SC2016
    record -F 199 -o "$TMP/x.pb.gz" -- sh -c 'echo $$ >"$1"; exec "$2" -X perf e2e/python/chains_target.py 60' - \
        "$TMP/pid" "$1" >"$TMP/own"
    rm -f "/tmp/perf-$(cat "$TMP/pid").map"
    check "$version with a map" --missed 300
}

# It runs for a while already.
attached() { # PYTHON
    : >"$TMP/own" # what an earlier one said is gone before this one begins
    "$1" e2e/python/chains_target.py 60 >"$TMP/own" &
    local python=$!
    at_exit "kill -KILL $python"
    await grep -q c03 "$TMP/own"
    record_in_background -F 199 -o "$TMP/x.pb.gz" -p $python
    wait "$recorder"
    check "$version attached" --missed 300 --few 0
}

CACHE=$TMP/cache
find_pythons
for python in "${pythons[@]}"; do
    version=$(python_version "$python")
    record -- "$python" -c 'import asyncio, contextlib, hashlib, json' 2>/dev/null # so that unwind tables are there
    launched "$python"
    attached "$python"
    [ "${version#*.}" -lt 12 ] || mapped "$python"
done
