#!/bin/bash
# Processes that execute one program after another, faster than xprof attaches to them: what the last one allocates is
# followed to its end, and nothing of it is forgotten with the programs before.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go
need_kernel 6.6 "uprobe_multi links"
build_target replacing -O1 -fno-builtin -pthread

for round in 1 2 3; do
    # shellcheck disable=SC2016 # of the inner shell
    sh -c 'sleep 1; for n in 1 2 3 4 5 6; do "$0" 12 5 & done; wait' "$TMP/replacing" &
    pid=$!
    at_exit "kill $pid"
    record -e memory --memory-exact -p $pid -d 9s -o "$TMP/x.pb.gz"
    wait $pid
    for value in alloc_objects inuse_objects; do
        GOTOOLCHAIN=local go tool pprof -sample_index=$value -top -symbolize=none "$TMP/x.pb.gz" 2>/dev/null |
            awk '$6 == "hold" { n = $4 } END { print n + 0 }' >"$TMP/$value"
    done
    echo "round $round: $(<"$TMP/alloc_objects") blocks, $(<"$TMP/inuse_objects") of them in use in the end"
    (($(<"$TMP/alloc_objects") > 10000)) || fail "the program was not followed"
    (($(<"$TMP/inuse_objects") == 0)) || fail "blocks that were freed are in use"
done
