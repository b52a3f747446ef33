# One function for each kind of rule; the tests look rules up at "name" and at labels inside.
    .text
    .include "macros.s"

FN first # plain: rsp, then rbp
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
AT first_pushed
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
AT first_framed
    push %rbx
    .cfi_offset %rbx, -24
AT first_rbx
    nop
    leave
    .cfi_restore %rbp
    .cfi_restore %rbx
    .cfi_def_cfa %rsp, 8
AT first_left
    ret
END first

FN drap # CFA = *(rbp - 8), RBP at rbp + 0
    nop
    .cfi_def_cfa %r10, 0
AT drap_register
    nop
    .cfi_escape 0x10, 6, 2, 0x76, 0
AT drap_register_rbp
    nop
    .cfi_escape 0x0f, 3, 0x76, 0x78, 6
AT drap_deref
    nop
END drap

FN deref_rsp
    nop
    .cfi_escape 0x0f, 3, 0x77, 0x28, 6
AT deref_bare
    nop
    .cfi_escape 0x0f, 6, 0x77, 0xf8, 0x00, 6, 0x23, 8
AT deref_plus
    nop
END deref_rsp

FN remember # nine deep
    .irp n, 16, 24, 32, 40, 48, 56, 64, 72, 80
    .cfi_remember_state
    nop
    .cfi_def_cfa_offset \n
    .endr
AT remember_deep
    nop
    .rept 9
    .cfi_restore_state
    .endr
AT remember_back
    nop
END remember

FN outermost
    .cfi_undefined %rip
    nop
END outermost

FN sigreturn
    .cfi_signal_frame
    .cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 6
    nop
END sigreturn

FN vforks
    pop %rdi
    .cfi_adjust_cfa_offset -8
    .cfi_register %rip, %rdi
AT vforks_popped
    nop
END vforks

FN rbx_based
    nop
    .cfi_def_cfa %rbx, 32
AT rbx_based_cfa
    nop
END rbx_based

FN losses
    nop
    .cfi_undefined %rbp
AT losses_rbp
    nop
    .cfi_same_value %rbp
    .cfi_offset %rbx, -4096
AT losses_rbx
    nop
    .cfi_same_value %rbx
    .cfi_offset %rbp, -65552
AT losses_far
    nop
    .cfi_same_value %rbp
    .cfi_offset %rip, -16
AT losses_ra
    nop
END losses

FN strange
    nop
    .cfi_escape 0x0f, 8, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 6 # *(rsp + 8 + r9 * 8)
AT strange_indexed
    nop
    .cfi_escape 0x0f, 11, 0x77, 0x88, 0x7f, 0x7d, 0, 0x38, 0x1e, 0x22, 6, 0x23, 40 # *(rsp - 120 + r13 * 8) + 40
AT strange_indexed_plus
    nop
    .cfi_escape 0x0f, 8, 0x77, 8, 0x79, 0, 0x34, 0x1e, 0x22, 6 # *(rsp + 8 + r9 * 4)
AT strange_expression
    nop
    .cfi_def_cfa %rsp, 24
AT strange_back
    nop
END strange

FN spelled # other spellings of expressions
    nop
    .cfi_escape 0x0f, 5, 0x76, 0, 6, 0x40, 0x22 # *(rbp) + 16
AT spelled_literal
    nop
    .cfi_escape 0x0f, 6, 0x77, 8, 0x08, 0x10, 0x22, 6 # *(rsp + 8 + const1u 16)
AT spelled_inside
    nop
    .cfi_escape 0x0f, 5, 0x77, 24, 6, 0x38, 0x1c # *(rsp + 24) - 8
AT spelled_minus
    nop
    .cfi_escape 0x0f, 8, 0x77, 0, 6, 0x77, 0, 0x22, 0x23, 16 # *(rsp) + rsp + 16
AT spelled_own_size
    nop
    .cfi_escape 0x0f, 3, 0x76, 0x90, 0x01 # rbp + 144
AT spelled_register
    nop
    .cfi_escape 0x0f, 9, 0x77, 8, 0x79, 0, 0x33, 0x24, 0x22, 6, 0x96 # *(rsp + 8 + (r9 << 3))
AT spelled_shift
    nop
    .cfi_escape 0x0f, 4, 0x77, 0, 6, 6 # **(rsp)
AT spelled_twice
    nop
    .cfi_escape 0x0f, 2, 0x22, 6 # nothing to add
AT spelled_nothing
    nop
END spelled

FN half # def_cfa_register behind an expression, as in libgcrypt
    nop
    .cfi_def_cfa_offset 56
    .cfi_escape 0x0f, 3, 0x77, 0x28, 6
AT half_expression
    nop
    .cfi_def_cfa_register %rsp
AT half_register
    nop
    .cfi_escape 0x0f, 3, 0x77, 0x28, 6
    .cfi_escape 0x0e, 48 # waits
AT half_offset
    nop
    .cfi_def_cfa_register %rsp
AT half_both
    nop
END half

FN operations # the less common encodings
    nop
    .cfi_escape 0x12, 7, 0x7e # def_cfa_sf rsp, -2 * -8
AT op_def_cfa_sf
    nop
    .cfi_escape 0x13, 0x7d # def_cfa_offset_sf -3 * -8
AT op_offset_sf
    nop
    .cfi_escape 0x05, 6, 2 # offset_extended rbp
AT op_extended
    nop
    .cfi_escape 0x06, 6 # restore_extended rbp
    .cfi_escape 0x11, 6, 3 # offset_extended_sf rbp, 3
AT op_extended_sf
    nop
    .cfi_escape 0x2f, 6, 4 # GNU_negative_offset_extended rbp, 4: CFA + 32
AT op_negative
    nop
    .cfi_escape 0x2e, 0x90, 0x01, 0x2d, 0 # args_size, window_save, nop
    .cfi_escape 0x16, 7, 2, 0x77, 8 # val_expression rsp
    .cfi_escape 0x14, 3, 1 # val_offset rbx
AT op_val
    nop
END operations

FN far # advance_loc2 and advance_loc4
    .skip 300, 0x90
    .cfi_def_cfa_offset 16
AT far_two
    .skip 70000, 0x90
    .cfi_def_cfa_offset 24
AT far_four
    nop
END far

FN intact
    nop
    .cfi_def_cfa_offset 16
AT intact_after
    nop
END intact
    .skip 48, 0xcc # padding: inherits
FN padded
    nop
END padded
AT gap
    .skip 65, 0x90 # code without an FDE
    .p2align 4
FN last
    ret
END last
AT behind
    nop
    .section .note.GNU-stack, "", @progbits
