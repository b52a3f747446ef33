#!/bin/bash
# Runs benchmarks and makes a table of their results.   tools/bench.sh PROGRAM...
# A benchmark measures itself and a reference in the same run, and prints a line for each result:
#   bench: NAME OURS REFERENCE UNIT GOAL
# NAME and UNIT have no blanks; OURS and REFERENCE are numbers; GOAL bounds their ratio: "<=0.55", ">=8", or "-" for
# none. Whatever else it prints is passed on; a benchmark that cannot run exits with 77 and says why.
set -uo pipefail

results=$(mktemp)
trap 'rm -f "$results"' EXIT
status=0
for program; do
    echo "== $(basename "$program")"
    "$program" | tee >(grep '^bench: ' >>"$results") | grep -v '^bench: '
    rc=${PIPESTATUS[0]}
    [ "$rc" = 0 ] || [ "$rc" = 77 ] || { echo "$(basename "$program"): failed ($rc)" && status=1; }
done
wait

awk -v failed=$status '
function verdict(ratio, goal,    bound) {
    bound = substr(goal, 3) + 0
    if (goal ~ /^<=/)
        return ratio <= bound ? "ok" : "MISSED"
    if (goal ~ /^>=/)
        return ratio >= bound ? "ok" : "MISSED"
    return "-"
}
NR == 1 { printf "\n%-40s %14s %14s %-10s %8s %8s  %s\n", "name", "ours", "reference", "unit", "ratio", "goal", "verdict" }
{
    ratio = $4 + 0 ? $3 / $4 : 0
    v = verdict(ratio, $6)
    missed += v == "MISSED"
    printf "%-40s %14s %14s %-10s %8.3f %8s  %s\n", $2, $3, $4, $5, ratio, $6, v
}
END {
    printf "%d results, %d missed\n", NR, missed
    exit failed || missed ? 1 : 0
}' "$results"
