#include "runtime/gopclntab.h"
#include "runtime/gopclntab_internal.h"
#include <errno.h>

#define HEADER_MIN     72         /* of 1.18; others are shorter, their tables are not */
#define MAX_CANDIDATES 8          /* for each of them the data segment is searched for moduledata */
#define OTHERS_CODE    (8u << 10) /* seen: 4 KiB, with and without cgo */

static int layout_of(u32 magic, enum go_layout *out)
{
    static const u32 magics[] = {[GO_1_2] = 0xfffffffb, [GO_1_16] = 0xfffffffa, 0xfffffff0, 0xfffffff1};
    for (unsigned i = 0; i < sizeof(magics) / sizeof(*magics); i++)
        if (magics[i] == magic) {
            *out = (enum go_layout)i;
            return 0;
        }
    return -ENOTSUP;
}

/* 1.2 to 1.15: index, end of the last function, place of the file table; all offsets count from the header. */
static bool read_old(struct gopclntab *t, struct go_bytes b)
{
    u64 end = 16 + t->nfuncs * 16 + 8, files = go_u32(b, end);
    t->index = go_slice(b, 16, end - 16);
    t->funcs = t->names = t->files = t->values = b;
    t->units = go_slice(b, files, b.len);
    return t->index.len == end - 16 && files > end && files < b.len;
}

/* Since 1.16: five arrays, one behind the other. */
static bool read_new(struct gopclntab *t, struct go_bytes b)
{
    u64 first = t->layout >= GO_1_18 ? 32 : 24, at[6];
    for (unsigned i = 0; i < 5; i++) {
        at[i] = go_u64(b, first + 8 * i);
        if (at[i] < 64 || at[i] > b.len || (i && at[i] < at[i - 1]))
            return false;
    }
    t->text = t->layout >= GO_1_18 ? go_u64(b, 24) : 0; /* 0 again since 1.26 */
    t->names = go_slice(b, at[0], at[1] - at[0]);
    t->units = go_slice(b, at[1], at[2] - at[1]);
    t->files = go_slice(b, at[2], at[3] - at[2]);
    t->values = go_slice(b, at[3], at[4] - at[3]);
    t->index = t->funcs = go_slice(b, at[4], b.len);
    return t->nfuncs * (t->layout >= GO_1_18 ? 8 : 16) < t->index.len;
}

/* A header: magic, two zeros, instruction size 1 (x86), pointer size 8. */
static int read_header(struct gopclntab *t, struct go_bytes b, u64 address)
{
    static const u8 pads[] = {0, 0, 1, 8};
    if (b.len < HEADER_MIN || memcmp(b.data + 4, pads, sizeof(pads)))
        return -EBADMSG;
    int err = layout_of(go_u32(b, 0), &t->layout);
    if (err)
        return err;
    t->address = address;
    t->nfuncs = go_u64(b, 8);
    if (!t->nfuncs || t->nfuncs > GO_MAX_FUNCS)
        return -EBADMSG;
    return (t->layout == GO_1_2 ? read_old : read_new)(t, b) ? 0 : -EBADMSG;
}

/* A table whose functions are not in this file's code is of no use, or none. */
static int locate(struct gopclntab *t)
{
    if (t->layout >= GO_1_18)
        go_module_find(t);
    u64 first = go_entry(t, 0);
    return elf_segment_at(t->elf, first, PF_X) && go_entry(t, t->nfuncs) > first ? 0 : -EBADMSG;
}

static int try_at(struct gopclntab *t, struct go_bytes b, u64 address)
{
    struct gopclntab at = {.elf = t->elf, .steps = GO_STEPS};
    int err = read_header(&at, b, address);
    if (!err)
        err = locate(&at);
    if (!err)
        *t = at;
    return err;
}

/* Tries what looks like a header in one segment. */
static int search_in(struct gopclntab *t, const struct elf_segment *s, unsigned *candidates)
{
    static const u8 magic[] = {0xff, 0xff, 0xff, 0, 0, 1, 8}; /* behind the byte that tells the layouts apart */
    struct go_bytes b = {t->elf->map + s->offset, s->filesz};
    const u8 *p = b.data, *end = b.data + b.len;
    for (; *candidates && (p = memmem(p, (size_t)(end - p), magic, sizeof(magic))); p++) {
        u64 at = (u64)(p - b.data) - 1; /* wraps at the first byte, and is then not aligned */
        if ((s->vaddr + at) & 7)
            continue;
        --*candidates;
        if (!try_at(t, go_slice(b, at, b.len), s->vaddr + at))
            return 0;
    }
    return -ENODATA;
}

/* PIE and c-shared up to 1.19 have no section for it, and section headers can be gone: by what a header begins with. */
static int search(struct gopclntab *t)
{
    unsigned candidates = MAX_CANDIDATES;
    u64 left = 2 * t->elf->size; /* hostile segments overlap */
    for (size_t i = 0; i < t->elf->nloads && t->elf->loads[i].filesz <= left; i++) {
        if (!search_in(t, &t->elf->loads[i], &candidates))
            return 0;
        left -= t->elf->loads[i].filesz;
    }
    return -ENODATA;
}

int go_open(struct gopclntab *t, const struct elf_file *e)
{
    static const char *const sections[] = {".gopclntab", ".data.rel.ro.gopclntab"};
    struct gopclntab found = {.elf = e};
    struct elf_section s;
    int err = -ENODATA;
    for (unsigned i = 0; i < sizeof(sections) / sizeof(*sections) && err; i++)
        if (elf_section(e, sections[i], &s) && !(s.flags & SHF_COMPRESSED))
            err = try_at(&found, (struct go_bytes){s.data, s.len}, s.addr);
    if (err == -ENODATA && (!e->shnum || elf_section(e, ".go.buildinfo", &s) || elf_section(e, ".note.go.buildid", &s)))
        err = search(&found);
    if (!err)
        *t = found;
    return err;
}

bool go_is_all(const struct gopclntab *t)
{
    u64 code = 0, own = go_entry(t, t->nfuncs) - go_entry(t, 0);
    for (size_t i = 0; i < t->elf->nloads; i++)
        if (t->elf->loads[i].flags & PF_X)
            code += t->elf->loads[i].filesz;
    return code < own + OTHERS_CODE;
}
