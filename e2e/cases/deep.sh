#!/bin/bash
# Deep recursion: up to the limit (XP_MAX_USER) a stack is whole; beyond it is cut, and says so.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

build_target deep
record -- "$TMP/deep" 30 300
expect_samples 200
expect_complete 99
expect_share 99 '_start;(.*;)?main;(down;){30}burn' 'main;.*'

record -- "$TMP/deep" 900 900
expect_samples 600
expect_complete 98 # of the first ones only 16 KiB of stack were copied, which may not reach main
expect_share 98 '_start;(.*;)?main;(down;){900}burn' 'down;.*'

limit=$(awk '$2 == "XP_MAX_USER" { print $3 }' bpf/xprof.h)
record -- "$TMP/deep" $((2 * limit)) 300
expect_samples 200
expect '.complete / .user_samples' '<=' 0.03 # before it is deep
expect '.cut.depth / .user_samples' '>=' 0.95
expect_share 95 'deep;\[cut: depth\];(down;){250}.*burn'
# The limit is reached to the last frame: process and mark, then that many, kernel frames apart.
grep -E ';burn [0-9]+$' "$profile" | awk -F';' -v n=$((limit + 2)) 'NF == n' >"$TMP/whole"
whole=$(samples_of '.*' "$TMP/whole")
is "$whole" '>=' "0.7 * $(value .samples)" || fail "only $whole stacks have $limit frames"
grep -q 'cut: depth .*deep' "$errors" || fail "the text summary does not name the cause and the file"
