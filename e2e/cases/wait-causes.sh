#!/bin/bash
# What threads wait for is told from the functions of the kernel: each kind of wait has its cause for all of its time.
set -euo pipefail
. e2e/lib.sh
need_root
need go

build_target waits -pthread -fno-optimize-sibling-calls
record -e offcpu -o "$TMP/x.pb.gz" -- "$TMP/waits"

# "MILLISECONDS CAUSE" of what a function of the program waited for, a line each.
causes() { # FUNCTION
    GOTOOLCHAIN=local PPROF_BINARY_PATH=$TMP go tool pprof -symbolize=none -sample_index=off_cpu -unit=ms \
        -focus="^$1\$" -tags "$TMP/x.pb.gz" 2>"$TMP/go.err" |
        sed -nE '/^ *wait:/,/^$/s/^ *([0-9.]+)ms \(.*\): (.*)$/\1 \2/p'
}

expect_cause() { # FUNCTION CAUSE LEAST_MILLISECONDS
    local all ms
    all=$(causes "$1")
    [ -n "$all" ] || fail "$1 did not wait: $(cat "$TMP/go.err")"
    # The kernel may not announce a switch: of such a wait the time is known, but not the cause, nor perhaps the stack.
    ms=$(awk -v cause="$2" '{ ms = $1; sub(/^[^ ]+ /, ""); if ($0 == cause) { own = 1; sum += ms } else if ($0 == "other") sum += ms }
        END { print own ? sum : 0 }' <<<"$all")
    is "${ms:-0}" '>=' "$3" || fail "$1 waited for $2 for ${ms:-0} ms, not $3 or more, but for ${all//$'\n'/, }"
}

while read -r function cause; do
    expect_cause "$function" "$cause" 55
done <<'EOF'
in_sleep sleep
in_poll poll
in_epoll epoll
in_futex lock
in_pipe pipe
in_unix socket
in_accept socket
in_child child
in_vfork child
in_signal signal
in_stop stopped
in_timer timerfd
in_event eventfd
in_inotify inotify
in_flock lock
in_message message queue
in_terminal tty
EOF
[ "$(nproc)" = 1 ] || expect_cause in_kernel_lock lock 50

# Idle threads are left out on request, and counted.
record -e offcpu --offcpu-hide idle -- "$TMP/waits"
expect_no_stack '.*;\[(epoll|poll|inotify|eventfd|timerfd|signal)\]'
expect_stack '.*;in_sleep;.*;\[sleep\]'
expect .idle_waits_left_out '>' 10
expect .idle_seconds_left_out '>' 0.3
expect_exit 2 'record: --offcpu-hide: unknown value "busy"' "$XPROF" record -e offcpu --offcpu-hide busy -- true
