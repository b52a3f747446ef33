#include "synth/guard.h"
#include "elf/dynamic.h"
#include "cfi/table_elf.h"
#include <string.h>

#define MAX_NOTE 4096 /* bytes of notes that are looked at */

/* Go's linker leaves a note with its build ID, and its tables have a section of their own. */
static bool is_go(const struct elf_file *e)
{
    struct elf_section s;
    if (elf_section(e, ".gopclntab", &s) || elf_section(e, ".data.rel.ro.gopclntab", &s) ||
        elf_section(e, ".note.go.buildid", &s))
        return true;
    for (u32 i = 0; i < e->phnum; i++) {
        Elf64_Phdr p = elf_phdr(e, i);
        size_t left;
        const u8 *note = p.p_type == PT_NOTE ? elf_at(e, p.p_vaddr, &left) : NULL;
        size_t n = note ? (left < p.p_filesz ? left : p.p_filesz) : 0;
        n = n < MAX_NOTE ? n : MAX_NOTE;
        if (n && memmem(note, n, "\4\0\0\0Go\0", 8)) /* type 4, name "Go" */
            return true;
    }
    return false;
}

/* GHC keeps its own stack in rbp, and what is left of it in r15 minus that: "lea rax, [rbp - n]; cmp rax, r15" begins
 * each function that needs some. Nothing else does that a few times per 64 KiB. */
bool guard_is_ghc(const struct code *c)
{
    static const u8 check[] = {0x4c, 0x39, 0xf8};
    u64 checks = 0, bytes = 0;
    for (size_t i = 0; i < c->gaps.n; i++) {
        const struct code_gap *g = &c->gaps.v[i];
        const u8 *p = g->bytes, *end = p + (g->end - g->start);
        bytes += g->end - g->start;
        for (; (p = memmem(p, (size_t)(end - p), check, sizeof(check))); p++)
            checks += p - g->bytes >= 4 && p[-4] == 0x48 && p[-3] == 0x8d && p[-2] == 0x45;
    }
    return checks > 8 && checks > bytes >> 14;
}

enum synth_drop guard_foreign(const struct elf_file *e)
{
    if (is_go(e))
        return SYNTH_DROP_GO;
    if (table_has_v8(e))
        return SYNTH_DROP_V8;
    if (elf_has_dynamic_symbol(e, "caml_resume") || elf_has_dynamic_symbol(e, "caml_runstack"))
        return SYNTH_DROP_OCAML;
    return SYNTH_DROP_NOT;
}

bool guard_unlikely(const struct code *c, const struct synth_counts *n)
{
    u64 all = 0;
    for (size_t i = 0; i < c->executable.n; i++)
        all += c->executable.v[i].end - c->executable.v[i].offset;
    return n->code_bytes > all / 2 && n->proven < n->regions / 2 && n->claimed_bytes < n->code_bytes / 2;
}
