/* Where functions begin in code without FDEs: at symbols, where relocations and data of programs for a fixed address
 * point, and where covered code calls, jumps, or takes an address. */
#include "elf/dynamic.h"
#include "synth/analysis.h"
#include "synth/insn.h"
#include <errno.h>

#define MAX_SYMBOLS (16u << 20)
#define MAX_NAME    4096

static u64 word_at(const u8 *p)
{
    u64 v;
    memcpy(&v, p, sizeof(v));
    return v;
}

/* ---- Symbols ---- */

/* The unlikely part of a function, to which that one jumps: compilers call it "name.cold" or "name.cold.0". */
static bool is_cold(const struct elf_section *names, const Elf64_Sym *sym)
{
    size_t left = sym->st_name < names->len ? names->len - sym->st_name : 0;
    const char *name = (const char *)names->data + sym->st_name;
    return left && memmem(name, strnlen(name, left < MAX_NAME ? left : MAX_NAME), ".cold", 5);
}

static void ask_symbols(struct analysis *a, const u8 *p, size_t len, const struct elf_section *names)
{
    size_t n = len / sizeof(Elf64_Sym);
    for (size_t i = 0; i < n && i < MAX_SYMBOLS && !analysis_over(a); i++) {
        analysis_tick(a);
        Elf64_Sym sym;
        memcpy(&sym, p + i * sizeof(sym), sizeof(sym));
        unsigned type = ELF64_ST_TYPE(sym.st_info);
        if (sym.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC))
            continue;
        if (is_cold(names, &sym))
            region_ask_weakly(a, sym.st_value);
        else
            region_ask(a, sym.st_value);
        noreturn_symbol(a, names, &sym);
    }
}

/* Without section headers .dynsym has no length, but in every file that linkers make .dynstr follows it. */
static void ask_dynamic_symbols(struct analysis *a)
{
    struct elf_dynamic d;
    size_t left;
    if (!elf_dynamic(a->code.elf, &d) || d.strtab <= d.symtab)
        return;
    struct elf_section names = {0};
    const u8 *p = elf_at(a->code.elf, d.symtab, &left);
    names.data = elf_at(a->code.elf, d.strtab, &names.len);
    if (p && names.data)
        ask_symbols(a, p, left < d.strtab - d.symtab ? left : d.strtab - d.symtab, &names);
}

static void find_symbols(struct analysis *a)
{
    const struct elf_file *e = a->code.elf;
    struct elf_section s, names;
    bool dynamic = false;
    for (u32 i = 0; i < e->shnum; i++)
        if (elf_section_at(e, i, &s) && (s.type == SHT_SYMTAB || s.type == SHT_DYNSYM) &&
            elf_section_at(e, s.link, &names)) {
            ask_symbols(a, s.data, s.len, &names);
            dynamic |= s.type == SHT_DYNSYM;
        }
    if (!dynamic)
        ask_dynamic_symbols(a);
}

/* ---- Relocations ---- */

struct relocations {
    u64 rela, rela_size, plt, plt_size, relr, relr_size;
};

/* `out` starts as {0}. */
static void find_relocations(const struct elf_file *e, struct relocations *out)
{
    Elf64_Phdr ph;
    Elf64_Dyn d;
    size_t left = 0;
    const u8 *p = elf_find_phdr(e, PT_DYNAMIC, &ph) ? elf_at(e, ph.p_vaddr, &left) : NULL;
    for (; p && left >= sizeof(d); p += sizeof(d), left -= sizeof(d)) {
        memcpy(&d, p, sizeof(d));
        if (d.d_tag == DT_NULL)
            return;
        u64 *to = d.d_tag == DT_RELA       ? &out->rela
                  : d.d_tag == DT_RELASZ   ? &out->rela_size
                  : d.d_tag == DT_JMPREL   ? &out->plt
                  : d.d_tag == DT_PLTRELSZ ? &out->plt_size
                  : d.d_tag == DT_RELR     ? &out->relr
                  : d.d_tag == DT_RELRSZ   ? &out->relr_size
                                           : NULL;
        if (to)
            *to = d.d_un.d_val;
    }
}

