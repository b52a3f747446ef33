#!/bin/bash
# Two pairs of processes that switch as fast as they can, on all CPUs: no wait is lost, and times add up.
set -euo pipefail
. e2e/lib.sh
need_root
need go jq

build_target offcpu -pthread
before=$(stolen)
record -e offcpu,runqueue -o "$TMP/x.pb.gz" -- "$TMP/offcpu" storm storm >"$TMP/own"
stolen=$(($(stolen) - before))
expect .lost.wait == 0
expect '.lost["ring-full"]' == 0
expect_truth "$TMP/x.pb.gz" "$TMP/own" 0.2 "$stolen"
awk '$3 < 20000 { exit 1 }' "$TMP/own" || fail "this was no storm: $(cat "$TMP/own")"
