#!/bin/bash
# A thread that sleeps from the first moments of its program on, when the tables of its files are still to be built, has
# a whole stack, also where this is larger than what is copied of it.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

build_target early
for _ in 1 2 3; do
    record -e offcpu -- sh -c "exec $TMP/early"
    ns=$(awk '/^early;(.*;)?main;deep;nap;.*\[sleep\] [0-9]+$/ && !/\[cut/ { n += $NF } END { print n + 0 }' "$profile")
    is "$ns" '>=' 1490000000 || fail "of its sleep of 1.5 s, $ns ns have a whole stack"
done
