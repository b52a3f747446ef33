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

has_chain() {
    expect_stack "$chain" "$profile" 20
}

named() { # OPTION...
    record_both has_chain "$@" -- chroot "$root" /bin/inlines 300
}

not_named() { # OPTION...
    record "$@" -- chroot "$root" /bin/inlines 300
    if grep -q 'between;innermost' "$profile"; then fail "named without a debug file of its own"; fi
}

not_named
cp "$TMP/whole.debug" "$place"
named
expect .debug_files '>=' 1
rm "$place"

OUT=other build_target inlines -g -O1 -static -Wl,--build-id=sha1
objcopy --only-keep-debug "$TMP/other" "$place" # another build's
not_named
rm "$place"

# A link that leads out of the root does not.
mkdir -p "$TMP/outside"
cp "$TMP/whole.debug" "$TMP/outside/x.debug"
ln -s "$TMP/outside/x.debug" "$place"
not_named
rm "$place"
mkfifo "$place" # and a pipe hangs nobody
not_named
rm "$place"

# The user's directories: as an option, and from the environment.
mkdir -p "$TMP/dir/${by_id%/*}"
cp "$TMP/whole.debug" "$TMP/dir/$by_id"
named --debug-dir "$TMP/empty,$TMP/dir"
XPROF_DEBUG_DIR=$TMP/dir named
objcopy --only-keep-debug "$TMP/other" "$TMP/dir/$by_id"
not_named --debug-dir "$TMP/dir"

# The host's own debug directory, for a program that it has a file of the same build for.
host=/usr/lib/debug/${by_id%/*}
at_exit "rm -f /usr/lib/debug/$by_id; rmdir --ignore-fail-on-non-empty $host"
mkdir -p "$host"
cp "$TMP/other" "/usr/lib/debug/$by_id"
not_named
cp "$TMP/whole.debug" "/usr/lib/debug/$by_id"
named
objcopy --only-keep-debug "$TMP/other" "$place" # the container's own, another build's, is passed over
named
