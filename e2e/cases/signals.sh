#!/bin/bash
# Signal handlers stand above what they interrupted, on the same stack and on one of their own.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

build_target signals
restorer='(\[libc[^;]*\]|__restore_rt)'
for stack in "" alt; do
    # shellcheck disable=SC2086
    record -- "$TMP/signals" $stack
    expect_samples 500
    expect_complete 99
    expect_share 95 "_start;(.*;)?main;outer;interrupted;(.*;)?$restorer;on_timer;burn" 'on_timer;.*'
    expect_share 99 "_start;(.*;)?main;faulting;fault;$restorer;on_fault;burn" 'on_fault;.*'
    expect_stack 'main;outer;interrupted' "$profile" 100
    expect_stack 'on_timer;burn' "$profile" 50
    expect_stack 'on_fault;burn' "$profile" 100
done

# musl's trampoline has no unwind information: it is known by its instructions.
command -v musl-gcc >/dev/null || exit 0
CC=musl-gcc build_target signals -static
record -- "$TMP/signals" alt
expect_share 95 'main;outer;interrupted;([^;]*;){1,3}on_timer;burn' 'on_timer;.*'
expect_share 99 'main;faulting;fault;[^;]*;on_fault;burn' 'on_fault;.*'
