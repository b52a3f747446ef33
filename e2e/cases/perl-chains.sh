#!/bin/bash
# Perl: known chains of calls have exactly their frames and lines in place of the interpreter's loop, launched and attached
# to, in the Perls of three releases of Debian: subs and methods of all kinds, closures, blocks and subs of sort, callbacks of
# C, tied and overloaded things, signals, evals, files that are loaded, code in patterns, formats, filters and threads.
set -euo pipefail
. e2e/lib.sh
. e2e/perl/lib.sh
need_root
need perl python3 go

check() { # WHAT OPTION...
    echo -n "$1: "
    python3 e2e/perl/chains.py "$TMP/x.pb.gz" "$TMP/own" "${@:2}" || fail "$1: the chains are not as the program has them"
    expect '.lost["ring-full"] + .lost.scratch + .lost["stack-memory"] + .lost.malformed' == 0
}

launched() {
    record -F 199 -o "$TMP/x.pb.gz" -- "${perl[@]}" "$own/chains_target.pl" 80 "$own/folder" >"$TMP/own"
    check "$version launched" --missed 300
}

# It runs for a while already.
attached() {
    : >"$TMP/own" # what an earlier one said is gone before this one begins
    "${perl[@]}" "$own/chains_target.pl" 80 "$own/folder" >"$TMP/own" &
    local pid=$!
    at_exit "kill -KILL $pid"
    await grep -q c03 "$TMP/own"
    record_in_background -F 199 -o "$TMP/x.pb.gz" -p $pid
    wait "$recorder"
    check "$version attached" --missed 300 --few 0
}

CACHE=$TMP/cache
for_each_perl launched attached
