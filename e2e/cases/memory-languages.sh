#!/bin/bash
# --memory-exact equals the books of programs in C++ and Rust, dynamic and static, and under other allocators, too.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go g++
need_kernel 6.6 "uprobe_multi links"
. e2e/memory/lib.sh

for name in heap-cpp heap-cpp-static; do
    flags=(-O1 -std=c++17 -g -pthread)
    [ $name = heap-cpp ] || flags+=(-static)
    g++ "${flags[@]}" -o "$TMP/$name" e2e/targets/heap-cpp.cc
    exact "$name" "$TMP/$name" 500 fails
done
for library in libjemalloc.so.2 libtcmalloc.so.4 libmimalloc.so.2; do
    path=$(ldconfig -p | awk -v name="$library" '$1 == name && !n++ { print $NF }')
    [ -z "$path" ] || exact "$library" env LD_PRELOAD="$path" "$TMP/heap-cpp" 500
done

if command -v rustc >/dev/null; then
    rustc --edition 2021 -O -g -o "$TMP/heap-rust" e2e/targets/heap-rust.rs
    rustc --edition 2021 -O -g -C target-feature=+crt-static -o "$TMP/heap-rust-static" e2e/targets/heap-rust.rs
    for name in heap-rust heap-rust-static; do exact $name "$TMP/$name" 500; done
else
    echo "there is no rustc: Rust is not tested"
fi
