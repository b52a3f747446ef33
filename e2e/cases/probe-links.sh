#!/bin/bash
# Functions and USDT probes by perf events, as on kernels before 6.6 (without uprobe_multi links) and before 5.15 (without
# cookies): calls, returns, times and conditions are as exact as by links; their number has a limit; and a recording that
# is killed leaves nothing in the code. Run it in virtual machines with older kernels, too.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
[ -e /sys/bus/event_source/devices/uprobe/type ] || skip "this kernel has no perf uprobes"

. e2e/probes/lib.sh
build_target usdt
build_target latency -pthread
usdt=$TMP/usdt latency=$TMP/latency

"$XPROF" check >"$TMP/check" || true
grep -qE '^ok +functions +can be probed' "$TMP/check" || { cat "$TMP/check" && fail "xprof check"; }
means=(auto)
kernel=$(uname -r)
is_kernel() { # VERSION: or later
    printf '%s\n%s\n' "$1" "${kernel%%-*}" | sort -VC
}
if is_kernel 5.15; then means+=(perf); fi
if is_kernel 6.10 || ! is_kernel 5.15; then means+=(plain); fi # in between, it is no better than perf

by=auto
total() { # NUMBER EVENT PROGRAM [OPTION...]
    exact --probe-links "$by" -e "$2" "${@:4}" -- "$3"
    exactly "$1" "$(basename "$3")"
}
calls() { # NUMBER FUNCTION [OPTION...]: calls whose time is measured
    local n
    record --probe-links "$by" -e "uprobe-latency:$latency:$2" "${@:3}" -o "$TMP/x.pb.gz" -- "$latency" >"$TMP/own"
    n=$(PPROF_BINARY_PATH=$TMP go tool pprof -symbolize=none -sample_index="$2_calls" -top "$TMP/x.pb.gz" 2>&1 |
        sed -n 's/^Showing nodes accounting for \([0-9]*\),.*/\1/p')
    [ "$n" = "$1" ] || fail "$n, not $1 calls of $2"
}
for by in "${means[@]}"; do
    total 150 "uprobe:$target:weigh" "$target"
    total 10 "uprobe:$target:weigh" "$target" --filter 'arg1 == "app*" && arg2 > 90'
    total 50 "uretprobe:$target:weigh" "$target" --filter 'retval == -1'
    total 2 "uprobe:$target:*p*s" "$target"
    total 2 "uretprobe:$target:*p*s" "$target"
    total 150 "usdt:$usdt:xprof:swim" "$usdt"
    total 40031 "usdt:$usdt:x*:wide" "$usdt" --value arg1
    total 300 "usdt:$usdt:xprof:guarded" "$usdt" --filter 'arg1 == "guard"' # behind a semaphore
    if is_kernel 5.12; then # before, tables of files are not made before the recording
        total 150 "uprobe:$target:weigh" "$target"
        exactly 100 "$root;apples;weigh"
        total 150 "uretprobe:$target:weigh" "$target"
        exactly 100 "$root;apples"
        total 150 "usdt:$usdt:xprof:swim" "$usdt"
        exactly 100 'usdt;.*;main;rivers'
    fi
    if command -v go >/dev/null; then
        calls 90 spin
        calls 40 spin --filter 'arg1 == 2000000 && retval == 2'
        calls 60 nest
        calls 20 jumps
        calls 10 leap
    fi
    if [ "$by" = plain ] || ! is_kernel 5.15; then # nothing tells sites apart
        expect_exit 1 'not at one place at all sites of the probe' "$XPROF" record --probe-links "$by" \
            -e "usdt:$usdt:xprof:swim" --value arg1 -o "$TMP/x.collapsed" -- "$usdt"
    else
        total 5050 "usdt:$usdt:xprof:swim" "$usdt" --value arg1
        total 60 "usdt:$usdt:xprof:swim" "$usdt" \
            --filter 'arg2 == "dan*" && arg1 > 90 || arg1 == -7 && arg2 == "lake"' # at two sites
    fi
    echo "$by: counts, sums and conditions are exact"
