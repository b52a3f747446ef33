#!/bin/bash
# The decoder of x86-64 instructions says what Zydis says: over the machine's programs and libraries, and random bytes.
# beside others
#   e2e/cases/insn.sh all     every byte of their code, not a share of each file
set -euo pipefail
. e2e/lib.sh
need gcc make find
echo '#include <Zydis/Zydis.h>' | gcc -E -o /dev/null - 2>/dev/null || skip "there is no Zydis/Zydis.h (libzydis-dev)"

build=$(dirname "$XPROF")
objects=()
for source in agent/synth/insn*.c; do
    [[ $source == *_test.c || $source == *_fuzz.c ]] || objects+=("$build/${source%.c}.o")
done
make -s B="$build" "${objects[@]}" >/dev/null
gcc -std=gnu11 -D_GNU_SOURCE -O2 -Iagent -I. -o "$TMP/compare" e2e/insn/*.c "${objects[@]}" -lZydis

limit=(-b 250000000)
[ "${1:-}" != all ] || limit=()
find /usr -xdev -type f -size +4k \( -perm /111 -o -name '*.so*' -o -name '*.o' \) -print0 >"$TMP/files"
xargs -0 -a "$TMP/files" -s 2000000 -x "$TMP/compare" "${limit[@]}" -r 2000000 >"$TMP/differences" ||
    fail "$(grep -A 3 '^DIFF' "$TMP/differences" | head -n 40)
$(tail -n 1 "$TMP/differences")"
tail -n 1 "$TMP/differences"
instructions=$(tail -n 1 "$TMP/differences" | cut -d' ' -f1)
[ "$instructions" -gt 3000000 ] || fail "only $instructions instructions were compared"
