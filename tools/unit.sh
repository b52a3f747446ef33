#!/bin/bash
# Runs all unit tests of a program in shares, as many at once as there are CPUs.   tools/unit.sh PROGRAM LOGS [SUBSTRING...]
# With words, only tests whose names have one of them. Prints what failed or was skipped, and the sums. LOGS is a folder.
set -euo pipefail

program=$1 logs=$2
shift 2
n=$(($(nproc) * 6)) status=0 # some tests take as long as a hundred others
mkdir -p "$logs"
rm -f "$logs"/share.*
# shellcheck disable=SC2016 # of the inner shell
seq "$n" | xargs -P "$(nproc)" -I K bash -c '"$1" -s "K/$2" "${@:4}" >"$3/share.K" 2>&1' - "$program" "$n" "$logs" "$@" || status=1
grep -hvE '^ok ' "$logs"/share.* | grep -vE '^[0-9]+ passed, ' || true
tail -qn 1 "$logs"/share.* | awk '$2 == "passed," { p += $1; f += $3; s += $5; n++ } END {
    printf "%d passed, %d failed, %d skipped\n", p, f, s
    exit n == '"$n"' ? 0 : 1 }' || { echo "a process ended before its tests did" && status=1; }
exit $status
