#!/bin/bash
# Tables are kept on disk: a second recording makes none; damaged ones are made anew.
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
check
[ "$(tables | wc -l)" -ge 3 ] || fail "nothing was kept"
kept() { find "$CACHE" -type f -printf '%i %p\n' | sort; }
kept >"$TMP/made"
check
kept >"$TMP/now" # a sample may fall into a file that had none before, and make that one's
[ -z "$(comm -23 "$TMP/made" "$TMP/now")" ] || fail "made again: $(comm -23 "$TMP/made" "$TMP/now")"

tables | while read -r file; do # a byte in the middle
    printf '\377\252' | dd of="$file" bs=1 seek=$(($(stat -c %s "$file") / 2)) conv=notrunc status=none
done
check
tables | while read -r file; do truncate -s 100 "$file"; done
check
CACHE=/proc/nothing check
grep -q 'no table cache in /proc/nothing' "$errors" || fail "a cache that cannot be used is not mentioned"
