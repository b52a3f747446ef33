# A program for a fixed address: its data have plain addresses.
    .intel_syntax noprefix
    .text
    .globl entry_point
entry_point:
    push rax
    pop rax
    ret
    .p2align 4
    .globl pointed
    .type pointed, @object
pointed:
    push rax
    .globl pointed_body
    .type pointed_body, @object
pointed_body:
    pop rax
    ret
    .include "labelled.s"
    .data
    .quad pointed
    .section .note.GNU-stack, "", @progbits
