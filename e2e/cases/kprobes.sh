#!/bin/bash
# Functions of the kernel as events: calls and returns are counted exactly, with conditions on arguments and results. On a
# kernel without kprobes, that is said. Run it in a virtual machine, too (Debian's kernels have kprobes).
set -euo pipefail
. e2e/lib.sh
need_root

expect_exit 2 'expected kprobe:FUNCTION or FUNCTION\+OFFSET' "$XPROF" record -a -e kprobe:x:y
expect_exit 2 'expected kretprobe:FUNCTION of the kernel' "$XPROF" record -a -e kretprobe:vfs_write+4
expect_exit 2 'expected kprobe:FUNCTION or FUNCTION\+OFFSET' "$XPROF" record -a -e 'kprobe:vfs_*+4'
if [ ! -e /sys/bus/event_source/devices/kprobe/type ]; then
    expect_exit 2 'this kernel has no kprobes' "$XPROF" record -a -e kprobe:vfs_write
    expect_exit 2 'this kernel has no kprobes' "$XPROF" record -a -e 'kprobe:vfs_*'
    { "$XPROF" check || true; } | grep -qE '^-- +kernel functions +this kernel has no kprobes' || fail "xprof check"
    echo "this kernel has no kprobes, and that is said"
    exit 0
fi
expect_exit 2 'no function vfs_writ; near it: .*vfs_write' "$XPROF" record -a -e kprobe:vfs_writ
expect_exit 1 'the kernel allows no probe there' "$XPROF" record -a -e kprobe:vfs_write+1

dd if=/dev/zero of="$TMP/zeros" bs=4096 count=300 2>/dev/null
copy() { # OPTION...: a program that writes 300 blocks
    record "$@" -- dd if="$TMP/zeros" of=/dev/null bs=4096 status=none
    echo 1 >"$TMP/x.sample"
}
copy -e kprobe:vfs_write
is "$(samples_of 'dd;.*ksys_write_\[k\];vfs_write_\[k\]')" == 300 || fail "300 calls of vfs_write"
copy -e kprobe:vfs_write --value arg3:bytes
is "$(samples_of 'dd;.*vfs_write_\[k\]')" == 1228800 || fail "the sum of an argument"
copy -e kretprobe:vfs_write --filter 'retval == 4096'
is "$(samples_of 'dd;.*')" == 300 || fail "300 returns"

# Patterns.
{ "$XPROF" check || true; } | grep -qE '^ok +kernel functions +can be probed' || fail "xprof check"
for by in auto perf; do
    copy -e 'kprobe:vfs_*' --probe-links $by
    is "$(samples_of 'dd;.*vfs_write_\[k\]')" == 300 || fail "$by: 300 calls of vfs_write"
    is "$(samples_of 'dd;.*vfs_read_\[k\]')" '>=' 300 || fail "$by: 300 calls of vfs_read"
    copy -e 'kretprobe:vfs_writ?' --filter 'retval == 4096' --probe-links $by
    is "$(samples_of 'dd;.*')" == 300 || fail "$by: 300 returns"
done
expect_exit 2 'no function of such a name' "$XPROF" record -a -e 'kprobe:no_such_*'
expect_exit 2 'of which 1000 can be probed at once' "$XPROF" record -a -e 'kprobe:*'
copy -e 'kprobe:*lock_irq*' # some of them cannot be traced
grep -qE '[0-9]+ of [0-9]+ functions are not probed' "$errors" || fail "functions that are left out are not counted"

copy -e kprobe:vfs_write --filter 'arg3 == 4095'
expect .samples == 0
