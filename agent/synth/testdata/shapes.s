# Functions without CFI, one shape each; the tests look rules up at labels. What has no .type @function is no symbol of
# a function: only code and data lead there.
    .intel_syntax noprefix
    .text
    .include "macros.s"

FN pushes
    push rbp
AT pushes_rbp
    push rbx
    sub rsp, 24
AT pushes_body
    xor ebx, ebx
    xor ebp, ebp
AT pushes_clobbered
    add rsp, 24
    pop rbx
    pop rbp
AT pushes_ret
    ret

FN framed # rbp serves while arguments are pushed
    push rbp
    mov rbp, rsp
    push rbx
AT framed_body
    push rax
    push rcx
    add rsp, 16
    pop rbx
    leave
AT framed_ret
    ret

FN aligned # as x86inc does it: the old rsp is in a register, then on the stack
    mov rax, rsp
    sub rsp, 0x80
    and rsp, -32
AT aligned_leaf
    mov [rsp + 0x60], rax
    xor eax, eax
AT aligned_body
    nop
    mov rsp, [rsp + 0x60]
AT aligned_ret
    ret

FN sized # as qhasm does it: the size of the frame is computed, and kept in it
    mov r11, rsp
    and r11, 31
    add r11, 128
    sub rsp, r11
    mov [rsp + 64], r11
AT sized_body
    xor r11, r11
    mov r11, [rsp + 64]
    add rsp, r11
AT sized_ret
    ret

FN nowhere # never seen to return
    push rax
AT nowhere_body
    jmp [rax]

FN uneven # returns at two heights
    test eax, eax
    jz 1f
    push rax
    ret
AT uneven_body
1:  ret

FN tail
    sub rsp, 8
AT tail_body
.Ltail_body:
    add rsp, 8
    jmp pushes

FN tail_nowhere
    sub rsp, 8
AT tail_nowhere_body
.Ltail_nowhere_body:
    add rsp, 8
    jmp nowhere

FN switches
    push rbx
    lea rdx, [rip + cases]
    movsxd rax, dword ptr [rdx + rdi * 4]
    add rax, rdx
    jmp rax
AT case_0
    push rcx
AT case_0_body
    pop rcx
case_1:
    pop rbx
    ret
AT case_2
    pop rbx
    ret

FN late # its index is never below 2, and what is there leads into an instruction
    push rbx
    lea rdx, [rip + late_cases - 8]
    movsxd rax, dword ptr [rdx + rdi * 4]
    add rax, rdx
    jmp rax
AT late_0
    pop rbx
    ret
AT late_1
    nop
AT late_1_body
    pop rbx
    ret

FN losing # a callee that does not keep rbx
    xor ebx, ebx
AT losing_body
    ret

FN inside # jumps into its own instruction
    test eax, eax
    jz 1f + 1
1:  mov eax, 0x90909090
AT inside_body
    ret

FN locked # may jump over a lock prefix
    test eax, eax
    jz 1f + 1
1:  lock inc dword ptr [rdi]
AT locked_body
    ret

FN thunk # call of the next instruction
    call 1f
1:  pop rax
AT thunk_body
    ret

FN deadly # what follows a call that does not return is something else's
    push rax
    call nowhere
    int3
AT deadly_after
    ret

FN given_up # nor does a function of the file with such a name
    test edi, edi
    jnz 1f
    ret
1:  push rax
AT given_up_body
    call abort
AT given_up_after
    ret
    .p2align 4
    .type abort, @function
abort:
    jmp [rax]

FN red # below rsp, where signal handlers do not write
    mov [rsp - 8], rbx
    xor ebx, ebx
AT red_body
    mov rbx, [rsp - 8]
    ret

FN unsafe # too far below rsp
    mov [rsp - 512], rbx
    xor ebx, ebx
AT unsafe_body
    mov rbx, [rsp - 512]
    ret

FN helped # its helper keeps rcx and r8, which is more than the psABI asks for
    mov rcx, rsp
    and rsp, -16
    lea r8, [rip + 1f]
    call helper
AT helped_body
    mov rsp, rcx
    jmp r8
1:  nop
AT helped_case
    ret
