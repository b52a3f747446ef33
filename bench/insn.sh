#!/bin/bash
# Decoding x86-64 instructions: ours against Zydis, every instruction of some files with its operands.
set -euo pipefail
cd "$(dirname "$0")/.."
B=${B:-build}
CC=${CC:-gcc}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

echo '#include <Zydis/Zydis.h>' | "$CC" -E -o /dev/null - 2>/dev/null || { echo "insn, skip: there is no Zydis/Zydis.h"; exit 0; }
objects=()
for source in agent/synth/insn*.c; do
    [[ $source == *_test.c || $source == *_fuzz.c ]] || objects+=("$B/${source%.c}.o")
done
make -s B="$B" "${objects[@]}" >&2
"$CC" -std=gnu11 -D_GNU_SOURCE -O2 -Iagent -I. -o "$tmp/zydis" bench/ref/zydis.c "${objects[@]}" -lZydis

libraries=$(dirname "$(ldconfig -p | awk '$1 == "libc.so.6" && /x86-64/ { print $NF; exit }')")
for file in "$libraries/libc.so.6" "$libraries"/libx26[45].so.[0-9]* "$libraries"/libavcodec.so.[0-9][0-9]; do
    [ -e "$file" ] || continue
    "$tmp/zydis" "$file" | paste -sd' ' | awk -v name="$(basename "$file")" '{
        printf "insn %s, %.0f MB/s %.1f M/s, Zydis %.0f MB/s %.1f M/s, %.1fx, >= 3x, %s\n", name, $1, $2, $3, $4, $2 / $4,
            ($2 >= 3 * $4 ? "pass" : "fail")
    }'
done
