/* The arguments of notes: SIZE@OPERAND, the operand as in assembler (AT&T). A size less than 0 is that of a signed
 * number. */
#include "elf/usdt.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT 64 /* of one that is understood */

/* The names of a register by size, at its place in struct pt_regs (arch/x86/include/asm/ptrace.h). */
static const struct {
    const char *names[4];
    u8 word;
} REGISTERS[] = {
    {{"r15", "r15d", "r15w", "r15b"}, 0}, {{"r14", "r14d", "r14w", "r14b"}, 1}, {{"r13", "r13d", "r13w", "r13b"}, 2},
    {{"r12", "r12d", "r12w", "r12b"}, 3}, {{"rbp", "ebp", "bp", "bpl"}, 4},     {{"rbx", "ebx", "bx", "bl"}, 5},
    {{"r11", "r11d", "r11w", "r11b"}, 6}, {{"r10", "r10d", "r10w", "r10b"}, 7}, {{"r9", "r9d", "r9w", "r9b"}, 8},
    {{"r8", "r8d", "r8w", "r8b"}, 9},     {{"rax", "eax", "ax", "al"}, 10},     {{"rcx", "ecx", "cx", "cl"}, 11},
    {{"rdx", "edx", "dx", "dl"}, 12},     {{"rsi", "esi", "si", "sil"}, 13},    {{"rdi", "edi", "di", "dil"}, 14},
    {{"rsp", "esp", "sp", "spl"}, 19},
};

/* Takes "%NAME" at *at. */
static bool take_register(const char **at, u8 *word)
{
    const char *name = *at + 1;
    size_t n = 0;
    if (**at != '%')
        return false;
    while (isalnum((unsigned char)name[n]))
        n++;
    for (size_t i = 0; i < sizeof(REGISTERS) / sizeof(*REGISTERS); i++)
        for (size_t k = 0; k < 4; k++)
            if (strlen(REGISTERS[i].names[k]) == n && !strncmp(name, REGISTERS[i].names[k], n)) {
                *word = REGISTERS[i].word;
                *at = name + n;
                return true;
            }
    return false;
}

static bool take_number(const char **at, u64 *out)
{
    char *end;
    if (!isdigit((unsigned char)**at) && **at != '-')
        return false;
    *out = **at == '-' ? (u64)strtoll(*at, &end, 0) : strtoull(*at, &end, 0);
    bool some = end != *at;
    *at = end;
    return some;
}

/* Takes ",%INDEX" and ",SCALE" behind it. */
static bool take_index(const char **at, struct xp_usdt_argument *a)
{
    u64 scale = 1;
    if (**at != ',')
        return true;
    ++*at;
    if (!take_register(at, &a->index))
        return false;
    if (**at == ',' && (++*at, !take_number(at, &scale)))
        return false;
    if (scale != 1 && scale != 2 && scale != 4 && scale != 8)
        return false;
    a->scale = (u8)__builtin_ctzll(scale);
    return true;
}

/* [NUMBER](%BASE,%INDEX,SCALE), each of which may be missing */
static bool take_memory(const char **at, struct xp_usdt_argument *a)
{
    if (**at != '(' && !take_number(at, &a->number))
        return false;
    if (*(*at)++ != '(')
        return false;
    if (**at != ',' && !take_register(at, &a->base))
        return false;
    a->flags |= XP_USDT_MEMORY;
    return take_index(at, a) && *(*at)++ == ')';
}

static bool take_size(const char **at, struct xp_usdt_argument *a)
{
    u64 size = 0;
    if (!strchr(*at, '@')) /* whoever wrote it as assembler may leave it out: a word */
        return a->size = 8, true;
    if (!take_number(at, &size) || *(*at)++ != '@')
        return false;
    if ((s64)size < 0) {
        a->flags |= XP_USDT_SIGNED;
        size = -size;
    }
    a->size = (u8)size;
    return size == 1 || size == 2 || size == 4 || size == 8;
}

bool usdt_argument(const char *text, size_t len, struct xp_usdt_argument *out)
{
    struct xp_usdt_argument a = {.base = XP_USDT_NONE, .index = XP_USDT_NONE, .flags = XP_USDT_KNOWN};
    char copy[MAX_TEXT];
    const char *at = copy;
    if (!len || len >= sizeof(copy))
        return false;
    memcpy(copy, text, len);
    copy[len] = 0;
    if (!take_size(&at, &a))
        return false;
    bool known = *at == '$'   ? (at++, take_number(&at, &a.number))
                 : *at == '%' ? take_register(&at, &a.base)
                              : take_memory(&at, &a);
    if (!known || *at)
        return false;
    *out = a;
    return true;
}
