#!/bin/bash
# Eight threads: each one's stack ends at the bottom of clone3.
set -euo pipefail
. e2e/lib.sh
need_root

build_target threads -pthread
record -- "$TMP/threads"
expect_samples 900
expect_complete 99
expect_share 99 '(\[libc[^;]*\]|clone3?|__clone3?);(\[libc[^;]*\]|start_thread);work;burn' 'work;.*'
expect_no_stack 'main;(.*;)?work'
