# A function that ends in a jump to another, into the middle of which a third one jumps from another height. In this order:
# they are read from the last to the first.
    .text
    .type third, @function
third:
    sub $24, %rsp
    jmp target_middle
    .p2align 4, 0xcc
    .type jumping, @function
jumping:
    nop
    jmp target
    .p2align 4, 0xcc
    .type target, @function
target:
    xor %eax, %eax
target_middle:
    add $1, %eax
    ret
    .section .note.GNU-stack, "", @progbits
