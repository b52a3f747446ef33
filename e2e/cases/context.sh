#!/bin/bash
# Coroutines: a stack that makecontext made is whole, and the owner's does not mix with it.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

build_target context
record -- "$TMP/context"
expect_samples 350
expect_complete 99
expect_stack 'context;(\[libc[^;]*\];|__start_context;)?body;burn' "$profile" 150
expect_stack '_start;(.*;)?main;turns;burn' "$profile" 150
expect_no_stack 'turns;(.*;)?body'