done
# What an allocator does is followed at all of its functions, or at none.
cat >"$TMP/blocks.c" <<'END'
#include <stdlib.h>
__attribute__((noinline)) static void *keep(int n) { return malloc(n); }
__attribute__((noinline)) static void *clear(int n) { return calloc(n, 4); }
__attribute__((noinline)) static void *grow(void *p, int n) { return realloc(p, n); }
int main(void)
{
    void *p = 0;
    for (int i = 0; i < 1000; i++)
        if ((p = keep(100)) && i % 2)
            free(p);
    for (int i = 0; i < 500; i++)
        p = clear(10);
    for (int i = 1; i < 200; i++)
        p = grow(p, i * 100);
    return !p;
}
END
gcc -O1 -fno-builtin "$TMP/blocks.c" -o "$TMP/blocks"
if is_kernel 5.15; then
    exact --probe-links perf -e memory --memory-exact -- "$TMP/blocks"
    exactly 50000 'blocks;.*;main;keep;malloc'
    exactly 19960 'blocks;.*;main;clear;calloc' # but for the one that grows
    exactly 19900 'blocks;.*;main;grow;realloc'
    echo "memory: what is in use is exact"
fi
expect_exit 1 'needs probes that know their place: Linux 5.15+' \
    "$XPROF" record --probe-links plain -e memory -o "$TMP/x.collapsed" -- "$TMP/blocks"
"$usdt" | grep -qx 'guarded 0' || fail "the semaphore is still set"

# How many there can be at once.
awk 'BEGIN { print ".globl main\nmain: push %rbx\ncall many_7\nxor %eax, %eax\npop %rbx\nret"
    for (i = 0; i < 1001; i++)
        printf ".globl many_%d\n.type many_%d,@function\nmany_%d: push %%rbp\npop %%rbp\nret\n", i, i, i }' >"$TMP/many.s"
gcc "$TMP/many.s" -o "$TMP/many" 2>"$TMP/out" || fail "many functions"
by=perf
expect_exit 1 'of 1001 places, 1000 can be probed at once' "$XPROF" record --probe-links $by -a -d 1s -e "uprobe:$TMP/many:many_*"
total 1 "uprobe:$TMP/many:many_7*" "$TMP/many" # 111 of them

# Killed: while it records, there is a breakpoint in the code.
mkfifo "$TMP/gate"
"$target" go <"$TMP/gate" >"$TMP/out" 2>&1 &
pid=$!
at_exit "kill -KILL $pid 2>/dev/null"
exec 3>"$TMP/gate"
await grep -q ready "$TMP/out"
base=$(awk -v file="$target" '$NF == file { print $1; exit }' "/proc/$pid/maps")
at=$((0x${base%-*} + 0x$(nm "$target" | awk '$3 == "weigh" { print $1 }')))
code() {
    dd if="/proc/$pid/mem" bs=1 skip=$at count=16 2>/dev/null | od -An -tx1
}
is_probed() {
    [ "$(code)" != "$original" ]
}
is_restored() {
    ! is_probed
}
original=$(code)
for by in "${means[@]}"; do
    "$XPROF" record --probe-links "$by" -p "$pid" -e "uprobe-latency:$target:weigh" -o "$TMP/x.collapsed" 2>"$errors" &
    recorder=$!
    await is_probed
    case $by in
    perf) grep -qE '^link_type:\s*perf' /proc/$recorder/fdinfo/* 2>/dev/null || fail "no links to perf events" ;;
    plain) readlink /proc/$recorder/fd/* | grep -q 'anon_inode:\[perf_event\]' || fail "no perf events" ;;
    esac
    kill -KILL "$recorder"
    wait "$recorder" || true
    await is_restored
done
exec 3>&-
wait "$pid" || fail "the program that was probed ended with $?"
echo "nothing is left of recordings that were killed"