FN helper
    xor eax, eax
    ret

FN betrayed # this one does not
    mov rcx, rsp
    and rsp, -16
    call traitor
AT betrayed_body
    mov rsp, rcx
    ret
FN traitor
    xor ecx, ecx
    xor ebx, ebx
    ret

FN passed_on # nor those that end with it
    mov rcx, rsp
    and rsp, -16
    call tail_traitor
AT passed_on_body
    mov rsp, rcx
    ret
FN tail_traitor
    jmp traitor

FN passed_out # code that has CFI keeps what the psABI asks for
    mov rcx, rsp
    and rsp, -16
    call tail_covered
AT passed_out_body
    mov rsp, rcx
    ret
FN tail_covered
    jmp .Lcovered

FN surprised # nor does it keep rbx
    sub rsp, 8
    call traitor
AT surprised_body
    add rsp, 8
    ret

FN first_way # two functions share a body that goes on differently
    lea r8, [rip + one_way]
    jmp both_ways
FN second_way
    lea r8, [rip + other_way]
AT both_ways
    sub rsp, 24
    call tail_helper
AT both_ways_body
    jmp r8
    .p2align 4
AT one_way
    add rsp, 24
    ret
    .p2align 4
AT other_way
    push rcx
AT other_way_body
    add rsp, 32
    ret
FN tail_helper
    xor eax, eax
    jmp helper

FN meeting # two layouts meet: one of the ways there is none, and who knows which
    test eax, eax
    jz 1f
AT meeting_before
    push rcx
1:  nop
AT meeting_body
    jmp [rax]
FN met
    test edx, edx
    jz meeting_before
    ret

    .include "labelled.s"

    .p2align 4
AT orphan # nobody knows of it
    push rbx
AT orphan_body
    xor ebx, ebx
    pop rbx
    ret
    .p2align 4
AT rest # nor of the beginning of this
    add rsp, 24
AT rest_rbx
    pop rbx
AT rest_rbp
    pop rbp
    ret
    .p2align 4
AT overwritten # here rbx is not the caller's
    mov qword ptr [rsp + 8], 0
    add rsp, 8
    pop rbx
    ret
    .p2align 4
AT overwritten_rbp
    mov qword ptr [rsp + 8], 0
    add rsp, 8
    pop rbp
    ret

    .p2align 4
AT dying # what is behind its call is something else's
    mov edi, edi
    call 1f
AT dying_after
    add rsp, 40
    ret
    .p2align 4
1:  mov edi, edi # without a way out, and called from nowhere else
    hlt
    .p2align 4
AT living # this call returns
    mov edi, edi
    call helper
AT living_after
    add rsp, 40
    ret
    .p2align 4
AT joining # what it jumps to is known
    mov edi, edi
    jmp .Ltail_body
    .p2align 4
AT joining_unproven
    mov edi, edi
    jmp .Ltail_nowhere_body
    .p2align 4
AT joining_unsure # the callee was not seen to return
    mov edi, edi
    call nowhere
    jmp .Ltail_body
    .p2align 4
AT jumble # no instruction, so none begins behind it
    .byte 0x06
AT jumble_after
    add rsp, 24
    ret

    .p2align 4
AT called # only covered code leads here
    push rax
AT called_body
    pop rax
    ret
    .p2align 4
AT pointed # only data point here
    push rax
AT pointed_body
    pop rax
    ret
    .p2align 4
AT addressed # its address is taken
    push rax
AT addressed_body
    pop rax
    ret

    .p2align 4
FN covered
.Lcovered:
    .cfi_startproc
    call called
    lea rax, [rip + addressed]
    ret
    .cfi_endproc
AT covered_end

    .section .rodata
    .long 0, 0 # the end of another table
late_cases_base:
    .long pushes_body + 1 - late_cases_base, pushes_body + 1 - late_cases_base
late_cases:
    .long late_0 - late_cases_base, late_1 - late_cases_base
cases:
    .long case_0 - cases, case_1 - cases, case_2 - cases
next:
    .long uneven - next
    .text
FN other_table
    lea rax, [rip + next]
    ret

    .data
    .quad pointed
    .section .note.GNU-stack, "", @progbits
