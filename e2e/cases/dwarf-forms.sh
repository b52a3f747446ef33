#!/bin/bash
# Debug files that are compressed, in each of the three ways; and MiniDebugInfo, which names functions where there is
# nothing else.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need objcopy strip chroot xz nm

root=$TMP/root
OUT=whole build_target inlines -g -static -Wl,--build-id=sha1
id=$(readelf -n "$TMP/whole" | sed -n 's/.*Build ID: //p')
place=$root/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
mkdir -p "$root/bin" "${place%/*}"
strip -o "$root/bin/inlines" "$TMP/whole"

has_chain() {
    expect_stack '.*;main;around.*;between;innermost' "$profile" 20
}

for how in zlib zlib-gnu zstd; do
    objcopy --only-keep-debug --compress-debug-sections=$how "$TMP/whole" "$place" 2>/dev/null || continue
    record_both has_chain -- chroot "$root" /bin/inlines 300
    echo "$how"
done
rm "$place"

record -- chroot "$root" /bin/inlines 300
expect_no_stack '.*;main;.*'
nm "$TMP/whole" --defined-only --format=posix | awk '$2 == "T" || $2 == "t" { print $1 }' >"$TMP/functions"
objcopy -S --keep-symbols="$TMP/functions" "$TMP/whole" "$TMP/mini"
xz -k "$TMP/mini"
objcopy --add-section .gnu_debugdata="$TMP/mini.xz" "$root/bin/inlines"
has_main() {
    expect_stack '.*;main;.*' "$profile" 20
}
record_both has_main -- chroot "$root" /bin/inlines 300
