#include "elf/plt.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STUB      16u        /* bytes, also of .plt.got's where there is IBT; without, they are 8 */
#define MAX_SLOTS (1u << 20) /* functions of other files */

struct slot {
    u64 got;
    u32 symbol;
};
struct part { /* a section of stubs */
    u64 start, len;
    const u8 *data;
    u32 stub; /* bytes */
};
struct plt {
    struct part parts[3];
    size_t nparts;
    VEC(struct slot) slots; /* by address of the GOT's entry */
    const u8 *symbols;
    size_t nsymbols;
    const char *strings;
    size_t nstrings;
};

static int by_got(const void *a, const void *b)
{
    u64 x = ((const struct slot *)a)->got, y = ((const struct slot *)b)->got;
    return x < y ? -1 : x > y;
}

static int add_relocations(struct plt *p, const struct elf_file *e, const char *section)
{
    struct elf_section s;
    if (!elf_section(e, section, &s) || (s.flags & SHF_COMPRESSED))
        return 0;
    for (size_t at = 0; s.len - at >= sizeof(Elf64_Rela) && p->slots.n < MAX_SLOTS; at += sizeof(Elf64_Rela)) {
        Elf64_Rela r;
        memcpy(&r, s.data + at, sizeof(r));
        u32 type = ELF64_R_TYPE(r.r_info);
        if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
            continue;
        struct slot *slot = VEC_PUSH(&p->slots);
        if (!slot)
            return -ENOMEM;
        *slot = (struct slot){.got = r.r_offset, .symbol = (u32)ELF64_R_SYM(r.r_info)};
    }
    return 0;
}

static void add_part(struct plt *p, const struct elf_file *e, const char *section)
{
    struct elf_section s;
    if (!elf_section(e, section, &s) || !s.len || s.type != SHT_PROGBITS || !(s.flags & SHF_EXECINSTR))
        return;
    u32 stub = s.entsize == 8 ? 8 : STUB;
    p->parts[p->nparts++] = (struct part){.start = s.addr, .len = s.len, .data = s.data, .stub = stub};
}

static bool find_symbols(struct plt *p, const struct elf_file *e)
{
    struct elf_section symbols, strings;
    if (!elf_section(e, ".dynsym", &symbols) || !elf_section(e, ".dynstr", &strings))
        return false;
    p->symbols = symbols.data;
    p->nsymbols = symbols.len / sizeof(Elf64_Sym);
    p->strings = (const char *)strings.data;
    p->nstrings = strings.len;
    return true;
}

int plt_read(struct plt **out, const struct elf_file *e)
{
    CLEANUP(plt_free) struct plt *p = calloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    add_part(p, e, ".plt");
    add_part(p, e, ".plt.sec");
    add_part(p, e, ".plt.got");
    if (!p->nparts || !find_symbols(p, e))
        return -ENODATA;
    if (add_relocations(p, e, ".rela.plt") || add_relocations(p, e, ".rela.dyn"))
        return -ENOMEM;
    if (!p->slots.n)
        return -ENODATA;
    qsort(p->slots.v, p->slots.n, sizeof(*p->slots.v), by_got);
    *out = TAKE_PTR(p);
    return 0;
}

void plt_free(struct plt **p)
{
    if (!*p)
        return;
    vec_free(&(*p)->slots);
    free(TAKE_PTR(*p));
}

/* Where the stub jumps: "ff 25 disp32", jmp *disp(%rip), perhaps behind endbr64 and a bnd prefix. 0: it is no stub. */
static u64 slot_of(const struct part *part, u64 at)
{
    u64 left = part->len - at;
    const u8 *code = part->data + at;
    for (u32 i = 0; i + 6 <= part->stub && i + 6 <= left; i++) {
        s32 displacement;
        if (code[i] != 0xff || code[i + 1] != 0x25)
            continue;
        memcpy(&displacement, code + i + 2, sizeof(displacement));
        return part->start + at + i + 6 + (u64)(s64)displacement;
    }
    return 0;
}

static const char *name_of(const struct plt *p, u32 symbol, size_t *len)
{
    Elf64_Sym s;
    if (symbol >= p->nsymbols)
        return NULL;
    memcpy(&s, p->symbols + symbol * sizeof(s), sizeof(s));
    if (s.st_name >= p->nstrings)
        return NULL;
    *len = strnlen(p->strings + s.st_name, p->nstrings - s.st_name);
    return *len ? p->strings + s.st_name : NULL;
}

static const char *stub_name(const struct plt *p, const struct part *part, u64 at, size_t *len)
{
    struct slot key = {.got = slot_of(part, at)};
    const struct slot *slot = bsearch(&key, p->slots.v, p->slots.n, sizeof(key), by_got);
    return key.got && slot ? name_of(p, slot->symbol, len) : NULL;
}

const char *plt_find(const struct plt *p, u64 address, size_t *len, u64 *start)
{
    for (size_t i = 0; i < p->nparts; i++) {
        const struct part *part = &p->parts[i];
        if (address - part->start >= part->len)
            continue;
        u64 at = (address - part->start) / part->stub * part->stub;
        *start = part->start + at;
        return stub_name(p, part, at, len);
    }
    return NULL;
}

int plt_each(const struct plt *p, int (*use)(void *arg, u64 address, u32 len, const char *name, size_t name_len),
             void *arg)
{
    int rc = 0;
    size_t len;
    for (const struct part *part = p->parts; part < p->parts + p->nparts; part++)
        for (u64 at = 0; at < part->len && !rc; at += part->stub) {
            const char *name = stub_name(p, part, at, &len);
            u64 left = part->len - at;
            if (name)
                rc = use(arg, part->start + at, left < part->stub ? (u32)left : part->stub, name, len);
        }
    return rc;
}
