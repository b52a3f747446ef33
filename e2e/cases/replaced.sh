#!/bin/bash
# Executables that are gone or were replaced while they are recorded.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

# Deleted before anybody looks at it.
OUT=deleted build_target layout
"$TMP/deleted" 3000 &
at_exit "kill $! 2>/dev/null"
await grep -q deleted "/proc/$!/comm"
rm "$TMP/deleted"
record -d 500ms -p $!
expect_samples 80
expect_complete 99
expect_share 99 '_start;(.*;)?main;outer;middle;inner;burn' 'burn;?.*'

# Written over in place: the same inode, another program. What the first one's functions were called nobody can tell
# any more; what the second one's are called must not be said of the first.
OUT=first build_target layout -DPREFIX=first_ -O0
OUT=second build_target layout -DPREFIX=second_ -fomit-frame-pointer
cp "$TMP/first" "$TMP/same"
record -- sh -c "$TMP/same 200; stat -c %i $TMP/same; cat $TMP/second >$TMP/same; stat -c %i $TMP/same; $TMP/same 200" \
    >"$TMP/inodes"
[ "$(sort -u "$TMP/inodes" | wc -l)" = 1 ] || fail "the file was not written in place"
expect_complete 90 # on a busy machine the table of the new file takes its time
expect_stack '_start;(.*;)?main;second_outer;second_middle;second_inner;burn' "$profile" 150
expect_share 100 'main;second_outer;second_middle;second_inner;burn' '.*second_.*'
expect_stack 'same;(.*;)?(\[same\+0x[0-9a-f]+\];){5,}\[same\+0x[0-9a-f]+\]' "$profile" 150
