#!/bin/bash
# Runs all unit tests of a program, as many processes as there are CPUs, each a share of them.   tools/unit.sh PROGRAM LOGS
# Prints what failed or was skipped, and the sums. LOGS is a folder.
set -euo pipefail

program=$1 logs=$2
n=$(nproc) status=0
mkdir -p "$logs"
rm -f "$logs"/share.*
for ((k = 1; k <= n; k++)); do
    "$program" -s "$k/$n" >"$logs/share.$k" 2>&1 &
done
for job in $(jobs -p); do
    wait "$job" || status=1
done
grep -hvE '^ok ' "$logs"/share.* | grep -vE '^[0-9]+ passed, ' || true
tail -qn 1 "$logs"/share.* | awk '$2 == "passed," { p += $1; f += $3; s += $5; n++ } END {
    printf "%d passed, %d failed, %d skipped\n", p, f, s
    exit n == '"$n"' ? 0 : 1 }' || { echo "a process ended before its tests did" && status=1; }
exit $status
