#!/bin/bash
# File and process names that would break a format: one line a stack, whatever they hold.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

OUT=plain build_target layout
strip "$TMP/plain"
odd=$'we;ird\n<b>"na\\me 5'
cp "$TMP/plain" "$TMP/$odd"
record -o "$TMP/x.html" -o "$TMP/x.speedscope.json" -- "$TMP/$odd" 200
expect_complete 99
if grep -vqE '^[^;]+(;[^;]+)* [0-9]+$' "$profile"; then fail "a line that is no stack"; fi
total=$(samples_of '.*')
[ "$total" = "$(value .samples)" ] || fail "$total samples in the lines, $(value .samples) were taken"
expect_stack 'we.ird.*;(.*;)?__libc_start_main;.*' "$profile" 100
jq . "$TMP/x.speedscope.json" >/dev/null || fail "no JSON"
if grep -q '<b>"na' "$TMP/x.html"; then fail "a name became part of the page"; fi

# A program that is in no file system at all.
cat >"$TMP/hidden.py" <<'PYTHON'
import os, sys
fd = os.memfd_create("hidden")
os.write(fd, open(sys.argv[1], "rb").read())
os.execv("/proc/self/fd/%d" % fd, ["hidden", "200"])
PYTHON
has_chain() {
    expect_stack '_start;(.*;)?main;outer;middle;inner;burn' "$profile" 100
}
command -v /usr/bin/python3 >/dev/null || exit 0
OUT=plain build_target layout
record_both has_chain -- /usr/bin/python3 "$TMP/hidden.py" "$TMP/plain"
