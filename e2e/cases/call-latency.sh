#!/bin/bash
# The time of system calls and of functions: as the program's own clock says, with exact counts and whole stacks; of nested
# calls, tail calls, and threads; with conditions on arguments, results and the time; calls that never return count nothing.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

build_target latency -pthread
target=$TMP/latency
main='latency;_start;__libc_start_main;(__libc_start_call_main;)?main'

timed() { # OPTION...: a recording of which each line has nanoseconds
    record "$@" -o "$TMP/x.pb.gz" -- "$target" >"$TMP/own"
    echo 1 >"$TMP/x.sample"
    [ "$(value .samples)" = 0 ] || expect_complete 100
    expect .lost.call == 0
}
own() { # NAME COLUMN: what the program says of itself
    awk -v name="$1" -v column="$2" '$1 == name { print $column }' "$TMP/own"
}
count() { # TYPE: of all stacks
    PPROF_BINARY_PATH=$TMP go tool pprof -symbolize=none -sample_index="$1" -top "$TMP/x.pb.gz" 2>&1 |
        sed -n 's/^Showing nodes accounting for \([0-9]*\),.*/\1/p'
}
calls() { # NUMBER TYPE
    local n
    n=$(count "$2")
    [ "$n" = "$1" ] || fail "$2: $n, not $1"
}
# Within 1 %, and 30 us per call: a probe on an instruction that must be stepped over is part of the time.
as_long() { # OWN REGEX [CALLS]
    local n
    n=$(samples_of "$2")
    is "($n - $1) ^ 2" '<=' "($1 / 100 + ${3:-50} * 30000) ^ 2" || fail "$2 took $1 ns, not $n"
    echo "$2: $n ns, by the program's own clock $1"
}

# System calls. Who executes another program, or ends, ends no call of others.
timed -e syscall:clock_nanosleep:latency
as_long "$(own rest 3)" "$main;syscall"
expect_no_stack 'latency;.*\[k\]'
timed -e syscall:clock_nanosleep:latency --filter 'latency >= 4000000 && ret == 0'
is "$(count clock_nanosleep_calls)" '>=' 70 || fail "70 calls and more slept 4 ms"
is "$(count clock_nanosleep_calls)" '<' 120 || fail "70 of the 140 calls slept 1 ms"
timed -e syscall:clock_nanosleep:latency --filter 'latency >= 1000000 && ret == 0'
calls 140 clock_nanosleep_calls
timed -e syscall:getpriority:latency --filter 'which == 0 && ret > 0'
calls 1000 getpriority_calls
timed -e syscall:getpriority:latency --filter 'which == 1 || ret < 0'
expect .samples == 0
timed -e syscall:getpriority:latency --period 4
n=$(count getpriority_calls)
is "($n - 1000) ^ 2" '<=' "300 ^ 2" || fail "one in four: $n of 1000"
timed -e syscall:execve:latency
expect_stack 'true;.*'
expect_exit 2 'counts time' "$XPROF" record -a -e syscall:read:latency --value count
expect_exit 2 'near it:.* openat' "$XPROF" record -a -e syscall:opnat:latency
echo "system calls: time and counts are right"

# Functions.
need_kernel 6.6 'uprobe_multi links'
timed -e "uprobe-latency:$target:spin"
as_long "$(own spin 3)" "$main;spin"
of_threads=$(samples_of 'latency;.*;start_thread;works;spin')
is "$of_threads" '>=' 80000000 || fail "40 calls of 2 ms took $of_threads ns"
calls 90 spin_calls
timed -e "uprobe-latency:$target:spin" --filter 'arg1 == 2000000 && retval == 2'
calls 40 spin_calls
timed -e "uprobe-latency:$target:spin" --filter 'latency < 1000'
expect .samples == 0
timed -e "uprobe-latency:$target:nest"
calls 60 nest_calls
deepest=$(samples_of "$main(;nest){6}")
as_long "$(own nest 3)" "$main;nest" 600000 # all depths, each with those below it
is "$deepest" '>' 10000000 || fail "the deepest calls slept 10 ms, not $deepest ns"
for function in jumps last; do # at one place on the stack
    timed -e "uprobe-latency:$target:$function,uprobe-latency:$target:$([ $function = last ] && echo jumps || echo last)"
    as_long "$(own jumps 3)" "$main;$function" 20
    timed -e "uprobe-latency:$target:$function"
    calls 20 ${function}_calls
done
timed -e "uprobe-latency:$target:leap"
as_long 10000000 "$main;leap" 100
calls 10 leap_calls
timed -e "uprobe-latency:$target:gone"
calls 10 gone_calls
expect_exit 2 'only functions return' "$XPROF" record -a -e "uprobe-latency:$target:spin+4"
expect_exit 2 'only functions return' "$XPROF" record -a -e "uretprobe:$target:spin+4"
expect_exit 2 'expected uprobe-latency:FILE:FUNCTION' "$XPROF" record -a -e uprobe-latency:x
if command -v go >/dev/null; then
    printf 'package main\nfunc main() {}\n' >"$TMP/x.go"
    go build -o "$TMP/gone" "$TMP/x.go"
    expect_exit 2 'a Go program, which would crash' "$XPROF" record -a -e "uprobe-latency:$TMP/gone:main.main"
fi
echo "functions: time and counts are right"
