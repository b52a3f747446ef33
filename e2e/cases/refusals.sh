#!/bin/bash
# What cannot work is said at once, in one line that names what is missing.
set -euo pipefail
. e2e/lib.sh
need_root

need setpriv unshare
quickly() { # STATUS LINE COMMAND...
    local start=$SECONDS
    expect_exit "$@"
    [ $((SECONDS - start)) -le 3 ] || fail "it took $((SECONDS - start)) s to say so"
}

# Not root: a copy, because the way to the binary may be closed to others.
open=$(mktemp -d)
at_exit "rm -rf '$open'"
chmod 777 "$open"
cp "$XPROF" "$open/xprof"
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$open")
quickly 1 '(root|CAP_[A-Z]+)' "${nobody[@]}" "$open/xprof" record -a -d 60s -o "$open/x.collapsed"
quickly 1 '(root|CAP_[A-Z]+)' "${nobody[@]}" "$open/xprof" record -o "$open/x.collapsed" -- sleep 60
[ ! -e "$open/x.collapsed" ] || fail "a profile of nothing was written"
rc=0
"${nobody[@]}" "$open/xprof" check >"$TMP/out" || rc=$?
[ $rc = 1 ] || fail "xprof check: exit $rc"
for line in 'other processes' 'any file' 'mapped files' 'kernel symbols' 'eBPF programs'; do
    grep -q "^NO   $line" "$TMP/out" || fail "xprof check has nothing against: $line"
done

# Outputs that cannot be written are found before, not after the recording.
mkdir "$TMP/folder.svg"
quickly 1 'folder.svg: cannot be written: Is a directory' "$XPROF" record -a -d 60s -o "$TMP/folder.svg"
quickly 1 '/nowhere/x.svg: cannot be written: No such file' "$XPROF" record -a -d 60s -o /nowhere/x.svg
quickly 1 '/nowhere/x.svg: cannot be written' "$XPROF" record -a -d 60s -o "$TMP/x.collapsed" -o /nowhere/x.svg
[ ! -e "$TMP/x.collapsed" ] || fail "an output was written before the other one was looked at"
quickly 1 'summary.* cannot be written' "$XPROF" record -a -d 60s --summary /nowhere/s.json -o "$TMP/x.collapsed"
# shellcheck disable=SC2016
quickly 1 'x.svg: cannot be written: Read-only file system' unshare -m --propagation private sh -c \
    'mount -t tmpfs -o ro none "$1" && "$0" record -a -d 60s -o "$1/x.svg"' "$XPROF" "$TMP/folder.svg"
