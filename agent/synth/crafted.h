/* Builds the smallest file with some code, for tests and fuzzing, and checks what must hold for any rows. */
#pragma once
#include "synth/synth.h"
#include <stdbool.h>
#include <string.h>

#define CRAFTED_BASE 0x1000 /* of the code, in the file and in memory */
#define CRAFTED_MAX  (1u << 22)

/* One executable segment, no sections; the program begins at its first byte. `file` has CRAFTED_BASE + n bytes. */
static inline void crafted_file(u8 *file, const u8 *code, size_t n)
{
    Elf64_Ehdr h = {.e_type = ET_DYN,
                    .e_machine = EM_X86_64,
                    .e_version = EV_CURRENT,
                    .e_entry = CRAFTED_BASE,
                    .e_phoff = sizeof(h),
                    .e_ehsize = sizeof(h),
                    .e_phentsize = sizeof(Elf64_Phdr),
                    .e_phnum = 1};
    Elf64_Phdr p = {.p_type = PT_LOAD,
                    .p_flags = PF_R | PF_X,
                    .p_offset = CRAFTED_BASE,
                    .p_vaddr = CRAFTED_BASE,
                    .p_filesz = n,
                    .p_memsz = n,
                    .p_align = 0x1000};
    memcpy(h.e_ident, ELFMAG "\2\1\1", 7); /* 64 bits, little-endian, version 1 */
    memset(file, 0, CRAFTED_BASE);
    memcpy(file, &h, sizeof(h));
    memcpy(file + sizeof(h), &p, sizeof(p));
    memcpy(file + CRAFTED_BASE, code, n);
}

/* Code of n bytes, in functions of 16 bytes: push rbp; mov rbp, rsp; call rax; pop rbp; ret. `frames` false: without
 * the first two. */
static inline void crafted_functions(u8 *code, size_t n, bool frames)
{
    static const u8 with[16] = "\x55\x48\x89\xe5\xff\xd0\x5d\xc3\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc";
    static const u8 without[16] = "\x53\xff\xd0\x5b\xc3\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc";
    for (size_t i = 0; i < n; i += 16)
        memcpy(code + i, frames ? with : without, 16);
}

static inline bool crafted_rule_is_sound(struct xp_rule r)
{
    static const u8 kinds[] = {XP_CFA_RSP,       XP_CFA_RBP, XP_CFA_RBX,    XP_CFA_DEREF_RBP, XP_CFA_DEREF_RSP,
                               XP_CFA_RSP_DEREF, XP_CFA_REG, XP_CFA_RA_REG, XP_CFA_END,       XP_CFA_UNPROVEN};
    if (XP_RULE_CFA(r.kind) == XP_CFA_REG && XP_REG_NUMBER(r.cfa_off) > 15)
        return false;
    return (r.kind & XP_RULE_SYNTH) && memchr(kinds, XP_RULE_CFA(r.kind), sizeof(kinds));
}

/* Ranges ascend, each begins with a row, rows ascend inside of them and change something. */
static inline bool crafted_is_sound(const struct synth *s)
{
    size_t k = 0;
    for (size_t i = 0; i < s->ranges.n; i++) {
        const struct synth_span *r = &s->ranges.v[i];
        if (r->start >= r->end || (i && r->start < r[-1].end))
            return false;
        if (k >= s->rows.n || s->rows.v[k].offset != r->start)
            return false;
        for (size_t first = k; k < s->rows.n && s->rows.v[k].offset < r->end; k++)
            if (!crafted_rule_is_sound(s->rows.v[k].rule) ||
                (k > first && s->rows.v[k].offset <= s->rows.v[k - 1].offset))
                return false;
    }
    return k == s->rows.n && s->n.claimed_bytes <= s->n.code_bytes && s->n.code_bytes <= s->n.gap_bytes &&
           (!s->dropped || !s->rows.n);
}
