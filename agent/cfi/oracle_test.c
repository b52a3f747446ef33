/* Rows against libdw: on real programs, every row of either side must say the same. */
#include "cfi/oracle.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "cfi/loops.h"
#include "cfi/table_elf.h"
#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libelf.h>

static struct xp_rule only(unsigned kind)
{
    return (struct xp_rule){.kind = (u8)kind};
}

static bool is_plt(const Dwarf_Op *o, size_t n)
{
    static const u8 atoms[] = {DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, 0,
                               DW_OP_ge,    DW_OP_lit3,   DW_OP_shl,   DW_OP_plus};
    for (size_t i = 0; i < sizeof(atoms); i++)
        if (n != sizeof(atoms) || (i != 4 && o[i].atom != atoms[i]))
            return false;
    return o[0].number == 8 && o[4].atom >= DW_OP_lit0 && o[4].atom <= DW_OP_lit15;
}

/* *(rsp + off + 8 * register), perhaps plus a constant. */
static bool is_indexed(const Dwarf_Op *o, size_t n)
{
    return (n == 6 || (n == 7 && o[6].atom == DW_OP_plus_uconst && o[6].number < 256)) && o[0].atom == DW_OP_breg7 &&
           o[1].atom >= DW_OP_breg0 && o[1].atom <= DW_OP_breg15 && !o[1].number && o[2].atom == DW_OP_lit8 &&
           o[3].atom == DW_OP_mul && o[4].atom == DW_OP_plus && o[5].atom == DW_OP_deref;
}

static struct xp_rule cfa_rule(const Dwarf_Op *o, size_t n, bool signal)
{
    s64 off = n ? (s64)o[0].number : 0;
    if (is_plt(o, n))
        return (struct xp_rule){.kind = XP_CFA_PLT, .cfa_off = o[4].atom - DW_OP_lit0};
    if (!n || (o[0].atom != DW_OP_bregx && (o[0].atom < DW_OP_breg0 || o[0].atom > DW_OP_breg15)))
        return only(XP_CFA_UNSUPPORTED);
    u64 reg = o[0].atom == DW_OP_bregx ? o[0].number : o[0].atom - (u64)DW_OP_breg0;
    off = o[0].atom == DW_OP_bregx ? (s64)o[0].number2 : off;
    if (reg > 15)
        return only(XP_CFA_UNSUPPORTED);
    if (n == 1 && off == (s32)off) {
        unsigned kind = reg == 7 ? XP_CFA_RSP : reg == 6 ? XP_CFA_RBP : reg == 3 ? XP_CFA_RBX : XP_CFA_REG;
        bool named = kind == XP_CFA_REG;
        if (named && off != XP_REG_OFFSET(off))
            return only(XP_CFA_UNSUPPORTED);
        return (struct xp_rule){.kind = (u8)kind, .cfa_off = named ? XP_REG_RULE(reg, off) : (s32)off};
    }
    if (is_indexed(o, n))
        return (struct xp_rule){.kind = XP_CFA_INDEXED,
                                .cfa_off = XP_INDEX_RULE(o[1].atom - DW_OP_breg0, off, n == 7 ? o[6].number : 0)};
    bool plus = n == 3 && o[2].atom == DW_OP_plus_uconst;
    if ((n != 2 && !plus) || o[1].atom != DW_OP_deref || (reg != 6 && reg != 7))
        return only(XP_CFA_UNSUPPORTED);
    if (signal && !plus)
        return (struct xp_rule){.kind = XP_CFA_SIGNAL, .cfa_off = (s32)off - 160};
    s32 packed = (s32)((u32)(u16)off | (plus ? (u32)o[2].number << 16 : 0));
    return (struct xp_rule){.kind = reg == 6 ? XP_CFA_DEREF_RBP : XP_CFA_DEREF_RSP, .cfa_off = packed};
}

enum place { SAME, UNDEFINED, AT_CFA, AT_RBP, IN_REGISTER, OTHER };

