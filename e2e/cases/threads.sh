#!/bin/bash
# Eight threads: each one's stack ends at the bottom of clone3.
# beside others
set -euo pipefail
. e2e/lib.sh
. e2e/pprof.sh
need_root

build_target threads -pthread
record -- "$TMP/threads"
expect_samples 900
expect_complete 99
expect_share 99 '(\[libc[^;]*\]|clone3?|__clone3?);(\[libc[^;]*\]|start_thread);work;burn' 'work;.*'
expect_no_stack 'main;(.*;)?work'

# musl's have no unwind information: each thread begins in clone(), whose code drops its return address and ends with the
# system call exit; stripped, too.
command -v musl-gcc >/dev/null || exit 0
CC=musl-gcc OUT=musl build_target threads -pthread -static
for stripped in "" yes; do
    if [ $stripped ]; then strip "$TMP/musl"; fi
    CACHE=$TMP/cache record -- "$TMP/musl" # the first rows are there when stacks have stopped
    CACHE=$TMP/cache record -- "$TMP/musl"
    expect_complete 98.5
    # Without symbols nothing proves pthread_exit, which no thread returns from.
    if [ $stripped ]; then expect '.cut.unproven' '<=' 12; else expect '.cut.unproven' == 0; fi
    if [ ! $stripped ]; then expect_share 98 '__clone;start;work;burn' 'work;.*'; fi
done

# Threads by their names: what they computed, and the time that they waited for a CPU.
record -e cpu,runqueue --threads -- "$TMP/threads"
for ((i = 0; i < 8; i++)); do
    expect_stack "worker $i;.*;work;burn" "$profile" 50
done
expect_no_stack 'threads;.*;work;burn'

# Their names are labels, too, also without that, of waits as of samples.
record -e cpu,runqueue -o "$TMP/threads.pb.gz" -- "$TMP/threads"
for value in cpu run_queue; do
    [ "$(sums_by_label "$TMP/threads.pb.gz" thread samples $value | awk '$2 > 0' | grep -c ' worker [0-7]$')" = 8 ] ||
        fail "not all threads have $value: $(sums_by_label "$TMP/threads.pb.gz" thread samples $value)"
done

# Kernel threads wait, too, but not for whom nobody asked. There is always a worker of a queue that sleeps.
record -e offcpu -a -d 1s
expect_no_stack 'kworker/[^;]*;.*'
record -e offcpu -a -d 1s --kernel-threads
expect_stack 'kworker/[^;]*;.*worker_thread_\[k\];.*'
