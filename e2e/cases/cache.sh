#!/bin/bash
# Tables are kept on disk: a second recording makes none; damaged ones are made anew.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

build_target layout
export CACHE=$TMP/cache
chain='_start;(.*;)?main;outer;middle;inner;burn'
check() {
    record -v -- "$TMP/layout" 200
    expect_samples 100
    expect_complete 98
    expect_share 98 "$chain" 'burn;?.*'
}
tables() {
    find "$CACHE" -type f -size +1k
}
named_kernel() {
    expect_stack 'burn;(.*;)?[a-z_]+[^;]*_\[k\]'
    expect_no_stack '\[kernel\][^;]*'
}
check
named_kernel
[ "$(tables | wc -l)" -ge 3 ] || fail "nothing was kept"
if [ -e "$CACHE/kernel.xpk" ]; then # not where the kernel is asked for single names
    [ "$(stat -c %a "$CACHE/kernel.xpk")" = 600 ] || fail "others may read where the kernel's code lies"
fi
kept() { find "$CACHE" -type f -printf '%i %p\n' | sort; }
kept >"$TMP/made"
check
named_kernel
kept >"$TMP/now" # a sample may fall into a file that had none before, and make that one's
[ -z "$(comm -23 "$TMP/made" "$TMP/now")" ] || fail "made again: $(comm -23 "$TMP/made" "$TMP/now")"

tables | while read -r file; do # a byte in the middle
    printf '\377\252' | dd of="$file" bs=1 seek=$(($(stat -c %s "$file") / 2)) conv=notrunc status=none
done
check
tables | while read -r file; do truncate -s 100 "$file"; done
check
named_kernel
CACHE=/proc/nothing check
grep -q 'cannot use the table cache in /proc/nothing' "$errors" || fail "a cache that cannot be used is not mentioned"