/* Where libdw says that a register is saved. */
static enum place place_of(Dwarf_Frame *f, int reg, s64 *off)
{
    Dwarf_Op mem[3], *o;
    size_t n;
    *off = 0;
    if (dwarf_frame_register(f, reg, mem, &o, &n))
        return OTHER;
    if (!n)
        return o ? UNDEFINED : SAME;
    if (n == 1 && (o[0].atom == DW_OP_regx || (o[0].atom >= DW_OP_reg0 && o[0].atom <= DW_OP_reg31))) {
        *off = o[0].atom == DW_OP_regx ? (s64)o[0].number : o[0].atom - DW_OP_reg0;
        return IN_REGISTER;
    }
    if (o[0].atom != DW_OP_call_frame_cfa || n > 2)
        return OTHER;
    *off = n == 2 ? (s64)o[1].number : 0;
    if (n == 1 || o[1].atom == DW_OP_plus_uconst)
        return AT_CFA;
    return o[1].atom == DW_OP_breg6 ? AT_RBP : OTHER;
}

struct xp_rule oracle_rule(Dwarf_Frame *f)
{
    Dwarf_Op *o;
    size_t n;
    bool signal = false;
    s64 ra_off, rbp_off, rbx_off;
    if (dwarf_frame_info(f, NULL, NULL, &signal) < 0 || dwarf_frame_cfa(f, &o, &n))
        return only(XP_CFA_UNSUPPORTED);
    enum place ra = place_of(f, 16, &ra_off), rbp = place_of(f, 6, &rbp_off), rbx = place_of(f, 3, &rbx_off);
    if (ra == UNDEFINED)
        return only(XP_CFA_END);
    rbx = rbx == UNDEFINED ? SAME : rbx; /* libdw's answer for a register that no instruction names */
    struct xp_rule r = cfa_rule(o, n, signal);
    bool same = rbp == SAME && rbx == SAME;
    if (r.kind == XP_CFA_SIGNAL || r.kind == XP_CFA_UNSUPPORTED)
        return r;
    if (ra == IN_REGISTER && r.kind == XP_CFA_RSP && same)
        return (struct xp_rule){.kind = XP_CFA_RA_REG, .rbp_off = (s16)ra_off, .cfa_off = r.cfa_off};
    if (ra != AT_CFA || ra_off != -8)
        return only(XP_CFA_UNSUPPORTED);
    if ((rbp == AT_CFA || rbp == AT_RBP) && rbp_off == (s16)rbp_off) {
        r.kind = XP_RULE_KIND(r.kind, rbp == AT_CFA ? XP_RBP_CFA : XP_RBP_RBP);
        r.rbp_off = (s16)rbp_off;
    } else if (rbp != SAME) {
        r.kind = XP_RULE_KIND(r.kind, XP_RBP_LOST);
    }
    if (rbx != SAME)
        r.rbx = rbx == AT_CFA && rbx_off < 0 && rbx_off >= -8 * 254 && rbx_off % 8 == 0 ? (u8)(-rbx_off / 8) : 255;
    return r;
}

/* One comparison; returns the end of libdw's row (0: no frame there). */
static u64 compare_at(Dwarf_CFI *cfi, const struct elf_file *e, const struct xp_table *t, u64 vaddr,
                      struct oracle_count *count)
{
    const struct elf_segment *s = elf_segment_at(e, vaddr, PF_X);
    AUTO_FREE Dwarf_Frame *f = NULL;
    Dwarf_Addr end = 0;
    if (!s || dwarf_cfi_addrframe(cfi, vaddr, &f) || !f || dwarf_frame_info(f, NULL, &end, NULL) < 0)
        return 0;
    u64 offset = vaddr - s->vaddr + s->offset;
    struct xp_rule theirs = oracle_rule(f), ours = table_rule_at(t, offset);
    if (XP_RULE_CFA(ours.kind) == XP_CFA_RSP_LOOP || XP_RULE_CFA(ours.kind) == XP_CFA_RBP_LOOP)
        theirs.kind = loop_kind(theirs.kind);
    count->rows++;
    if (memcmp(&theirs, &ours, sizeof(ours)) && !count->differ++) {
        count->first = offset;
        count->ours = ours;
        count->theirs = theirs;
    }
    return end;
}

