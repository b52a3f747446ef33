#!/bin/bash
# What seeing the allocations of a program slows it down that allocates about a million blocks per second: sampled with the
# default limit (--memory-max-cost), sampled without one, and exactly, each against the program alone in the same run.
set -euo pipefail
cd "$(dirname "$0")/.."
ROUNDS=${ROUNDS:-3} SECONDS_EACH=${SECONDS_EACH:-20}
# shellcheck source=bench/lib/agent.sh
. bench/lib/agent.sh heap
kernel=$(uname -r)
printf '6.6\n%s\n' "${kernel%%-*}" | sort -VC || skip_bench "uprobe_multi links are of Linux 6.6"
gcc -O2 -o "$TMP/churn" bench/targets/churn.c

alone() {
    "$TMP/churn" "$SECONDS_EACH"
}
recorded() { # OPTION...
    "$XPROF" record -e memory "$@" --summary "$TMP/summary" -o "$TMP/x.pb.gz" -- "$TMP/churn" "$SECONDS_EACH" \
        2>"$TMP/err"
}
for ((i = 0; i < ROUNDS; i++)); do
    alone >>"$TMP/alone"
    recorded >>"$TMP/governed"
    jq .memory_seen_percent "$TMP/summary" >>"$TMP/seen"
    recorded --memory-max-cost off >>"$TMP/sampled"
    recorded --memory-exact >>"$TMP/exact"
done
median() { # FILE
    sort -g "$TMP/$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}
awk -v alone="$(median alone)" -v governed="$(median governed)" -v sampled="$(median sampled)" \
    -v exact="$(median exact)" -v seen="$(median seen)" '
    function line(name, ours, goal, verdict) {
        printf "heap %s, %.0f k blocks/s, %.0f k blocks/s alone, %.3f, %s, %s\n", name, ours / 1000, alone / 1000,
            alone / ours, goal, verdict
    }
    BEGIN {
        line("sampled", governed, "<= 1.05x", alone / governed <= 1.05 ? "pass" : "fail")
        printf "heap sampled-time, seen %.1f %% of the time, -, -, -, -\n", seen
        line("sampled-without-limit", sampled, "-", "-")
        line("exact", exact, "-", "-")
    }'
