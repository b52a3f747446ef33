# Functions that never come back, and what only looks like them.
    .intel_syntax noprefix
    .text
    .include "macros.s"

FN helping
    ret

FN serving # for ever
    push rbx
1:  call helping
AT serving_body
    jmp 1b

FN quitting # what it ends with does not come back, and what is behind that is somebody else's
    sub rsp, 24
    call helping
AT quitting_body
    call serving
AT quitting_after
    test eax, eax
    jns 1f
1:  ret

FN leaving # the same, with a callee that has rows
    sub rsp, 24
    call 1f
AT leaving_after
    test eax, eax
    jns 2f
2:  ret
    .p2align 4
    .cfi_startproc
1:  nop
    jmp 1b
    .cfi_endproc

FN doubting # nobody knows that its callee comes back
    push rbx
    call 2f
AT doubting_body
1:  jmp 1b
    .p2align 4
2:  push rax
    jmp [rax]

    .p2align 4
stub: # passes on to whatever its slot holds
AT stub_body
    jmp [rip + slot]
FN calling_stub
    push rbx
1:  call stub
AT calling_stub_body
    jmp 1b

FN jumped_to # may be no function at all
AT jumped_to_body
    jmp [rbx]

FN jumping_on # nor what something leads to that counts, but does not call it
    test eax, eax
    jz 1f
    ret
1:  jmp jumped_on
FN jumped_on
    nop
AT jumped_on_body
    jmp [rbx]

    .p2align 4
    .type jumped_to.cold, @function
jumped_to.cold: # nobody calls a part of a function
    nop
AT cold_body
    ud2

FN calling_next # no way to learn its own address
    push rbx
    call next
next:
    push rbx
AT next_body
    jmp next_body

    .p2align 4
AT listening # only data point here, but it begins like a function
    push rbp
    push rbx
1:  call helping
AT listening_body
    jmp 1b
    .p2align 4
AT label # and this does not
    push rax
1:  call helping
AT label_body
    jmp 1b

FN gossip # what it says is not to be believed
    test eax, eax
    jz 1f
    push rax
1:  test edi, edi
    jz 2f
    call rumour
2:  ret
    .p2align 4
rumour:
    push rax
AT rumour_body
    jmp rumour_body

FN making_thread # as musl's clone does: the thread begins with what it calls, and ends with the system call exit
    and rsi, -16
    sub rsi, 8
    mov [rsi], rcx
    syscall
    test eax, eax
    jnz 1f
    pop rdi
AT thread_body
    call r9
AT thread_after
    mov edi, eax
    xor eax, eax
    mov al, 60
    syscall
AT thread_exit
    hlt
1:  ret

FN making_another # the same with another system call is nobody's end
    test eax, eax
    jnz 1f
    pop rdi
AT another_body
    call r9
    mov eax, 39
    syscall
    hlt
1:  ret

FN giving_up # it was called, and its caller is there: no end
    sub rsp, 24
    test eax, eax
    jnz 1f
AT giving_up_body
    mov eax, 231
    syscall
    add rsp, 8 # somebody else's
1:  add rsp, 24
    ret

    .data
slot:
    .quad 0
    .quad listening, label
    .section .note.GNU-stack, "", @progbits
