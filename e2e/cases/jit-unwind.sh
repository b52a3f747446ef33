#!/bin/bash
# Code that a JIT compiler made is unwound by the unwind information that it registers, and named by the objects that
# it shows to debuggers; launched and attached. Nothing of it keeps frame pointers.
set -euo pipefail
. e2e/lib.sh
need_root
need clang lli

chain='main;outer;outer;outer;outer;outer;outer;middle;leaf'
clang -O1 -fomit-frame-pointer -emit-llvm -c e2e/jit/deep.c -o "$TMP/deep.bc"

# LLVM, which registers both.
named() {
    expect_samples 500
    expect_complete 97
    expect_share 97 "_start;(.*;)?main;(.*;)?$chain" 'leaf'
}
HZ=499
for kind in mcjit orc; do
    record_both named -- lli --jit-kind=$kind "$TMP/deep.bc"
done

# __register_frame alone; and other code at the same place, second after second.
gcc -O2 -fomit-frame-pointer e2e/jit/register.c -o "$TMP/register"
unnamed() {
    expect_samples 500
    expect_complete "$1"
    expect_share "$1" '_start;(.*;)?main;run;\[anonymous\];\[anonymous\];\[anonymous\]' '.*;\[anonymous\]'
}
record -- "$TMP/register" 1 3
unnamed 95
record -- "$TMP/register" 4
unnamed 80
