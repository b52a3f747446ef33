#include "elf/cheap_place.h"
#include <string.h>

#define SKIPPED 4 /* instructions at most */

/* Whether the kernel emulates an instruction instead of stepping over it, which takes ten times as long: nop, push,
 * calls and jumps (arch/x86/kernel/uprobes.c: branch_setup_xol_ops, push_setup_xol_ops). */
static bool is_emulated(const u8 *p, size_t left)
{
    if (left < 6)
        return false;
    bool push = (p[0] & 0xf8) == 0x50 || (p[0] == 0x41 && (p[1] & 0xf8) == 0x50);
    bool jump = (p[0] & 0xf0) == 0x70 || p[0] == 0xeb || p[0] == 0xe9 || (p[0] == 0x0f && (p[1] & 0xf0) == 0x80);
    return push || jump || p[0] == 0xe8 || p[0] == 0x90;
}

/* The length of an instruction after which arguments and return address are where they were; 0: it is not known to be
 * one. endbr64; test of two registers; copy of one to rax, rbx, or r8 to r15; xor %eax,%eax. */
static size_t harmless(const u8 *p, size_t left)
{
    if (left < 6)
        return 0;
    if (!memcmp(p, "\xf3\x0f\x1e\xfa", 4))
        return 4;
    if ((p[0] & 0xf0) == 0x40 && p[1] == 0x85 && p[2] >= 0xc0)
        return 3;
    if ((p[0] & 0xf8) == 0x48 && p[1] == 0x89 && p[2] >= 0xc0 && (p[0] & 1 || (p[2] & 7) == 0 || (p[2] & 7) == 3))
        return 3;
    if ((p[0] == 0x85 && p[1] >= 0xc0) || (p[0] == 0x31 && p[1] == 0xc0))
        return 2;
    return 0;
}

bool elf_is_cheap(const struct elf_file *e, u64 vaddr)
{
    size_t left = 0;
    const u8 *code = elf_at(e, vaddr, &left);
    return code && is_emulated(code, left);
}

u64 elf_cheap_place(const struct elf_file *e, u64 vaddr)
{
    size_t left = 0, at = 0;
    const u8 *code = elf_at(e, vaddr, &left);
    for (unsigned i = 0; code && i <= SKIPPED; i++) {
        if (is_emulated(code + at, left - at))
            return at;
        size_t n = harmless(code + at, left - at);
        if (!n)
            break;
        at += n;
    }
    return 0;
}
