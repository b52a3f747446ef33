#!/bin/bash
# Stacks that a function realigned: the CFA hangs on another register.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

for flags in "-O2" "-O2 -mstackrealign -fomit-frame-pointer" "-O1 -mstackrealign"; do
    # shellcheck disable=SC2086
    build_target drap $flags
    HZ=1997 record -- "$TMP/drap"
    expect_samples 800
    expect_complete 98 # gcc says where rbp is saved until the function ends, even behind the leave that restored it
    expect_share 99 '_start;(.*;)?main;outer;realigned;leaf' 'leaf;?.*'
    expect_stack 'realigned' "$profile" 20
done
