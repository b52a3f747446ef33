# Functions with names of allocators; with WRAPS, malloc is another file's.
        .macro function name, binding
        .\binding \name
        .type \name, @function
\name:  ret
        .size \name, .-\name
        .endm
        .text
        function free, local
        function je_malloc, local
        function _Znwm, weak
        function _ZdlPv, weak
        function own, globl
# What the kernel would step over; the push behind it is emulated.
        .globl pvalloc
        .type pvalloc, @function
pvalloc:
        endbr64
        test %rdi, %rdi
        mov %rdi, %rbx
        push %rbp
        ret
        .size pvalloc, .-pvalloc
# The stack pointer moves: no later place sees the same.
        .globl valloc
        .type valloc, @function
valloc:
        sub $8, %rsp
        push %rbp
        mov %rdi, %rsi
        push %rbp
        .size valloc, .-valloc
        .ifndef WRAPS
        .globl tc_calloc
        .type tc_calloc, @function
tc_calloc:
        function calloc, globl
own_malloc:
        function malloc, globl
# These only call it, one of them through the other.
        .globl _Znam
        .type _Znam, @function
_Znam:  call own_malloc
own_new:
        ret
        .size _Znam, .-_Znam
        .globl _ZnamRKSt9nothrow_t
        .type _ZnamRKSt9nothrow_t, @function
_ZnamRKSt9nothrow_t:
        push %rbx
        call own_new - 5
        ret
        .size _ZnamRKSt9nothrow_t, .-_ZnamRKSt9nothrow_t
        .else
        call malloc@PLT
        .endif
        .data
        .globl realloc
        .type realloc, @object
realloc:
        .quad 0
        .size realloc, 8
