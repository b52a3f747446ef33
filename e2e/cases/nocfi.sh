#!/bin/bash
# Code without unwind information: with .debug_frame alone it is whole; with nothing at all rows are synthesised, and
# without those the cut has a name.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

OUT=debug-frame build_target layout -fno-asynchronous-unwind-tables -fomit-frame-pointer -g1 -gz
readelf -SW "$TMP/debug-frame" | grep -q '\.debug_frame.* C ' || fail "there is no compressed .debug_frame"
record -- "$TMP/debug-frame" 300
expect_samples 200
expect_complete 98
expect_share 98 'main;outer;middle;inner;burn'

# No frame pointer either, and what is in its place is 0, which does not end the stack.
gcc -nostdlib -static -o "$TMP/zero" -x assembler - <<'ASM'
    .globl _start
    .type _start, @function
    .type outer, @function
    .type middle, @function
    .type inner, @function
_start: xor %ebp, %ebp
    call outer
    hlt
    .skip 128, 0xcc # what start-up code has is known, to this length
outer:  sub $24, %rsp
1:  call middle
    jmp 1b
middle: push %rbx
    call inner
    call inner
    pop %rbx
    ret
inner:  mov $100000, %ecx
1:  dec %ecx
    jnz 1b
    ret
ASM
"$TMP/zero" &
at_exit "kill -KILL $!"
record -p $! -d 1s
expect '.complete / .user_samples' '>' 0.6
expect_stack '_start;outer;middle;inner' "$profile" 300
record --synth=off -p $! -d 500ms
expect_share 95 'zero;\[cut: frame-pointer\];inner'
kill -KILL $!

OUT=nothing build_target layout -fno-asynchronous-unwind-tables -fomit-frame-pointer
record -- "$TMP/nothing" 600 # the first of them stop, and make it known
expect '.complete / .user_samples' '>' 0.6
expect_stack 'main;outer;middle;inner;burn' "$profile" 300
record --synth=off -- "$TMP/nothing" 300
expect_samples 200
expect '.complete / .user_samples' '<' 0.05
expect '((.cut["no-rule"] // 0) + (.cut["frame-pointer"] // 0) + (.cut["table-pending"] // 0)) / .user_samples' '>=' 0.95
expect_share 95 'nothing;\[cut: (no-rule|frame-pointer|table-pending)\];(.*;)?burn'
grep -qE 'cut: (no-rule|frame-pointer) .*nothing' "$errors" || fail "the text summary does not name the file"
