#!/bin/bash
# Children of vfork, on their parent's stack.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

build_target vfork
record -- "$TMP/vfork"
expect_samples 300
expect_complete 98
expect_share 99 '_start;(.*;)?main;spawn;in_child;burn' 'in_child;.*'
expect_stack '_start;(.*;)?main;quick;(__)?vfork;.*_\[k\]' "$profile" 50
expect_stack 'in_child;burn' "$profile" 250
