# FDEs that are malformed, between two that are not.
    .text
    .include "macros.s"

FN good
    nop
    .cfi_def_cfa_offset 16
AT good_after
    nop
END good

FN malformed # an opcode that nobody has defined; the row before it must go too
    nop
    .cfi_def_cfa_offset 16
AT malformed_before
    nop
    .cfi_escape 0x3f
    nop
END malformed

FN underflow # restore_state without remember_state
    nop
    .cfi_escape 0x0b
    nop
END underflow

FN intact
    nop
    .cfi_def_cfa_offset 16
AT intact_after
    nop
END intact
    .section .note.GNU-stack, "", @progbits
