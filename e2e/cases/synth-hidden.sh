#!/bin/bash
# Rows that were read off the instructions are right: real files that have CFI are read as if they had none, and each
# instruction's CFA, rbp and rbx are compared with what the CFI says.
# beside others
set -euo pipefail
. e2e/lib.sh
need gcc make

build=$(dirname "$XPROF")
objects=()
for source in agent/base/*.c agent/elf/*.c agent/cfi/*.c agent/dwarf/*.c agent/synth/*.c; do
    [[ $source == *_test.c || $source == *_fuzz.c || $source == *_main.c ]] || objects+=("$build/${source%.c}.o")
done
make -s B="$build" "${objects[@]}" >/dev/null
gcc -std=gnu11 -D_GNU_SOURCE -O2 -Iagent -I. -o "$TMP/hidden" e2e/synth/hidden.c \
    "${objects[@]}" -lelf -ldw -lz -ldeflate -lzstd -llzma -liberty -ljansson -lm

lib=/usr/lib/x86_64-linux-gnu
files=()
for file in "$lib/libsqlite3.so.0" /usr/bin/git "$lib/libvpx.so.7" "$lib/libm.so.6" "$lib/libc.so.6" "$lib/libstdc++.so.6" \
    /usr/bin/bash /usr/bin/perl "$lib/libcurl.so.4" "$lib/libcrypto.so.3" "$lib/libglib-2.0.so.0" "$lib/libz.so.1" \
    "$lib/libgnutls.so.30" "$lib/libcurl-gnutls.so.4" "$lib/libpcre2-8.so.0" "$lib/libbpf.so.1" "$lib/libdw.so.1"; do
    [ ! -e "$file" ] || [ ${#files[@]} = 10 ] || files+=("$file")
done
[ ${#files[@]} = 10 ] || skip "only ${#files[@]} of the files are there"

"$TMP/hidden" "${files[@]}" >"$TMP/result" 2>"$errors" || fail "$(cat "$TMP/result")"
cat "$TMP/result"

# FILE FDE-BYTES CLAIMED-% CFA-RIGHT WRONG INCOMPARABLE RIGHT-% RBP-RIGHT WRONG LOST RBX-RIGHT WRONG LOST ODD
awk 'NR > 1 {
    n++
    clean += !$5
    if ($3 < 78) bad = bad $1 ": only " $3 " % are claimed\n"
    if ($7 < 99.6) bad = bad $1 ": only " $7 " % of the CFAs are right\n"
    if ($6 > $4 / 50) bad = bad $1 ": " $6 " CFAs could not be compared\n"
    if ($9 > $8 / 100 || $12 > $11 / 100) bad = bad $1 ": rbp or rbx is wrong in more than 1 %\n"
    if ($14) bad = bad $1 ": " $14 " rows say what the analysis did not\n"
}
END {
    if (n != 10) bad = bad n " files, not 10\n"
    if (clean < 4) bad = bad "only " clean " files without a wrong CFA\n"
    printf "%d files, %d without a wrong CFA\n", n, clean
    printf "%s", bad > "/dev/stderr"
    exit bad != ""
}' "$TMP/result" || fail "rows are wrong, or too few"
