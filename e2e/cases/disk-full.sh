#!/bin/bash
# A full disk: no half of a file is left, the other outputs are written, and the exit status says so.
set -euo pipefail
. e2e/lib.sh
need_root

need unshare
mkdir "$TMP/small"
cat >"$TMP/inside.sh" <<'SCRIPT'
mount -t tmpfs -o size=16k none "$2/small" || exit 99
echo old >"$2/small/old.html"
"$1" record -d 300ms -a -o "$2/small/old.html" -o "$2/small/new.html" -o "$2/ok.collapsed" 2>"$2/err"
echo $? >"$2/status"
ls -A "$2/small" >"$2/left"
cat "$2/small/old.html" >"$2/old"
SCRIPT
OUT=busy build_target layout
"$TMP/busy" 60000 &
at_exit "kill $!"
unshare -m --propagation private bash "$TMP/inside.sh" "$XPROF" "$TMP" || fail "there is no tmpfs to be had"
[ "$(cat "$TMP/status")" = 1 ] || fail "exit $(cat "$TMP/status"), not 1"
grep -q 'new.html was not written: No space left' "$TMP/err" || fail "it does not say which file is missing, and why"
[ "$(cat "$TMP/left")" = old.html ] || fail "there is something left: $(cat "$TMP/left")"
[ "$(cat "$TMP/old")" = old ] || fail "the file that stood there before was destroyed"
HZ=99 expect_stack 'busy;(.*;)?main;outer;middle;inner;burn' "$TMP/ok.collapsed" 5
