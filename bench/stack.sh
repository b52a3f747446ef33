#!/bin/bash
# Benchmark: every thread's stack of a process of 200 threads, of `xprof stack` against gdb's `thread apply all bt` and
# eu-stack: the time it takes, and the time for which the process's own work stood still (ms; of us nobody stops it).
set -euo pipefail
cd "$(dirname "$0")/.."
B=${B:-build}
XPROF=${XPROF:-$B/xprof}
ROUNDS=${ROUNDS:-5}
tmp=$(mktemp -d)
trap '[ -z "${pid:-}" ] || kill -9 "$pid" 2>/dev/null; rm -rf "$tmp"' EXIT
[ "$(id -u)" = 0 ] || { echo "xprof stack, skip: needs root"; exit 0; }

gcc -O2 -g bench/targets/threads.c -o "$tmp/threads" -lpthread
"$tmp/threads" 200 "$tmp/longest" >"$tmp/ready" &
pid=$!
until grep -q ready "$tmp/ready"; do sleep 0.05; done
java_pid=
if command -v javac >/dev/null; then
    cat >"$tmp/Wait.java" <<'JAVA'
class Wait {
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 200; i++) new Thread(() -> { synchronized (new Object()) { try { Thread.sleep(1000000); } catch (Exception e) { } } }).start();
        System.out.println("ready");
    }
}
JAVA
    javac -d "$tmp" "$tmp/Wait.java"
    java -cp "$tmp" Wait >"$tmp/java" &
    java_pid=$!
    trap 'kill -9 $pid $java_pid 2>/dev/null; rm -rf "$tmp"' EXIT
    until grep -q ready "$tmp/java"; do sleep 0.05; done
fi

median() { sort -n | sed -n "$(((ROUNDS + 1) / 2))p"; }
seconds() { # COMMAND...
    local from=$EPOCHREALTIME
    "$@" >/dev/null 2>&1 </dev/null || true
    awk -v a="$from" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.3f\n", b - a }'
}
took() { for ((i = 0; i < ROUNDS; i++)); do seconds "$@"; done | median; }
stopped() { # the longest that a loop of the process stood still, ms
    for ((i = 0; i < ROUNDS; i++)); do
        printf '\0\0\0\0\0\0\0\0' | dd of="$tmp/longest" conv=notrunc status=none
        "$@" >/dev/null 2>&1 </dev/null || true
        od -An -N8 -tu8 "$tmp/longest" | awk '{ printf "%.2f\n", $1 / 1e6 }'
    done | median
}
line() { # NAME OURS REFERENCE GOAL
    awk -v n="$1" -v a="$2" -v b="$3" -v g="$4" 'BEGIN { r = b ? a / b : 0
        printf "%s, %s, %s, %.2f, %s, %s\n", n, a, b, r, g == "-" ? "-" : "<= " g, g == "-" ? "-" : r <= g ? "pass" : "fail" }'
}
compare() { # WHAT PID
    "$XPROF" stack "$2" >/dev/null # tables and indexes to disk, as on any machine but the first time
    local ours
    ours=$(took "$XPROF" stack "$2")
    if command -v gdb >/dev/null; then
        line "stack of $1, against gdb (s)" "$ours" "$(took gdb -p "$2" -batch -ex 'thread apply all bt')" 0.1
    fi
    if command -v eu-stack >/dev/null; then
        line "stack of $1, against eu-stack with lines and inlines (s)" "$ours" "$(took eu-stack -i -s -p "$2")" -
    fi
}
compare "200 threads in C" "$pid"
[ -z "$java_pid" ] || compare "200 threads of a JVM" "$java_pid"
idle=$(stopped sleep 0.2)
line "standstill during xprof stack, against a machine left alone (ms)" "$(stopped "$XPROF" stack "$pid")" "$idle" -
if command -v gdb >/dev/null; then
    line "standstill during gdb, against a machine left alone (ms)" \
        "$(stopped gdb -p "$pid" -batch -ex 'thread apply all bt')" "$idle" -
fi
