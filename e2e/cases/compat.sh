#!/bin/bash
# A 32-bit process: its stacks are cut, and say why.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

need as ld
as --32 e2e/targets/compat.s -o "$TMP/compat.o"
ld -m elf_i386 "$TMP/compat.o" -o "$TMP/compat"
"$TMP/compat" || skip "this kernel runs no 32-bit programs"
record -- "$TMP/compat"
expect_samples 50
expect '.cut["32-bit"]' '>=' "0.95 * $(value .samples)"
expect_share 95 'compat;\[cut: 32-bit\]'
