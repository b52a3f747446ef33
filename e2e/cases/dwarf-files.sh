#!/bin/bash
# A stripped program whose debug file lies in its own root, by build ID: inlined callers and lines are named. Then the
# host's, by build ID only, and the user's directories. A debug file of another build is never used.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need objcopy strip chroot

root=$TMP/root
chain='.*;main;around.*;between;innermost'
OUT=whole build_target inlines -g -static -Wl,--build-id=sha1
id=$(readelf -n "$TMP/whole" | sed -n 's/.*Build ID: //p')
by_id=.build-id/${id:0:2}/${id:2}.debug
place=$root/usr/lib/debug/$by_id
mkdir -p "$root/bin" "${place%/*}"
strip -o "$root/bin/inlines" "$TMP/whole"
objcopy --only-keep-debug "$TMP/whole" "$TMP/whole.debug"

named() { # how often the chain has to be there: at least $1; 0: not once
    record "${@:2}" -- chroot "$root" /bin/inlines 300
    if [ "$1" = 0 ]; then
        if grep -q 'between;innermost' "$profile"; then fail "named without a debug file of its own"; fi
    else
        expect_stack "$chain" "$profile" "$1"
    fi
}

named 0
cp "$TMP/whole.debug" "$place"
named 20
expect .debug_files '>=' 1
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

# The user's directories: as an option, and from the environment.
mkdir -p "$TMP/dir/${by_id%/*}"
cp "$TMP/whole.debug" "$TMP/dir/$by_id"
named 20 --debug-dir "$TMP/empty,$TMP/dir"
XPROF_DEBUG_DIR=$TMP/dir named 20
objcopy --only-keep-debug "$TMP/other" "$TMP/dir/$by_id"
named 0 --debug-dir "$TMP/dir"

# The host's own debug directory, for a program that it has a file of the same build for.
host=/usr/lib/debug/${by_id%/*}
at_exit "rm -f /usr/lib/debug/$by_id; rmdir --ignore-fail-on-non-empty $host"
mkdir -p "$host"
cp "$TMP/other" "/usr/lib/debug/$by_id"
named 0
cp "$TMP/whole.debug" "/usr/lib/debug/$by_id"
named 20
objcopy --only-keep-debug "$TMP/other" "$place" # the container's own, another build's, is passed over
named 20
