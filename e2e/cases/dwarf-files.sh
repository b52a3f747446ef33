#!/bin/bash
# A stripped program whose debug file lies in its own root, by build ID or beside it: inlined callers and lines are named.
# A debug file of another build is never used, nor is the host's for a program of another root.
set -euo pipefail
. e2e/lib.sh
need_root
need objcopy strip chroot

root=$TMP/root
chain='.*;main;around.*;between;innermost'
OUT=whole build_target inlines -g -static -Wl,--build-id=sha1
id=$(readelf -n "$TMP/whole" | sed -n 's/.*Build ID: //p')
mkdir -p "$root/bin" "$root/usr/lib/debug/.build-id/${id:0:2}"
strip -o "$root/bin/inlines" "$TMP/whole"
objcopy --only-keep-debug "$TMP/whole" "$TMP/whole.debug"
place=$root/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug

named() { # how often the chain has to be there: at least $1; 0: not once
    record -- chroot "$root" /bin/inlines 300
    if [ "$1" = 0 ]; then
        if grep -q 'between;innermost' "$profile"; then fail "named without a debug file of its own"; fi
    else
        expect_stack "$chain" "$profile" "$1"
    fi
}

named 0
cp "$TMP/whole.debug" "$place"
named 20
rm "$place"

OUT=other build_target inlines -g -O1 -static -Wl,--build-id=sha1
objcopy --only-keep-debug "$TMP/other" "$place" # another build's
named 0
rm "$place"

# A link that leads out of the root does not.
mkdir -p "$TMP/outside"
cp "$TMP/whole.debug" "$TMP/outside/x.debug"
ln -s "$TMP/outside/x.debug" "$place"
named 0
rm "$place"
mkfifo "$place" # and a pipe hangs nobody
named 0
rm "$place"

# The host's own debug directory is the host's.
host=/usr/lib/debug/.build-id/${id:0:2}
at_exit "rm -f $host/${id:2}.debug; rmdir --ignore-fail-on-non-empty $host"
mkdir -p "$host"
cp "$TMP/whole.debug" "$host/${id:2}.debug"
named 0
cp "$root/bin/inlines" "$TMP/inlines"
record -- "$TMP/inlines" 300
expect_stack "$chain" "$profile" 20
