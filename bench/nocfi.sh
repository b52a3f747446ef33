#!/bin/bash
# Complete stacks of programs that spend their time in hand-written assembly without unwind information: with rows that are
# synthesised from the instructions, without them, and by perf, which copies 64 KiB of stack with each sample and unwinds
# later. (Against other eBPF profilers: PROGRAMS=e2e/nocfi/programs.sh bench/peers.sh.)
set -euo pipefail
cd "$(dirname "$0")/.."
XPROF=${XPROF:-${B:-build}/xprof}
tmp=$(mktemp -d)
running=''
trap '[ -z "$running" ] || kill -KILL "$running"; rm -rf "$tmp"' EXIT
# shellcheck source=e2e/nocfi/programs.sh
. e2e/nocfi/programs.sh

complete() { # OPTION...: per cent of the process's user stacks
    "$XPROF" record -F 199 -d 5s -p "$running" -o "$tmp/x.collapsed" "$@" 2>&1 |
        sed -nE 's/^ *([0-9.]+) % of [0-9]+ user stacks are complete.*/\1/p'
}

by_perf() { # the same: its outermost frame is where programs and threads begin
    perf record -q -F 49 -g --call-graph dwarf,65528 -e cpu-clock:u -p "$running" -o "$tmp/perf.data" -- sleep 3 >/dev/null 2>&1
    timeout 300 perf script -i "$tmp/perf.data" -F ip,sym --no-inline 2>/dev/null | awk '
        function flush() { if (last != "") { n++; ok += last ~ /^(_start|__?clone3?|clone3|start_thread)$/ } last = "" }
        NF < 2 && !NF { flush() } NF >= 2 { last = $2 } END { flush(); if (n) printf "%.1f", 100 * ok / n }'
}

line() { # NAME OURS THEIRS
    awk -v n="$1" -v a="${2:-0}" -v b="${3:-}" 'BEGIN {
        if (b == "") printf "%s, skip: no figure\n", n
        else printf "%s, %.2f, %.2f, %.2fx, >= 97, %s\n", n, a, b, (b > 0 ? a / b : 0), (a >= 97 ? "pass" : "fail") }'
}

[ "$(id -u)" = 0 ] || { echo "nocfi, skip: needs root"; exit 0; }
for name in $(programs); do
    program "$name" >/dev/null 2>&1
    "${command[@]}" >/dev/null 2>&1 &
    running=$!
    sleep 2
    complete >/dev/null # its files are known from here on
    with=$(complete)
    line "$name: complete stacks (%) against none synthesised" "$with" "$(complete --synth=off)"
    if command -v perf >/dev/null; then
        line "$name: complete stacks (%) against perf with 64 KiB" "$with" "$(by_perf)"
    fi
    kill -KILL $running
    wait $running 2>/dev/null || true
    running=''
done
