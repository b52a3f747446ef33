#include "cfi/gap.h"
#include "elf/dynamic.h"
#include "cfi/rows.h"
#include <string.h>

#define START_BYTES  96   /* the longest _start without CFI: that of older dynamic linkers */
#define INIT_BYTES   64   /* _init and _fini: a dozen instructions */
#define CHACHA_BYTES 1024 /* more than __arch_chacha20_blocks_nostack has */
#define FIBER_BYTES  128  /* more than make_fcontext has */
#define PLT_BYTES    16   /* of an entry, and of the first one, which calls the resolver */

static const u8 endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

static u64 rsp_plus(s32 off)
{
    return rule_word((struct xp_rule){.kind = XP_CFA_RSP, .cfa_off = off});
}

static size_t skip_endbr(const u8 *p, size_t left)
{
    return left >= sizeof(endbr64) && !memcmp(p, endbr64, sizeof(endbr64)) ? sizeof(endbr64) : 0;
}

static struct gap_code *add(struct gap_codes *out, u64 start, u64 end)
{
    if (out->n == GAP_CODES || start >= end)
        return NULL;
    struct gap_code *c = &out->v[out->n++];
    *c = (struct gap_code){.start = start, .end = end};
    return c;
}

static void add_row(struct gap_code *c, u64 offset, u64 word)
{
    c->row[c->n++] = (struct gap_row){offset, word};
}

/* A program's first instructions: they call or jump to C and never return. "xor %ebp,%ebp" (the psABI asks for
 * it, 3.4.1) or "mov %rsp,%rdi"; libraries have e_entry at any odd place. */
static void find_start(const struct elf_file *e, struct gap_codes *out)
{
    const struct elf_segment *s = elf_segment_at(e, e->entry, PF_X);
    size_t left;
    const u8 *p = elf_at(e, e->entry, &left);
    if (!s || !p)
        return;
    size_t skip = skip_endbr(p, left);
    p += skip;
    left -= skip;
    if (left < 3 || (memcmp(p, "\x31\xed", 2) && memcmp(p, "\x48\x31\xed", 3) && memcmp(p, "\x48\x89\xe7", 3)))
        return;
    u64 at = s->offset + (e->entry - s->vaddr);
    struct gap_code *c = add(out, at, at + START_BYTES);
    if (c)
        add_row(c, at, rule_word((struct xp_rule){.kind = XP_CFA_END}));
}

/* crti.o and crtn.o, glibc's and musl's alike: [endbr64] sub $8,%rsp ... add $8,%rsp ret. */
static void find_init(const struct elf_file *e, u64 vaddr, struct gap_codes *out)
{
    static const u8 sub[] = {0x48, 0x83, 0xec, 8}, add_ret[] = {0x48, 0x83, 0xc4, 8, 0xc3};
    const struct elf_segment *s = vaddr ? elf_segment_at(e, vaddr, PF_X) : NULL;
    size_t left;
    const u8 *p = s ? elf_at(e, vaddr, &left) : NULL;
    if (!p)
        return;
    left = left < INIT_BYTES ? left : INIT_BYTES;
    size_t body = skip_endbr(p, left) + sizeof(sub);
    if (left < body || memcmp(p + body - sizeof(sub), sub, sizeof(sub)))
        return;
    const u8 *end = memmem(p + body, left - body, add_ret, sizeof(add_ret));
    u64 at = s->offset + (vaddr - s->vaddr), last = end ? at + (u64)(end - p) + sizeof(add_ret) : 0;
    struct gap_code *c = end ? add(out, at, last) : NULL;
    if (!c)
        return;
    add_row(c, at, rsp_plus(8));
    add_row(c, at + body, rsp_plus(16));
    add_row(c, last - 1, rsp_plus(8));
}

/* Where, in an entry of a lazily bound PLT, the relocation index is on the stack: behind "push imm32". 0: no such
 * entry. */
static s32 pushed_from(const u8 *entry)
{
    if (entry[0] == 0xff && entry[1] == 0x25 && entry[6] == 0x68)
        return 11; /* jmp *GOT; push; jmp PLT0 */
    if (!memcmp(entry, endbr64, sizeof(endbr64)) && entry[4] == 0x68)
        return 9; /* endbr64; push; [bnd] jmp PLT0 */
    return 0;
}

