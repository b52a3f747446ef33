#!/bin/bash
# The vdso: code that the kernel maps, of no file.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

build_target vdso
HZ=1997 record -- "$TMP/vdso"
expect_samples 500
expect_complete 99
[ "$(samples_of 'ask;(.*;)?.*_\[k\]')" -lt 300 ] || skip "the clock of this machine is not read in the vdso"
expect_stack '_start;(.*;)?main;ask;clock_gettime;(__vdso_)?clock_gettime' "$profile" 100
