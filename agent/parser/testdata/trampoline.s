# Code without CFI around what signal handlers return to, as in musl.
    .text
    .macro FN name
    .p2align 4
    .globl \name
    .type \name, @function
\name:
    .endm

FN covered
    .cfi_startproc
    call before
    ret
    .cfi_endproc
    .size covered, . - covered

FN before
    push %rbx
    call after
    pop %rbx
    ret
    .size before, . - before

    nop
    .globl trampoline
    .type trampoline, @function
trampoline:
    mov $15, %rax
    syscall
    .size trampoline, . - trampoline

FN after
    push %rbp
    pop %rbp
    ret
    .size after, . - after

FN short
    ret
    .globl short_trampoline
    .type short_trampoline, @function
short_trampoline:
    mov $15, %eax
    syscall
    .size short_trampoline, . - short_trampoline
FN last
    sub $24, %rsp
    add $24, %rsp
    ret
    .size last, . - last

    .section .note.GNU-stack, "", @progbits