static void ask_rela(struct analysis *a, u64 vaddr, u64 size)
{
    size_t left;
    Elf64_Rela r;
    const u8 *p = vaddr ? elf_at(a->code.elf, vaddr, &left) : NULL;
    if (!p)
        return;
    left = left < size ? left : size;
    for (; left >= sizeof(r) && !analysis_over(a); p += sizeof(r), left -= sizeof(r)) {
        analysis_tick(a);
        memcpy(&r, p, sizeof(r));
        if (ELF64_R_TYPE(r.r_info) == R_X86_64_IRELATIVE) /* it is called */
            region_ask(a, (u64)r.r_addend);
        else if (ELF64_R_TYPE(r.r_info) == R_X86_64_RELATIVE)
            region_ask_weakly(a, (u64)r.r_addend);
    }
}

static void ask_word(struct analysis *a, u64 vaddr)
{
    size_t left;
    analysis_tick(a);
    const u8 *p = elf_at(a->code.elf, vaddr, &left);
    if (p && left >= 8)
        region_ask_weakly(a, word_at(p));
}

/* Packed: an address, then bitmaps of which of the 63 words behind are relocated, too (gABI, "Relative Relocation
 * Table"). */
static void ask_relr(struct analysis *a, u64 vaddr, u64 size)
{
    size_t left;
    const u8 *p = vaddr ? elf_at(a->code.elf, vaddr, &left) : NULL;
    u64 where = 0;
    if (!p)
        return;
    left = left < size ? left : size;
    for (; left >= 8 && !analysis_over(a); p += 8, left -= 8) {
        u64 v = word_at(p);
        if (!(v & 1)) {
            ask_word(a, v);
            where = v + 8;
            continue;
        }
        for (unsigned i = 0; i < 63; i++)
            if (v >> (i + 1) & 1)
                ask_word(a, where + 8 * i);
        where += 8 * 63;
    }
}

/* A program for a fixed address needs no relocations: its data just have the addresses. */
static void ask_data(struct analysis *a)
{
    const struct elf_file *e = a->code.elf;
    for (size_t i = 0; e->type == ET_EXEC && i < e->nloads; i++) {
        const struct elf_segment *s = &e->loads[i];
        const u8 *p = e->map + s->offset;
        for (u64 k = 0; (s->flags & PF_W) && k + 8 <= s->filesz && !analysis_over(a); k += 8)
            region_ask_weakly(a, word_at(p + k));
    }
}

/* ---- Covered code ---- */

/* Could an instruction that refers to a gap begin at p, or one byte before? Most bytes say no at once. */
static bool may_refer(struct analysis *a, const u8 *p, size_t n, u64 pc)
{
    u32 at;
    s32 disp;
    size_t skip = 0;
    if (*p == 0xe8 || *p == 0xe9) /* call, jmp */
        skip = 1;
    else if (n >= 6 && ((*p == 0x0f && (p[1] & 0xf0) == 0x80) || (*p == 0x8d && (p[1] & 0xc7) == 5))) /* jcc; lea rip */
        skip = 2;
    if (!skip || n < skip + 4)
        return false;
    memcpy(&disp, p + skip, sizeof(disp));
    return code_find(&a->code, pc + skip + 4 + (u64)(s64)disp, &at);
}

static void ask_called(struct analysis *a, u64 pc)
{
    u32 at, *p = a->called.n < MAX_NOTES && code_find(&a->code, pc, &at) ? VEC_PUSH(&a->called) : NULL;
    if (p)
        *p = at;
    region_ask(a, pc);
}

static void ask_referred(struct analysis *a, const u8 *p, size_t n, u64 pc)
{
    struct insn x;
    for (size_t i = 0; i < n && insn_decode(p + i, n - i, &x); i += x.len) {
        u64 next = pc + i + x.len;
        bool jumps = x.op == INSN_JMP || x.op == INSN_JCC;
        if (x.op == INSN_CALL && x.a.kind == INSN_IMM)
            ask_called(a, next + (u64)x.a.value);
        else if (jumps && x.a.kind == INSN_IMM)
            region_ask_weakly(a, next + (u64)x.a.value);
        else if (x.op == INSN_LEA && x.b.base == INSN_RIP)
            region_ask_weakly(a, next + (u64)(s64)x.b.disp);
    }
}

