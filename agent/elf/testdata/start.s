# An entry point without CFI, 64 bytes or less behind a function: outermost, not padding.
    .text
    .globl before
    .type before, @function
before:
    .cfi_startproc
    ret
    .cfi_endproc
    .size before, . - before
    .p2align 4
    .globl _start
    .type _start, @function
_start:
    xor %ebp, %ebp
    call after
    hlt
    .size _start, . - _start
    .p2align 4
    .globl after
    .type after, @function
after:
    .cfi_startproc
    ret
    .cfi_endproc
    .size after, . - after
    .section .note.GNU-stack, "", @progbits
