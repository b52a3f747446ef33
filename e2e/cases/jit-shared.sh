#!/bin/bash
# Code that is generated into shared memory, whose file changes all the time, is no file's: its stacks are whole from the
# first one on, by frame pointers, launched and attached.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

gcc -O2 -o "$TMP/shared" e2e/jit/shared.c
whole() {
    expect_samples 300
    expect_complete 99
    expect_share 98 '_start;(.*;)?main;[[]anonymous[]];[[]anonymous[]]' '.*[[]anonymous[]]'
    expect .files '<' 40
    expect .late '<' 30
}
record_both whole -- "$TMP/shared" 4
