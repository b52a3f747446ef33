#!/bin/bash
# A process that allocates as fast as it can loses no more of its time to probes than --memory-max-cost allows; the
# profile says for which share of the time it saw. Blocks that nobody can have seen being freed do not remain in use.
# Without a limit, and exactly, everything is seen.
set -euo pipefail
. e2e/lib.sh
need_root
need go
kernel=$(uname -r)
printf '6.6\n%s\n' "${kernel%%-*}" | sort -VC || skip "uprobe_multi links are of Linux 6.6"
build_target spender

held() { # FILE: bytes in use
    awk '{ n += $NF } END { printf "%.0f\n", n }' "$1"
}

record -e memory -o "$TMP/x.pb.gz" -o "$TMP/y.collapsed" -- "$TMP/spender" 50 12 >"$TMP/out"
grep -q 'done' "$TMP/out" || fail "the program did not end well"
expect .memory_rests '>' 0
expect .memory_seen_percent '<' 50
expect .memory_seen_percent '>' 0
expect .memory_unknown '>' 10
expect .memory_hits '<' 1500000 # 5 % of 12 s, at 400 ns each: no hit is as cheap
grep -q "memory: allocations were seen .* % of the time" "$errors" || fail "the summary does not say so"
GOTOOLCHAIN=local go tool pprof -comments "$TMP/x.pb.gz" 2>/dev/null | grep -q "memory: allocations were seen" ||
    fail "the profile does not say so"
period() { # in bytes, as Go's heap profiles have it
    GOTOOLCHAIN=local go tool pprof -raw -symbolize=none "$TMP/x.pb.gz" 2>/dev/null |
        awk '/^PeriodType: space bytes/ { space = 1 } /^Period:/ && space { print $2 }'
}
[ "$(period)" = 524288 ] || fail "the profile has the period $(period)"
[ "$(held "$TMP/y.collapsed")" -lt 5000000 ] || fail "blocks from before a rest are still in use"

record -e memory --memory-max-cost off -o "$TMP/y.collapsed" -- "$TMP/spender" 50 3
expect .memory_rests == 0
[ "$(held "$TMP/y.collapsed")" -gt 30000000 ] || fail "without a limit, blocks are missing"
record -e memory --memory-exact --memory-max-cost 1 -o "$TMP/x.pb.gz" -o "$TMP/y.collapsed" -- "$TMP/spender" 50 3
expect .memory_rests == 0
expect .memory_seen_percent == 100
[ "$(period)" = 1 ] || fail "the exact profile has the period $(period)"
[ "$(held "$TMP/y.collapsed")" -ge 52428800 ] || fail "exactly, blocks are missing"
