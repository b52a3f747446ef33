#!/bin/bash
# Probes that are hit a million times a second: what costs too much is taken off, comes back, and says so; the program goes
# on as fast as without, and nothing stays behind in it. Probes that cost little are on all the time.
set -euo pipefail
. e2e/lib.sh
need_root

build_target ticks
target=$TMP/ticks
name=''
ticks() { # OPTION...: how often the program ticks in 6 s meanwhile
    record "$@" -o "$TMP/x.pb.gz" -- "$target" 6 >"$TMP/own"
    echo 1 >"$TMP/x.sample"
    [ "$(value '.probes[0].event')" = "$name" ] || fail "no costs of $name"
}
capped() { # LEAST: share of its speed that the program keeps
    ticks -e "$name"
    grep -q "$name: its probes cost more than 5 % of a CPU" "$errors" || fail "it is not said that probes are taken off"
    grep -q "$name: was recorded [0-9.]* % of the time" "$errors" || fail "it is not said for how long they were on"
    go tool pprof -comments "$TMP/x.pb.gz" 2>/dev/null | grep -q "$name: was recorded [0-9.]* % of the time" ||
        fail "the profile does not say of how much it is"
    expect '.probes[0].seen_percent' '<' 60
    expect '.probes[0].seen_percent' '>' 0
    expect '.probes[0].rests' '>=' 1
    expect '.probes[0].cost_seconds' '<' 1
    is "$(<"$TMP/own")" '>=' "$1 * $alone" || fail "$(<"$TMP/own") ticks, and $alone without probes"
    expect_complete 100
    echo "$name: $(<"$TMP/own") ticks of $alone, on for $(value '.probes[0].seen_percent') % of the time"
}

alone=$("$target" 6)
if grep -q bpf_uprobe_multi_link_attach /proc/kallsyms; then
    for function in tick tock; do
        for form in uprobe uretprobe uprobe-latency; do
            name=$form:$target:$function
            capped 0.6
        done
    done
    name=uprobe:$target:tock
    ticks -e "$name" --no-cap
    expect '.probes[0].seen_percent' == 100
    is "$(<"$TMP/own")" '<' "0.6 * $alone" || fail "without a cap, nothing is slowed down: this is no test of caps"
    echo "$name --no-cap: $(<"$TMP/own") ticks of $alone"
    name=uprobe:$target:main
    ticks -e "$name" --max-cost 1
    expect '.probes[0].seen_percent' == 100
    expect '.probes[0].hits' == 1
fi
name=syscall:getpriority
ticks -e "$name"
expect '.probes[0].seen_percent' == 100
expect '.probes[0].hits' '>=' 4000
expect_exit 2 'exclude each other' "$XPROF" record -a -e syscall:read --max-cost 3 --no-cap
expect_exit 2 'about tracepoints and functions' "$XPROF" record -a -e cpu --max-cost 3
