#!/bin/bash
# The ways to lay out an executable: each one's chain of functions is whole and has its names.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

need clang

variant() { # NAME FLAG...
    local name=$1
    shift
    OUT=$name build_target layout "$@"
    variants+=("$name")
}
variants=()
variant pie -pie -fPIE
variant no-pie -no-pie -fno-pie
variant static -static
variant static-pie -static-pie -fPIE
variant one-segment -no-pie -fno-pie -Wl,-z,noseparate-code
variant moved -no-pie -fno-pie -Wl,-Ttext-segment=0x7f000000 # p_vaddr is far from p_offset
variant far -DFAR -no-pie -fno-pie -Wl,--section-start=.far_text=0x20000000
variant frame-ptr -fno-omit-frame-pointer
variant compressed -g -gz
CC=clang variant clang
[ "$(readelf -lW "$TMP/far" | grep -c 'LOAD.* R E ')" = 2 ] || fail "far has not two executable segments"

# Without section headers, as some packers leave it: only the program headers tell where things are.
OUT=headless build_target layout
zero() { # FILE OFFSET BYTES
    dd if=/dev/zero of="$1" bs=1 seek="$2" count="$3" conv=notrunc status=none
}
zero "$TMP/headless" 40 8 # e_shoff
zero "$TMP/headless" 58 6 # e_shentsize, e_shnum, e_shstrndx
cp "$TMP/pie" "$TMP/stripped"
strip "$TMP/stripped"

{
    for name in "${variants[@]}" headless stripped; do
        echo "$TMP/$name 60"
    done
} >"$TMP/all.sh"
record -- sh "$TMP/all.sh"
expect_complete 98
for name in "${variants[@]}"; do
    expect_stack "$name;(.*;)?main;outer;middle;inner;burn" "$profile" 30
    expect_share 98 "$name;([^;]*;){0,3}main;outer;middle;inner;burn" "$name;.*;burn"
done
for name in headless stripped; do
    expect_stack "${name};(_start|\[${name}[^;]*);(.*;)?(\[$name\+0x[0-9a-f]+\];){4,}\[$name\+0x[0-9a-f]+\]" "$profile" 30
done

# musl's own functions have no unwind information: stacks end there, and say so, but main's frames are all there.
need musl-gcc
CC=musl-gcc OUT=musl build_target layout
CC=musl-gcc OUT=musl-static build_target layout -static
record -- sh -c "$TMP/musl 100; $TMP/musl-static 100"
expect_share 98 'musl;(\[cut: (no-rule|unproven)\];)?([^;]*;){0,4}main;outer;middle;inner;burn' 'musl;.*;burn'
expect_share 98 'musl-static;(\[cut: (no-rule|unproven)\];)?([^;]*;){0,4}main;outer;middle;inner;burn' 'musl-static;.*;burn'
expect '.cut | keys - ["no-rule", "unproven", "table-pending", "no-image", "no-memory-map"] | length' == 0
