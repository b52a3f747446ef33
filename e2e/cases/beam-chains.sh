#!/bin/bash
# Erlang: known chains of calls have exactly their functions and lines, launched and attached to, with default flags, in the
# versions of two releases of Debian: functions, funs, comprehensions, deep recursion, frames with many variables, handlers,
# processes of all kinds, functions in C and the garbage collector. Its interpreter (OTP 23) has complete stacks. Threads of
# schedulers that wait have complete stacks, too.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need erl erlc python3 go
language=beam
. e2e/scripts/lib.sh
. e2e/beam/lib.sh

chains() { # [SUITE]
    find_erl "$@"
    compile e2e/beam/chains_target.erl
    local run=("${erl[@]}" -noshell -pa "$folder" -run chains_target main)
    record -- "${run[@]}" 1 2>/dev/null # so that unwind tables are there
    launched "OTP $otp" "${run[@]}" 120
    attached "OTP $otp" "${run[@]}" 120
}

# The chains run, as $pid.
start() { # MILLISECONDS
    : >"$TMP/own"
    "${erl[@]}" -noshell -pa "$folder" -run chains_target main "$1" >"$TMP/own" &
    pid=$!
    at_exit "kill -KILL $pid 2>/dev/null"
    await grep -q c03 "$TMP/own"
}

complete() { # EVENT
    record -e "$1" -d 4 -o "$TMP/x.collapsed" -p $pid
    expect_complete 99
}

waits() {
    start 600
    complete offcpu
    grep -q 'global::process_main;erts_schedule' "$TMP/x.collapsed" || fail "no scheduler waits"
    "$XPROF" stack "$pid" >"$TMP/stacks"
    grep -q 'global::process_main' "$TMP/stacks" || fail "xprof stack does not show what schedulers do"
    "$XPROF" inspect "$pid" >"$TMP/about"
    grep -q "machine *Erlang/OTP $otp with JIT" "$TMP/about" || fail "xprof inspect does not know Erlang"
    kill $pid
}

CACHE=$TMP/cache
chains
waits
chains trixie

# the one without compiler, which cannot load what newer ones have made
find_erl bullseye
"${erl[@]}" -noshell -eval 'F = fun S(N) -> lists:sort([N | lists:seq(1, 1000)]), S(N + 1) end, io:put_chars("ready"), F(1).' >"$TMP/own" &
pid=$!
at_exit "kill -KILL $pid 2>/dev/null"
await grep -q ready "$TMP/own"
complete cpu
grep -q 'process_main' "$TMP/x.collapsed" || fail "the interpreter of OTP $otp is not there"
