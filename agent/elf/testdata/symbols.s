# Names, aliases and sizes.
    .text
    .macro FN name, bytes=16
    .globl \name
    .type \name, @function
\name:
    .skip \bytes, 0x90
    .size \name, \bytes
    .endm

    .type a_local, @function # one place, four names: the shortest global function without underscores
a_local:
    .globl __aliased
    .type __aliased, @function
__aliased:
    .weak aliased
    .type aliased, @function
aliased:
    .globl aliased_longer
    .type aliased_longer, @function
aliased_longer:
    .skip 16, 0x90
    .size a_local, 16
    .size __aliased, 16
    .size aliased, 16
    .size aliased_longer, 16

    .globl outer
    .type outer, @function
outer:
    .skip 16, 0x90
    .type inner, @function
inner:
    .skip 16, 0x90
    .size inner, 16
    .skip 16, 0x90
    .size outer, 48

label: # hand-written: no type, no size
    .skip 32, 0x90
FN _ZN2ns1fIiEEvPKc
FN _ZN4core3fmt5Write9write_fmt17h0123456789abcdefE
FN _RNvCs15kBYyAo9fc_7mycrate7example
FN versioned_impl
    .symver versioned_impl, versioned@@V1

    .globl uncovered # the hole behind it has neither symbol nor FDE
    .type uncovered, @function
uncovered:
    .skip 16, 0x90
    .size uncovered, 16
    .skip 32, 0x90
    .cfi_startproc # an FDE without a symbol
    .skip 32, 0x90
    .cfi_endproc
    .globl end_of_text
    .type end_of_text, @object
end_of_text:
    nop
    .section .note.GNU-stack, "", @progbits