int oracle_compare(int fd, const struct elf_file *e, const struct xp_table *t, struct oracle_count *out)
{
    *out = (struct oracle_count){0};
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    Dwarf_CFI *cfi = elf ? dwarf_getcfi_elf(elf) : NULL;
    AUTO_CFI struct cfi ours = {0};
    if (!cfi || cfi_read(&ours, e, SIZE_MAX)) {
        elf_end(elf);
        return -EBADMSG;
    }
    for (size_t i = 0; i < ours.fdes.n; i++) { /* theirs: row by row through each function */
        const struct cfi_fde *f = &ours.fdes.v[i];
        const struct elf_segment *s = elf_segment_of(e, f->start, PF_X);
        u64 at = f->start - s->offset + s->vaddr, end = at + f->len;
        while (at && at < end) {
            u64 next = compare_at(cfi, e, t, at, out);
            at = next > at ? next : 0;
        }
    }
    for (u32 b = 0, i = 1; b < t->nblocks; b++) /* ours */
        for (; i < table_index(t)[b + 1]; i++) {
            u64 offset = t->lo + (u64)b * XP_BLOCK + (table_rows(t)[i] & 0xffff);
            const struct elf_segment *s = elf_segment_of(e, offset, PF_X);
            if (s && cfi_fde_at(&ours, offset))
                compare_at(cfi, e, t, offset - s->offset + s->vaddr, out);
        }
    dwarf_cfi_end(cfi);
    elf_end(elf);
    return 0;
}

static void agree(const char *pattern)
{
    glob_t g;
    AUTO_CLOSE int fd = -1;
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *t = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    struct oracle_count n;
    size_t len;
    if (glob(pattern, 0, NULL, &g))
        SKIP(pattern);
    fd = open(g.gl_pathv[0], O_RDONLY | O_CLOEXEC);
    globfree(&g);
    CHECK(fd >= 0);
    CHECK_EQ(elf_open(&e, fd), 0);
    CHECK_EQ(table_build(fd, &limits, &t, &len), 0);
    CHECK_EQ(table_check(t, len), 0);
    CHECK_EQ(t->bad_fdes, 0);
    CHECK_EQ(oracle_compare(fd, &e, t, &n), 0);
    CHECK(n.rows > 0);
    CHECK_EQ(t->flags & XP_TABLE_FP_OK, strstr(pattern, "node") ? XP_TABLE_FP_OK : 0);
    CHECK_EQ(t->flags & XP_TABLE_V8, strstr(pattern, "node") ? XP_TABLE_V8 : 0);
    if (n.differ)
        test_fail(__FILE__, __LINE__,
                  "%s: %zu of %zu rows differ, first at %#llx: kind %#x cfa %d rbp %d rbx %u, libdw "
                  "%#x %d %d %u",
                  pattern, n.differ, n.rows, (unsigned long long)n.first, n.ours.kind, n.ours.cfa_off, n.ours.rbp_off,
                  n.ours.rbx, n.theirs.kind, n.theirs.cfa_off, n.theirs.rbp_off, n.theirs.rbx);
}

#define AGREE(id, pattern)      \
    TEST(rows_equal_libdw_##id) \
    {                           \
        agree(pattern);         \
    }
AGREE(libc, "/lib/x86_64-linux-gnu/libc.so.6")
AGREE(ld_so, "/lib64/ld-linux-x86-64.so.2")
AGREE(libcrypto, "/usr/lib/x86_64-linux-gnu/libcrypto.so.3")
AGREE(libstdcxx, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6")
AGREE(git, "/usr/bin/git")
AGREE(gdb, "/usr/bin/gdb")
AGREE(python, "/usr/bin/python3.*[0-9]")
AGREE(node, "/usr/bin/node")
AGREE(cc1, "/usr/lib/gcc/x86_64-linux-gnu/*/cc1")
AGREE(libjvm, "/usr/lib/jvm/*/lib/server/libjvm.so")
