#!/bin/bash
# Events beside cpu, alone and together; and stacks of the kernel or of the program alone.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

build_target events
record -e page-faults -- "$TMP/events"
expect_stack 'main;fault_in' "$profile" 10
record -e context-switches -- "$TMP/events"
expect_stack 'main;sleep_often;(.*;)?(__)?(clock_)?nanosleep(;.*)?' "$profile" 20
[ "$(nproc)" = 1 ] || {
    record -e cpu-migrations -- "$TMP/events"
    expect_stack 'main;migrate;.*' "$profile" 20
}

record -e cpu,page-faults -o "$TMP/both.pb.gz" -- "$TMP/events"
expect_stack 'main;burn' "$profile" 50
gzip -dc "$TMP/both.pb.gz" >"$TMP/both.pb"
for word in page_faults cpu nanoseconds; do
    grep -qa "$word" "$TMP/both.pb" || fail "the pprof file does not know $word"
done

record --no-kernel -- "$TMP/events"
expect_stack 'main;.*' "$profile" 50
expect_no_stack '.*_\[k\]'
record --no-user -- "$TMP/events"
expect_stack '.*_\[k\]' "$profile" 20
expect_no_stack '(.*;)?(main|_start).*'

if perf_works=$("$XPROF" check | grep '^ok *hardware counters'); then
    echo "$perf_works: the refusal of -e cycles is not tested"
else
    expect_exit 1 'has no such hardware counter' "$XPROF" record -e cycles -- true
fi
