/* moduledata: the runtime's description of a program. It begins with the address of the pclntab, which makes it easy to
 * find, and one of its words has to fit the table.
 *
 * In position-independent files these words are addresses that the dynamic linker has yet to fill in: with some linkers
 * the file holds zeros there, and the addends of R_X86_64_RELATIVE relocations hold what will stand in them.
 */
#include "runtime/gopclntab_internal.h"

#define WORDS      48 /* what we read of it */
#define W_MINPC    20
#define W_TEXT     22
#define W_ETEXT    23
#define W_GOFUNC   (t->layout >= GO_1_20 ? 40 : 38) /* 1.20 put the coverage counters in front of it */
#define CANDIDATES 16

struct module {
    u64 w[WORDS];
};

static bool fits(struct gopclntab *t, const struct module *m)
{
    u64 text = m->w[W_TEXT];
    if (m->w[0] != t->address || !text || m->w[W_ETEXT] <= text || m->w[W_MINPC] != text + go_u32(t->index, 0))
        return false;
    t->text = text;
    t->etext = m->w[W_ETEXT];
    t->gofunc = m->w[W_GOFUNC];
    return true;
}

static bool in_memory(struct gopclntab *t)
{
    struct module m;
    u64 left = 2 * t->elf->size; /* hostile segments overlap */
    for (size_t i = 0; i < t->elf->nloads; i++) {
        const struct elf_segment *s = &t->elf->loads[i];
        if (!(s->flags & PF_W) || s->filesz > left)
            continue;
        left -= s->filesz;
        struct go_bytes b = {t->elf->map + s->offset, s->filesz};
        for (u64 at = -s->vaddr & 7; at + sizeof(m) <= b.len; at += 8) {
            if (go_u64(b, at) != t->address)
                continue;
            memcpy(&m, b.data + at, sizeof(m));
            if (fits(t, &m))
                return true;
        }
    }
    return false;
}

/* The table of relocations, through PT_DYNAMIC. */
static struct go_bytes relocations(const struct elf_file *e)
{
    Elf64_Phdr p;
    size_t left = 0;
    u64 rela = 0, size = 0;
    const u8 *at = elf_find_phdr(e, PT_DYNAMIC, &p) ? elf_at(e, p.p_vaddr, &left) : NULL;
    Elf64_Dyn dyn = {.d_tag = !DT_NULL};
    for (; at && left >= sizeof(dyn) && dyn.d_tag != DT_NULL; at += sizeof(dyn), left -= sizeof(dyn)) {
        memcpy(&dyn, at, sizeof(dyn));
        if (dyn.d_tag == DT_RELA)
            rela = dyn.d_un.d_ptr;
        else if (dyn.d_tag == DT_RELASZ)
            size = dyn.d_un.d_val;
    }
    at = elf_at(e, rela, &left);
    return at && rela ? (struct go_bytes){at, size < left ? size : left} : (struct go_bytes){0};
}

static Elf64_Rela rela_at(struct go_bytes relas, size_t i)
{
    Elf64_Rela r;
    memcpy(&r, relas.data + i * sizeof(r), sizeof(r));
    return r;
}

/* The module as it will be once the file is loaded. */
static void relocate(const struct elf_file *e, struct go_bytes relas, u64 address, struct module *m)
{
    size_t left;
    const u8 *p = elf_at(e, address, &left);
    *m = (struct module){0};
    if (p)
        memcpy(m->w, p, left < sizeof(*m) ? left : sizeof(*m));
    for (size_t i = 0; i < relas.len / sizeof(Elf64_Rela); i++) {
        Elf64_Rela r = rela_at(relas, i);
        u64 at = r.r_offset - address;
        if (at < sizeof(*m) && !(at & 7) && ELF64_R_TYPE(r.r_info) == R_X86_64_RELATIVE)
            m->w[at / 8] = (u64)r.r_addend;
    }
}

static bool in_relocations(struct gopclntab *t)
{
    struct go_bytes relas = relocations(t->elf);
    struct module m;
    unsigned candidates = 0;
    for (size_t i = 0; i < relas.len / sizeof(Elf64_Rela) && candidates < CANDIDATES; i++) {
        Elf64_Rela r = rela_at(relas, i);
        if ((u64)r.r_addend != t->address || ELF64_R_TYPE(r.r_info) != R_X86_64_RELATIVE)
            continue;
        candidates++;
        relocate(t->elf, relas, r.r_offset, &m);
        if (fits(t, &m))
            return true;
    }
    return false;
}

bool go_module_find(struct gopclntab *t)
{
    return in_memory(t) || in_relocations(t);
}
