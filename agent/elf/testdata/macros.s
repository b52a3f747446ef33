# Functions with CFI, and places inside them.
    .macro FN name
    .p2align 4
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    .endm
    .macro END name
    .cfi_endproc
    .size \name, . - \name
    .endm
    .macro AT name # a place inside a function
    .globl \name
    .type \name, @object
\name:
    .endm
