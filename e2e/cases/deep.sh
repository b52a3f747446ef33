#!/bin/bash
# Deep recursion: up to the limit of 1,024 frames a stack is whole; beyond it is cut, and says so.
set -euo pipefail
. e2e/lib.sh
need_root

build_target deep
record -- "$TMP/deep" 30 300
expect_samples 200
expect_complete 99
expect_share 99 '_start;(.*;)?main;(down;){30}burn' 'main;.*'

record -- "$TMP/deep" 900 300
expect_samples 200
expect_complete 98 # the first ones are completed from 16 KiB of copied stack
expect_share 98 '_start;(.*;)?main;(down;){900}burn'

record -- "$TMP/deep" 5000 300
expect_samples 200
expect .complete == 0
expect '.cut.depth / .user_samples' '>=' 0.95
expect_share 95 'deep;\[cut: depth\];(down;){1015,1023}burn'
grep -q 'cut: depth .*deep' "$errors" || fail "the text summary does not name the cause and the file"
