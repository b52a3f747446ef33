#!/bin/bash
# Code without unwind information: with .debug_frame alone it is whole, with nothing the cut has a name.
set -euo pipefail
. e2e/lib.sh
need_root

OUT=debug-frame build_target layout -fno-asynchronous-unwind-tables -fomit-frame-pointer -g1 -gz
readelf -SW "$TMP/debug-frame" | grep -q '\.debug_frame.* C ' || fail "there is no compressed .debug_frame"
record -- "$TMP/debug-frame" 300
expect_samples 200
expect_complete 98
expect_share 98 'main;outer;middle;inner;burn'

OUT=nothing build_target layout -fno-asynchronous-unwind-tables -fomit-frame-pointer
record -- "$TMP/nothing" 300
expect_samples 200
expect '.complete / .user_samples' '<' 0.05
expect '((.cut["no-rule"] // 0) + (.cut["frame-pointer"] // 0)) / .user_samples' '>=' 0.95
expect_share 95 'nothing;\[cut: (no-rule|frame-pointer)\];(.*;)?burn'
grep -qE 'cut: (no-rule|frame-pointer) .*nothing' "$errors" || fail "the text summary does not name the file"
