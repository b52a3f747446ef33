#!/bin/bash
# Stacks are whole through functions with return probes, of another tool and our own, and where probes are executed.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

build_target probed -fno-optimize-sibling-calls
mkdir "$TMP/tracing"
mount -t tracefs none "$TMP/tracing" || skip "no tracefs"
at_exit "umount $TMP/tracing"
at=$(nm "$TMP/probed" | awk '$3 == "deeper" { print $1 }')
echo "r:xprof_$$/deeper $TMP/probed:0x$at" >>"$TMP/tracing/uprobe_events" || skip "no uprobes in tracefs"
at_exit "echo 0 >$TMP/tracing/events/xprof_$$/enable; echo -:xprof_$$/deeper >>$TMP/tracing/uprobe_events"
echo 1 >"$TMP/tracing/events/xprof_$$/enable"

record -e cpu,memory --memory-exact -o "$TMP/x.pb.gz" -- "$TMP/probed"
profile=$TMP/x.collapsed
expect_samples 2000
expect_complete 99.9
expect '.cut["no-mapping"] // 0' '<=' 60
expect '.cut["anonymous-code"] // 0' '<=' 3
deeper=$(printf 'deeper;%.0s' {1..20})
expect_share 99 "_start;(.*;)?main;${deeper}burn(;.*)?" '(.*;)?burn(;.*)?'
# While the kernel sets a return probe, the return address is in none of its notes yet.
expect_share 95 '_start;(.*;)?main;allocate;inner;malloc(;.*)?' '(.*;)?malloc(;.*)?'
