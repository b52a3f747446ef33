#!/bin/bash
# A program on a file system that may not answer (FUSE) is left alone by events that set probes, which is said and counted:
# the kernel would wait for that file system while no process of the machine can fork.
set -euo pipefail
. e2e/lib.sh
need_root
need_kernel 6.6 "uprobe_multi links"
[ -w /dev/fuse ] || skip "there is no /dev/fuse"
build_target hangfs
build_target layout -static
mkdir "$TMP/fs"
"$TMP/hangfs" "$TMP/fs" "$TMP/layout" read &
at_exit "kill -TERM $!; umount -l $TMP/fs"
await pgrep -P $! -f "^program"
pid=$(pgrep -P $! -f "^program")
began=$SECONDS
record -e memory -p "$pid" -d 2s
echo "it took $((SECONDS - began)) s"
[ "$(grep -c "event memory: process $pid runs code from a file system that may not answer (type 0x65735546" "$errors")" = 1 ] ||
    fail "it is not said once"
grep -q "1 files were left alone" "$errors" || fail "the summary does not say so"
expect .files_left_alone == 1
expect .probes_refused == 0
expect .memory_hits == 0
