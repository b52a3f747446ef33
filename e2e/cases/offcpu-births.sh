#!/bin/bash
# Threads that have yet to run for the first time are on run queues, too, even those that never leave their CPU again.
set -euo pipefail
. e2e/lib.sh
need_root
need go jq

build_target births
record -e runqueue -o "$TMP/x.pb.gz" -- "$TMP/births" 200 >"$TMP/own"
expect .lost.wait == 0
read -r parent ns <"$TMP/own"
waits_of "$TMP/x.pb.gz" | awk -v parent="$parent" -v ns="$ns" '$1 != parent { all += $4; n += $2; pids[$1] }
    END {
        printf "%d waits of %d processes; %.3f ms of %.3f\n", n, length(pids), all / 1e6, ns / 1e6
        exit !n || all < 0.998 * ns || all > 1.002 * ns + 1e6
    }' || fail "they waited for their CPU for $ns ns"
