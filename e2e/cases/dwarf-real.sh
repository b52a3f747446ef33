#!/bin/bash
# The distribution's debug files, as far as some are installed (apt's -dbg packages): functions, inlined callers, files
# and lines are those of llvm-symbolizer, at >= 99.9 % of random addresses.
# beside others
set -euo pipefail
. e2e/lib.sh
need llvm-symbolizer python3 readelf make

build=$(dirname "$XPROF")
tool=$build/bench/dwarf
make -s B="$build" "$tool" >/dev/null
find /usr/lib/debug/.build-id -name '*.debug' -size +300k -size -20M -printf '%s %p\n' 2>/dev/null | sort -rn | head -n 8 |
    cut -d' ' -f2 >"$TMP/real"
[ -s "$TMP/real" ] || skip "no debug files are installed"
while read -r f; do
    python3 e2e/dwarf/agree.py "$tool" "$f" 1000 llvm >"$TMP/agreement" || fail "$(cut -c1-2000 "$TMP/agreement")"
    head -n 1 "$TMP/agreement"
done <"$TMP/real"
