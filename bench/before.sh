#!/bin/bash
# What recording `cpu` alone costs, beside the same of an earlier binary (BEFORE), such as of the last commit before waits
# were followed (81aa457): what is there for other events must cost nothing as long as nobody wants them. Of the rounds,
# the best one of each counts: others of the machine disturb the rest.
set -euo pipefail
cd "$(dirname "$0")/.."
ROUNDS=${ROUNDS:-7}
# shellcheck source=bench/lib/agent.sh
. bench/lib/agent.sh before
[ -x "${BEFORE:-}" ] || skip_bench "BEFORE is no earlier binary of xprof"

build_target deep -g -O1
"$TMP/deep" 20 600000 >/dev/null 2>&1 &
target=$!
at_exit "kill $target"

one() { # NAME BINARY
    "$2" record -v -e cpu -F 999 -d 4s --no-cache -p $target -o "$TMP/x.collapsed" --summary "$TMP/x.json" 2>"$TMP/x.err"
    sed -n 's/.*eBPF xp_event_0: \([0-9]*\) instructions verified.*/\1/p' "$TMP/x.err" >"$TMP/$1.verified"
    jq .map_bytes "$TMP/x.json" >"$TMP/$1.maps"
    jq .bpf_ns_per_sample "$TMP/x.json" >>"$TMP/$1.ns"
}
for ((i = 0; i < ROUNDS; i++)); do
    one before "$BEFORE"
    one now "$XPROF"
done
compare() { # NAME FILE UNIT GOAL
    awk -v name="$1" -v unit="$3" -v goal="$4" '
        FNR == NR { now = !now || $1 < now ? $1 : now; next } { before = !before || $1 < before ? $1 : before }
        END {
            a = now; b = before
            verdict = goal == "-" ? "-" : a / b <= 1.02 ? "pass" : "fail"
            printf "before %s, %d %s, %d %s, %.4f, %s, %s\n", name, a, unit, b, unit, a / b, goal, verdict
        }' "$TMP/now.$2" "$TMP/before.$2"
}
compare "verified" verified instructions "<= 1.02x"
compare "maps" maps bytes "<= 1.02x"
compare "sample" ns ns "<= 1.02x"
