# Data have the addresses of labels inside of a function, as if others began there.
    .p2align 4, 0xcc
    .globl labelled
    .type labelled, @function
labelled:
    test edi, edi
    jne 1f
    ret
1:  sub rsp, 104
    test esi, esi
    je labelled_fast
    call labelled_helper
    .globl labelled_back
    .type labelled_back, @object
labelled_back:
    test rax, rax
    jne labelled_slow
    .globl labelled_fast
    .type labelled_fast, @object
labelled_fast:
    add rsp, 104
    ret
    .globl labelled_slow
    .type labelled_slow, @object
labelled_slow:
    nop
    jns labelled_fast
    jmp labelled_far
    .p2align 4, 0xcc
    .globl labelled_far
    .type labelled_far, @object
labelled_far:
    nop
    jmp [rax]
    .p2align 4, 0xcc
labelled_helper:
    mov eax, 1
    ret
    .data
    .p2align 3
    .quad labelled_back, labelled_far
    .text
