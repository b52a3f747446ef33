#!/bin/bash
# What the timeline costs a switch of threads, beside `perf sched record` in the same run: two processes on one CPU pass a
# byte to and fro. Then SECONDS_LONG (60) of two threads that do so on all CPUs, at some 50,000 switches a second: memory,
# the size of the files, and whether the Firefox Profiler's own importer reads its one.
set -euo pipefail
cd "$(dirname "$0")/.."
ROUNDS=${ROUNDS:-5} SECONDS_LONG=${SECONDS_LONG:-60}
# shellcheck source=bench/lib/agent.sh
. bench/lib/agent.sh timeline
command -v perf >/dev/null || skip_bench "there is no perf"
# shellcheck source=bench/lib/switches.sh
. bench/lib/switches.sh
program_of() { # COMMAND
    if [ "$1" = "$XPROF" ]; then echo xp_tl_switch; fi
}

for ((i = 0; i < ROUNDS; i++)); do
    switch_ns >>"$TMP/none"
    beside timeline "$XPROF" record -e timeline -a -o "$TMP/t.json"
    beside perf perf sched record -o "$TMP/perf.data"
done
awk -v none="$(median none)" -v ours="$(median timeline)" -v perf="$(median perf)" 'BEGIN {
    a = (ours - none) / 1000; b = (perf - none) / 1000
    printf "timeline switch, %.2f us a switch and its wake-up, perf sched record %.2f us, %.2f, <= 1x, %s\n", a, b, a / b,
        a <= b ? "pass" : "fail" }'
kill "$player"

gcc -O1 -pthread -o "$TMP/target" e2e/targets/timeline.c
ONLY_PING=1 PING_RATE=${PING_RATE:-23500} "$TMP/target" $((SECONDS_LONG + 2)) >/dev/null &
"$XPROF" record -e timeline -a -d "${SECONDS_LONG}s" -o "$TMP/t.json" -o "$TMP/t.gecko.json" --summary "$TMP/sum" 2>/dev/null
wait $!
python3 - "$TMP" <<'END'
import json, os, sys
t, s = (json.load(open(sys.argv[1] + "/sum")) for _ in range(2))
t, size = s["timeline"], lambda f: os.path.getsize(f"{sys.argv[1]}/t.{f}") / 1e6
print(f"timeline memory, {t['bytes'] / 1e6:.1f} MB of {t['switches'] + t['wakeups']:,} events in {s['duration_seconds']:.0f} s, "
      f"64 MB, {t['bytes'] / 67108864:.2f}, <= 1x, {'pass' if t['bytes'] <= 67108864 and not t['lost'] else 'fail'}")
print(f"timeline files, {size('json'):.0f} MB of Chrome's and {size('gecko.json'):.0f} MB of Firefox's, -, -, -, -")
print(f"timeline rate, {t['switches'] / t['seconds']:.0f} switches a second, -, -, -, -")
print(f"timeline kept, the last {t['seconds']:.1f} s; {t['dropped']:,} events dropped and {t['lost']} lost, -, -, -, -")
END

if FIREFOX=$(e2e/html/firefox.sh); then
    export FIREFOX PROFILER_CLI_SESSION_DIR=$TMP
    before=$(date +%s%N)
    opened=fail
    if $FIREFOX load "$TMP/t.gecko.json" >/dev/null; then opened=pass; fi
    echo "timeline in Firefox, opened by its importer in $((($(date +%s%N) - before) / 1000000)) ms, -, -, -, $opened"
    $FIREFOX stop >/dev/null
else
    echo "timeline in Firefox, there is no npm, -, -, -, skip"
fi
