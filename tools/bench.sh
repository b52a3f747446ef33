#!/bin/bash
# Runs benchmarks and makes a table of their results.   tools/bench.sh PROGRAM...
# A benchmark measures itself and a reference in the same run, and prints a line on stdout for each result:
#   NAME, OURS, REFERENCE, RATIO, GOAL, pass|fail|-        "-": no goal
#   NAME, skip: WHY                                        it cannot be measured here
# with units, and without commas inside. What it has to say besides goes to stderr. Exit status 1 when a goal is missed.
set -uo pipefail

results=$(mktemp)
trap 'rm -f "$results"' EXIT
for program; do
    name=$(basename "$program")
    echo "== $name" >&2
    "$program" >>"$results" || echo "$name, failed with exit status $?" >>"$results"
done

awk -F ', *' '
NR == 1 { printf "\n%-28s %-20s %-26s %-8s %-30s %s\n", "name", "ours", "reference", "ratio", "goal", "verdict" }
NF == 6 {
    printf "%-28s %-20s %-26s %-8s %-30s %s\n", $1, $2, $3, $4, $5, $6
    results++
    missed += $6 != "pass" && $6 != "-"
    next
}
/, skip:/ {
    print
    skipped++
    next
}
{
    print "not a result: " $0
    missed++
}
END {
    printf "%d results, %d missed or failed, %d skipped\n", results, missed, skipped
    exit missed > 0
}' "$results"
