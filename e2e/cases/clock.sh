#!/bin/bash
# The time of day jumps back while it is recorded: durations and order do not depend on it.
set -euo pipefail
. e2e/lib.sh
need_root

build_target backwards -shared -fPIC
OUT=busy build_target layout
"$TMP/busy" 60000 &
at_exit "kill $!"
LD_PRELOAD="$TMP/backwards" record -d 500ms -p $!
expect .duration_seconds '>=' 0.4
expect .duration_seconds '<' 10
expect_samples 50
expect_complete 99
expect_stack 'main;outer;middle;inner;burn' "$profile" 50
