#!/bin/bash
# A process with 60,000 mappings, and code in one of them that belongs to no file.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

[ "$(cat /proc/sys/vm/max_map_count)" -ge 61000 ] || skip "vm.max_map_count is too low"
build_target maps
record -- "$TMP/maps" 60000
expect_samples 1200
# The first stacks meet files without tables, and so many mappings are not copied to unwind them later.
expect_complete 95
expect_share 95 '_start;(.*;)?main;\[anonymous\];work;burn' 'work;.*'
