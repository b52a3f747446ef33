#!/bin/bash
# A browser with a busy page: 230 MB of code, nearly all of it without unwind information. Whole chains equal those of CFI
# and frame pointers at random stops; nearly all stacks are complete, from the first second on when the browser is known.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need chromium gdb jq unshare

HOME=$TMP unshare --fork --pid --mount-proc --kill-child chromium --headless=new --no-sandbox --disable-gpu \
    --disable-dev-shm-usage --no-first-run --user-data-dir="$TMP/profile" "file://$PWD/e2e/nocfi/busy.html" \
    >"$TMP/browser" 2>&1 &
browser=$!
at_exit "kill -KILL $browser; wait $browser 2>/dev/null"

busiest() { # the renderer of the page: its PID is in $page
    local pid best=0 stat fields
    page=
    for pid in $(descendants $browser); do
        tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q -- --type=renderer || continue
        stat=$(<"/proc/$pid/stat")
        read -ra fields <<<"${stat##*) }"
        if [ "${fields[11]}" -gt "$best" ]; then page=$pid best=${fields[11]}; fi
    done
    [ "$best" -gt 100 ] # a second, in 10 ms
}
for _ in 1 2 3; do (await busiest) >/dev/null 2>&1 && break; done
busiest || fail "no page is busy: $(tail -c 2000 "$TMP/browser")"

# From nothing, and again with what was kept.
CACHE=$TMP/cache HZ=99 record -p "$page" -d 20s
echo "cold, 20 s: $(value .complete) of $(value .user_samples) complete, $(value .agent_cpu_seconds) CPU-s"
expect_samples 200
expect_complete 80 # on a machine that is busy with other things
CACHE=$TMP/cache HZ=99 record -p "$page" -d 10s
echo "warm, 10 s: $(value .complete) of $(value .user_samples) complete, $(value .agent_cpu_seconds) CPU-s"
expect_samples 100
expect_complete 97

# Frame by frame, of all threads.
PID=$page STOPS=60 FRAMES=1 OPTIONS="--cache-dir $TMP/cache" XPROF=$XPROF timeout 200 \
    gdb -batch -nx -x e2e/nocfi/gdb.py >"$TMP/gdb" 2>&1 || fail "$(tail -c 2000 "$TMP/gdb")"
tail -n 1 "$TMP/gdb" >"$TMP/stops"
echo "stops: $(jq -c 'del(.differences)' "$TMP/stops")"
stops() { # JQ_EXPRESSION
    jq -e "$1" "$TMP/stops" >/dev/null || fail "not so: $1: $(head -c 3000 "$TMP/stops")"
}
stops '.stops >= 50 and .sound >= 0.9 * .stops and .complete >= 0.95 * .stops'
stops '.equal + .cut == .sound and .cut <= 0.05 * .sound'
