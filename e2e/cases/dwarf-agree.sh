#!/bin/bash
# Functions, inlined callers, files and lines are those that llvm-symbolizer and eu-addr2line give, at >= 99.9 % of random
# addresses of programs with debug information; agree.py prints each figure and the classes of difference.
# beside others
set -euo pipefail
. e2e/lib.sh
need llvm-symbolizer eu-addr2line python3 readelf objcopy make g++ clang

build=$(dirname "$XPROF")
tool=$build/bench/dwarf
make -s B="$build" "$tool" >/dev/null

agree() { # FILE COUNT TOOL
    python3 e2e/dwarf/agree.py "$tool" "$@" >"$TMP/agreement" || fail "$(cut -c1-2000 "$TMP/agreement")"
    head -n 1 "$TMP/agreement"
}

OUT=gcc-5 build_target inlines -g
OUT=gcc-4 build_target inlines -gdwarf-4 -O3
OUT=gcc-3 build_target inlines -gdwarf-3
OUT=gcc-g1 build_target inlines -g1
OUT=gcc-64 build_target inlines -gdwarf-5 -gdwarf64 -fno-pie -no-pie
OUT=gcc-lto build_target inlines -g -flto
objcopy --compress-debug-sections=zlib "$TMP/gcc-5" "$TMP/gcc-zlib"
OUT=gcc-sections build_target inlines -g -ffunction-sections -Wl,--gc-sections
CC=clang++ OUT=clang-5 build_target inlines -std=c++17 -gdwarf-5
CC=clang++ OUT=clang-4 build_target inlines -std=c++17 -gdwarf-4 -fno-pie -no-pie
for f in gcc-5 gcc-4 gcc-3 gcc-g1 gcc-64 gcc-lto gcc-zlib gcc-sections clang-5 clang-4; do
    agree "$TMP/$f" 8000 llvm
done
if command -v rustc >/dev/null; then
    rustc --edition 2021 -O -g -o "$TMP/rust" e2e/targets/inlines-rust.rs
    agree "$TMP/rust" 8000 llvm
fi
if command -v dwz >/dev/null; then
    cp "$TMP/gcc-5" "$TMP/dwz"
    dwz "$TMP/dwz" && agree "$TMP/dwz" 8000 llvm
fi
agree "$XPROF" 8000 llvm
agree "$XPROF" 2000 eu # of C++ it shows names without scopes, and leaves out inlined calls that share their ranges
