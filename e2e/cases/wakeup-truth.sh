#!/bin/bash
# Waits are shown with who ended them, with both stacks, and as long as they were; all of them as with offcpu.
set -euo pipefail
. e2e/lib.sh
need_root
need go

build_target wakeup -pthread
stacks=$TMP/x.collapsed
record -e wakeup,offcpu,runqueue -o "$TMP/x.pb.gz" -o "$stacks" -- "$TMP/wakeup" >"$TMP/own"
expect .lost.wait == 0
expect '.lost["ring-full"]' == 0

# What a sleeper's function waited for, up to what ended it.
ended() { # SLEEPER WAKER
    awk -v sleeper=";$1;" -v waker="$2" '
        index($0, sleeper) && $0 ~ waker { ns += $NF } END { printf "%.0f\n", ns }' "$stacks"
}
# Of one of 50 waits the kernel may not announce the end (docs/waiting.md).
expect_waker() { # KIND SLEEPER WAKER: a regular expression, from the cause on
    local own ns
    own=$(awk -v kind="$1" '$1 == kind { print $2 }' "$TMP/own")
    ns=$(ended "$2" "$3")
    awk -v kind="$1" -v own="$own" -v ns="$ns" 'BEGIN {
        d = 100 * (ns / own - 1); printf "%-6s %.3f s, %+.2f %%\n", kind, own / 1e9, d; exit d > 2 || d < -3 }' ||
        fail "who ended the waits of $1 is wrong"
}
expect_waker sleep "main;nap" '\[sleep\];try_to_wake_up_\[k\];hrtimer_wakeup_\[k\];.*_interrupt_\[k\];\[interrupt\] '
expect_waker pipe "main;read_order" \
    '\[pipe\];try_to_wake_up_\[k\];.*pipe_write_\[k\];.*;write(_order)?;.*send_order;begin_pipe;main;.*;till '
expect_waker cond "main;await_cond" \
    '\[lock\];try_to_wake_up_\[k\];.*futex_.*_\[k\];.*;signal_cond;signaller;start_thread;.*;wakeup '
expect_waker child "main;await_child" '\[child\];.*do_exit_\[k\];.*;apprentice '

# Every wait is in both.
go tool pprof -raw -symbolize=none "$TMP/x.pb.gz" 2>/dev/null | awk '
    /^samples\// {
        for (i = 1; i <= NF; i++)
            if ($i ~ /^wakeup/) wakeup = i
            else if ($i ~ /^off_cpu/) off = i
    }
    /^ *[0-9]+ +[0-9]+.*:/ && !/:\[/ { sub(/:.*/, ""); by += $wakeup; all += $off }
    END {
        printf "%.3f s blocked, %.3f s by waker\n", all / 1e9, by / 1e9
        exit !all || by < 0.99 * all || by > 1.01 * all
    }' || fail "wakeup and offcpu are not the same"
