#!/bin/bash
# Debug files by name (.gnu_debuglink) in each of the three places, with their CRC or build ID; the host's files of the
# same names are never used. Parts that dwz moved out of several files are found in the program's root, by name and by
# build ID.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need objcopy strip chroot

root=$TMP/root
chain='.*;main;around.*;between;innermost'
dir=$TMP/there # of the program, in its root and in the host's
mkdir -p "$root$dir"

has_chain() {
    expect_stack "$chain" "$profile" 20
}

named() {
    record_both has_chain -- chroot "$root" "$dir/inlines" 300
}

not_named() {
    record -- chroot "$root" "$dir/inlines" 300
    if grep -q 'between;innermost' "$profile"; then fail "named by a file that is not its own"; fi
}

split() { # the program and its debug file x.debug, with a link from one to the other
    objcopy --only-keep-debug "$TMP/whole" "$TMP/x.debug"
    strip -o "$TMP/stripped" "$TMP/whole"
    (cd "$TMP" && objcopy --add-gnu-debuglink=x.debug stripped "$root$dir/inlines")
}

OUT=whole build_target inlines -g -static -Wl,--build-id=none # only the CRC can tell
split
mkdir -p "$dir/.debug" "/usr/lib/debug$dir"
at_exit "rm -r /usr/lib/debug$dir; rmdir --ignore-fail-on-non-empty -p /usr/lib/debug${dir%/*}"
for place in "$dir" "$dir/.debug" "/usr/lib/debug$dir"; do
    mkdir -p "$root$place"
    cp "$TMP/x.debug" "$place/x.debug" # the host's
    not_named
    cp "$TMP/x.debug" "$root$place/x.debug"
    named
    printf 'X' >>"$root$place/x.debug" # another CRC
    not_named
    rm "$root$place/x.debug" "$place/x.debug"
done

OUT=whole build_target inlines -g -static -Wl,--build-id=sha1
split
cp "$TMP/x.debug" "$root$dir/x.debug"
printf 'X' >>"$root$dir/x.debug" # the same build, though dwz or the like came over it later
named
OUT=whole build_target inlines -g -O1 -static -Wl,--build-id=sha1
objcopy --only-keep-debug "$TMP/whole" "$root$dir/x.debug" # another build
not_named

command -v dwz >/dev/null || exit 0
OUT=whole build_target inlines -g -static -Wl,--build-id=sha1
OUT=second build_target inlines -g -static -O1
cp "$TMP/whole" "$root$dir/inlines"
mkdir -p "$root/common/.dwz"
(cd "$root$dir" && cp "$TMP/second" . && dwz -m "$root/common/.dwz/common" -M ../../common inlines second) 2>/dev/null ||
    skip "dwz finds nothing in common"
shared() { readelf -p .gnu_debugaltlink "$root$dir/inlines" | grep -q "$1"; }
shared ../../common || fail "no link"
up=$(realpath "$root$dir/../..")
mv "$root/common/.dwz/common" "$up/common"
named
id=$(readelf -n "$up/common" | sed -n 's/.*Build ID: //p')
mkdir -p "$root/usr/lib/debug/.build-id/${id:0:2}"
mv "$up/common" "$root/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
named
