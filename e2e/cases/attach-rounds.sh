#!/bin/bash
# Pods come and go that want events which are loaded on demand: nothing stays behind, here or in the kernel. `bench/attach
# 1000` does it a thousand times. A wait that goes on counts for an event that is wanted meanwhile.
set -euo pipefail
. e2e/lib.sh
need_root

rounds=$(dirname "$XPROF")/bench/attach
[ -x "$rounds" ] || fail "$rounds is missing: make $rounds"
"$rounds" 30 | tee "$TMP/rounds"
[ "$(grep -c ', pass$' "$TMP/rounds")" = 5 ] || fail "something stayed behind, or is not counted"