/* Bytes first; only spans in which some look like a reference are decoded. */
static void find_references(struct analysis *a, const struct synth_span *span)
{
    const struct elf_segment *s = elf_segment_of(a->code.elf, span->start, PF_X);
    if (!s)
        return;
    analysis_tick(a);
    u64 room = s->filesz - (span->start - s->offset), n = span->end - span->start;
    const u8 *p = a->code.elf->map + span->start;
    u64 pc = s->vaddr + (span->start - s->offset);
    n = n < room ? n : room;
    for (u64 i = 0; i < n; i++)
        if (may_refer(a, p + i, n - i, pc + i)) {
            ask_referred(a, p, n, pc);
            return;
        }
}

/* ---- The program's main ---- */

#define START_INSNS 32 /* of start-up code */

/* "xor %ebp, %ebp" (System V ABI, AMD64 supplement, 3.4.1). Libraries have e_entry at any odd place. */
static bool is_start(const struct elf_file *e, u64 pc)
{
    static const u8 endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    size_t left;
    const u8 *p = elf_segment_at(e, pc, PF_X) ? elf_at(e, pc, &left) : NULL;
    if (p && left >= 8 && !memcmp(p, endbr64, sizeof(endbr64)))
        p += sizeof(endbr64);
    return p && left >= 8 && (!memcmp(p, "\x31\xed", 2) || !memcmp(p, "\x48\x31\xed", 3));
}

/* Process start-up code gives the address of main to the C library, as the first argument of its first call (crt1.o of
 * glibc and musl; the latter's calls or jumps to C for that). */
static void ask_main(struct analysis *a)
{
    const struct elf_file *e = a->code.elf;
    u64 pc = e->entry, rdi = 0;
    if (!is_start(e, pc))
        return;
    for (unsigned i = 0, calls = 0; i < START_INSNS; i++) {
        struct insn x;
        size_t left;
        const u8 *p = elf_segment_at(e, pc, PF_X) ? elf_at(e, pc, &left) : NULL;
        if (!p || !insn_decode(p, left, &x) || x.op == INSN_RET || x.op == INSN_TRAP || x.op == INSN_JCC)
            return;
        pc += x.len;
        if (x.op == INSN_LEA && x.a.reg == INSN_RDI && x.size == 8)
            rdi = x.b.base == INSN_RIP && x.b.index == INSN_NO_REG ? pc + (u64)(s64)x.b.disp : 0;
        else if (x.op == INSN_MOV && x.a.kind == INSN_REG && x.a.reg == INSN_RDI)
            rdi = x.b.kind == INSN_IMM ? (u64)x.b.value : 0;
        if (x.op != INSN_CALL && x.op != INSN_JMP)
            continue;
        if (rdi)
            region_ask(a, rdi);
        if (rdi || x.a.kind != INSN_IMM || calls++)
            return;
        pc += (u64)x.a.value;
    }
}

/* Those that are no mere labels. */
static void keep_named(struct analysis *a)
{
    for (size_t i = 0; i < a->asked.n && !analysis_over(a); i++) {
        u32 at = a->asked.v[i], *p = a->code.marks[at] & CODE_WEAK ? &at : VEC_PUSH(&a->named);
        if (!p)
            a->err = -ENOMEM;
        else
            *p = at;
    }
    if (a->named.n)
        qsort(a->named.v, a->named.n, sizeof(*a->named.v), code_by_number);
}

void entries_find(struct analysis *a)
{
    struct relocations r = {0};
    find_symbols(a);
    find_relocations(a->code.elf, &r);
    ask_rela(a, r.rela, r.rela_size);
    ask_rela(a, r.plt, r.plt_size);
    ask_relr(a, r.relr, r.relr_size);
    ask_data(a);
    ask_main(a);
    for (size_t i = 0; i < a->code.ncovered && !analysis_over(a); i++)
        find_references(a, &a->code.covered[i]);
    keep_named(a);
    region_ask(a, a->code.elf->entry);
}

void entries_ask(struct analysis *a)
{
    for (size_t i = 0; i < a->nroots; i++)
        region_ask(a, a->roots[i]);
    keep_named(a);
}
