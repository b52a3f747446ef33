# A 32-bit program without libc: counts for a while, then exits.
.globl _start
_start:
    mov $1000000000, %ecx
1:  dec %ecx
    jnz 1b
    mov $1, %eax # exit
    xor %ebx, %ebx
    int $0x80
