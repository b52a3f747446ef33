# .debug_frame alone, and a function that both sections describe.
    .cfi_sections .debug_frame
    .text
    .globl debugged
    .type debugged, @function
debugged:
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    .rept 200
    nop
    .cfi_adjust_cfa_offset 8
    .endr
    ret
    .cfi_endproc
    .size debugged, . - debugged
    .section .note.GNU-stack, "", @progbits
