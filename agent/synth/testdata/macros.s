# A function, and a place that the tests look a rule up at.
    .macro FN name
    .p2align 4
    .globl \name
    .type \name, @function
\name:
    .endm
    .macro AT name # a place
    .globl \name
    .type \name, @object
\name:
    .endm