/* .plt: "push GOT+8; jmp *GOT+16", then entries. .plt.sec and .plt.got only jump. */
static void find_plt(const struct elf_file *e, const char *name, struct gap_codes *out)
{
    struct elf_section sec;
    const struct elf_segment *s = elf_section(e, name, &sec) ? elf_segment_at(e, sec.addr, PF_X) : NULL;
    bool lazy = !strcmp(name, ".plt");
    if (!s || sec.len < PLT_BYTES || sec.addr % PLT_BYTES || sec.len > s->filesz - (sec.addr - s->vaddr))
        return;
    u64 at = s->offset + (sec.addr - s->vaddr);
    s32 pushed = lazy && sec.len >= 2 * PLT_BYTES ? pushed_from(sec.data + PLT_BYTES) : 0;
    if (lazy && (!pushed || sec.data[0] != 0xff || sec.data[1] != 0x35))
        return;
    struct gap_code *c = add(out, at, at + sec.len);
    if (!c)
        return;
    add_row(c, at, rsp_plus(lazy ? 16 : 8));
    if (lazy) {
        add_row(c, at + 6, rsp_plus(24));
        add_row(c, at + PLT_BYTES, rule_word((struct xp_rule){.kind = XP_CFA_PLT, .cfa_off = pushed}));
    }
}

/* What the vdso's getrandom (Linux 6.11) calls for new bytes: arch/x86/entry/vdso/vgetrandom-chacha.S has no CFI, but
 * for good reasons no stack either. It begins with loads of constants and of its key (rsi), and has one ret. */
static void find_chacha(const struct elf_file *e, struct gap_codes *out)
{
    static const u8 loads[] = {0x0f, 0x10, 0x36, 0x0f, 0x10, 0x7e, 0x10}, constants[] = {0x0f, 0x28, 0x2d};
    for (size_t i = 0; i < e->nloads && elf_has_dynamic_symbol(e, "__vdso_getrandom"); i++) {
        const struct elf_segment *s = &e->loads[i];
        const u8 *code = e->map + s->offset, *end = code + s->filesz;
        const u8 *p = s->flags & PF_X ? memmem(code, s->filesz, loads, sizeof(loads)) : NULL;
        if (!p || p - code < 7 || memcmp(p - 7, constants, sizeof(constants)))
            continue;
        const u8 *ret = memchr(p, 0xc3, end - p < CHACHA_BYTES ? (size_t)(end - p) : CHACHA_BYTES);
        u64 at = (u64)(p - 7 - e->map);
        struct gap_code *c = ret ? add(out, at, (u64)(ret + 1 - e->map)) : NULL;
        if (c)
            add_row(c, at, rsp_plus(8));
    }
}

/* What the stacks of fibers begin with (Boost.Context, in which PHP and others have it): make_fcontext, and behind it
 * "push %rbp; jmp *%rbx" and "xor %rdi,%rdi; call _exit; hlt", to which they would return. */
static void find_fiber(const struct elf_file *e, struct gap_codes *out)
{
    static const u8 jump[] = {0x55, 0xff, 0xe3}, ends[] = {0x48, 0x31, 0xff, 0xe8};
    Elf64_Sym sym;
    const struct elf_segment *s =
        elf_dynamic_symbol(e, "make_fcontext", &sym) ? elf_segment_at(e, sym.st_value, PF_X) : NULL;
    size_t left;
    const u8 *code = s ? elf_at(e, sym.st_value, &left) : NULL;
    if (!code)
        return;
    left = left < FIBER_BYTES ? left : FIBER_BYTES;
    const u8 *p = memmem(code, left, jump, sizeof(jump));
    const u8 *q = p ? memmem(p, left - (size_t)(p - code), ends, sizeof(ends)) : NULL;
    if (!q || left - (size_t)(q - code) < sizeof(ends) + 5 || q[sizeof(ends) + 4] != 0xf4)
        return;
    u64 at = s->offset + (sym.st_value - s->vaddr) + (u64)(p - code);
    struct gap_code *c = add(out, at, at + (u64)(q - p) + sizeof(ends) + 5);
    if (c)
        add_row(c, at, rule_word((struct xp_rule){.kind = XP_CFA_END}));
}

/* By start; of two that overlap, the later one goes. */
static void sort(struct gap_codes *out)
{
    for (size_t i = 1; i < out->n; i++)
        for (size_t k = i; k && out->v[k - 1].start > out->v[k].start; k--) {
            struct gap_code swap = out->v[k];
            out->v[k] = out->v[k - 1];
            out->v[k - 1] = swap;
        }
    size_t kept = 0;
    for (size_t i = 0; i < out->n; i++)
        if (!kept || out->v[i].start >= out->v[kept - 1].end)
            out->v[kept++] = out->v[i];
    out->n = kept;
}

void gap_codes_find(const struct elf_file *e, struct gap_codes *out)
{
    struct elf_dynamic d;
    *out = (struct gap_codes){0};
    find_start(e, out);
    if (elf_dynamic(e, &d)) {
        find_init(e, d.init, out);
        find_init(e, d.fini, out);
    }
    find_plt(e, ".plt", out);
    find_plt(e, ".plt.sec", out);
    find_plt(e, ".plt.got", out);
    find_chacha(e, out);
    find_fiber(e, out);
    sort(out);
}
