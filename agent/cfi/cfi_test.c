#include "cfi/cfi.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "cfi/fixture.h"
#include <errno.h>

struct expected {
    const char *at; /* a symbol of testdata/cfi.s */
    unsigned cfa;
    s32 cfa_off;
    unsigned rbp;
    s16 rbp_off;
    u8 rbx;
};

#define PACKED(off, plus) ((s32)((u32)(u16)(off) | (u32)(plus) << 16))

static const struct expected rules[] = {
    {"first", XP_CFA_RSP, 8, 0, 0, 0},
    {"first_pushed", XP_CFA_RSP, 16, XP_RBP_CFA, -16, 0},
    {"first_framed", XP_CFA_RBP, 16, XP_RBP_CFA, -16, 0},
    {"first_rbx", XP_CFA_RBP, 16, XP_RBP_CFA, -16, 3},
    {"first_left", XP_CFA_RSP, 8, 0, 0, 0},
    {"drap", XP_CFA_RSP, 8, 0, 0, 0},
    {"drap_register", XP_CFA_REG, XP_REG_RULE(10, 0), 0, 0, 0},
    {"drap_register_rbp", XP_CFA_REG, XP_REG_RULE(10, 0), XP_RBP_RBP, 0, 0},
    {"drap_deref", XP_CFA_DEREF_RBP, PACKED(-8, 0), XP_RBP_RBP, 0, 0},
    {"deref_bare", XP_CFA_DEREF_RSP, PACKED(40, 0), 0, 0, 0},
    {"deref_plus", XP_CFA_DEREF_RSP, PACKED(120, 8), 0, 0, 0},
    {"remember_deep", XP_CFA_RSP, 80, 0, 0, 0},
    {"remember_back", XP_CFA_RSP, 8, 0, 0, 0},
    {"outermost", XP_CFA_END, 0, 0, 0, 0},
    {"sigreturn", XP_CFA_SIGNAL, 0, 0, 0, 0},
    {"vforks", XP_CFA_RSP, 8, 0, 0, 0},
    {"vforks_popped", XP_CFA_RA_REG, 0, 0, 5, 0},
    {"rbx_based", XP_CFA_RSP, 8, 0, 0, 0},
    {"rbx_based_cfa", XP_CFA_RBX, 32, 0, 0, 0},
    {"losses_rbp", XP_CFA_RSP, 8, XP_RBP_LOST, 0, 0},
    {"losses_rbx", XP_CFA_RSP, 8, 0, 0, XP_RBX_LOST},
    {"losses_far", XP_CFA_RSP, 8, XP_RBP_LOST, 0, 0},
    {"losses_ra", XP_CFA_UNSUPPORTED, 0, 0, 0, 0},
    {"strange_indexed", XP_CFA_INDEXED, XP_INDEX_RULE(9, 8, 0), 0, 0, 0},
    {"strange_indexed_plus", XP_CFA_INDEXED, XP_INDEX_RULE(13, -120, 40), 0, 0, 0},
    {"strange_expression", XP_CFA_UNSUPPORTED, 0, 0, 0, 0},
    {"strange_back", XP_CFA_RSP, 24, 0, 0, 0},
    {"spelled_literal", XP_CFA_DEREF_RBP, PACKED(0, 16), 0, 0, 0},
    {"spelled_inside", XP_CFA_DEREF_RSP, PACKED(24, 0), 0, 0, 0},
    {"spelled_minus", XP_CFA_DEREF_RSP, PACKED(24, -8), 0, 0, 0},
    {"spelled_own_size", XP_CFA_RSP_DEREF, PACKED(0, 16), 0, 0, 0},
    {"spelled_register", XP_CFA_RBP, 144, 0, 0, 0},
    {"spelled_shift", XP_CFA_INDEXED, XP_INDEX_RULE(9, 8, 0), 0, 0, 0},
    {"spelled_twice", XP_CFA_UNSUPPORTED, 0, 0, 0, 0},
    {"spelled_nothing", XP_CFA_UNSUPPORTED, 0, 0, 0, 0},
    {"half_expression", XP_CFA_DEREF_RSP, PACKED(40, 0), 0, 0, 0},
    {"half_register", XP_CFA_RSP, 56, 0, 0, 0},
    {"half_offset", XP_CFA_DEREF_RSP, PACKED(40, 0), 0, 0, 0},
    {"half_both", XP_CFA_RSP, 48, 0, 0, 0},
    {"op_def_cfa_sf", XP_CFA_RSP, 16, 0, 0, 0},
    {"op_offset_sf", XP_CFA_RSP, 24, 0, 0, 0},
    {"op_extended", XP_CFA_RSP, 24, XP_RBP_CFA, -16, 0},
    {"op_extended_sf", XP_CFA_RSP, 24, XP_RBP_CFA, -24, 0},
    {"op_negative", XP_CFA_RSP, 24, XP_RBP_CFA, 32, 0},
    {"op_val", XP_CFA_RSP, 24, XP_RBP_CFA, 32, XP_RBX_LOST},
    {"far", XP_CFA_RSP, 8, 0, 0, 0},
    {"far_two", XP_CFA_RSP, 16, 0, 0, 0},
    {"far_four", XP_CFA_RSP, 24, 0, 0, 0},
    {"intact_after", XP_CFA_RSP, 16, 0, 0, 0},
    {"padded", XP_CFA_RSP, 8, 0, 0, 0},
    {"gap", XP_CFA_NONE, 0, 0, 0, 0},
    {"last", XP_CFA_RSP, 8, 0, 0, 0},
    {"behind", XP_CFA_NONE, 0, 0, 0, 0},
};

/* Looks rules up in the table of `name` where `symbols` (the same code, with symbols) says; `moved` is added. */
static void check_rules(const char *name, const char *symbols)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *t = fixture_table(name);
    CHECK_EQ(fixture_elf(symbols, &e), 0);
    CHECK(t);
    CHECK_EQ(t->bad_fdes, 0);
    CHECK_EQ(t->flags, 0);
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        const struct expected *x = &rules[i];
        u64 at = fixture_symbol(&e, x->at);
        CHECK(at != ~0ull);
        struct xp_rule r = table_rule_at(t, at);
        if (r.kind != XP_RULE_KIND(x->cfa, x->rbp) || r.cfa_off != x->cfa_off || r.rbp_off != x->rbp_off ||
            r.rbx != x->rbx)
            test_fail(__FILE__, __LINE__, "%s: %s: kind %#x cfa %d rbp %d rbx %u", name, x->at, r.kind, r.cfa_off,
                      r.rbp_off, r.rbx);
    }
}

TEST(cfi_rules_of_every_kind)
{
    check_rules("cfi.so", "cfi.so");
}

TEST(cfi_rules_with_addresses_far_from_offsets)
{
    check_rules("moved", "moved");
}

TEST(cfi_rules_without_section_headers)
{
    check_rules("bare-cfi.so", "cfi.so");
}

TEST(cfi_a_malformed_fde_costs_itself_only)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *t = fixture_table("bad.so");
    CHECK_EQ(fixture_elf("bad.so", &e), 0);
    CHECK(t);
    CHECK_EQ(t->bad_fdes, 2);
    CHECK_EQ(table_rule_at(t, fixture_symbol(&e, "good_after")).cfa_off, 16);
    CHECK_EQ(table_rule_at(t, fixture_symbol(&e, "malformed")).kind, XP_CFA_UNSUPPORTED);
    CHECK_EQ(table_rule_at(t, fixture_symbol(&e, "malformed_before")).kind, XP_CFA_UNSUPPORTED);
    CHECK_EQ(table_rule_at(t, fixture_symbol(&e, "underflow")).kind, XP_CFA_UNSUPPORTED);
    CHECK_EQ(table_rule_at(t, fixture_symbol(&e, "intact")).cfa_off, 8);
    CHECK_EQ(table_rule_at(t, fixture_symbol(&e, "intact_after")).cfa_off, 16);
}

static void check_debug_frame(const char *name)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *t = fixture_table(name);
    if (!t)
        SKIP("the linker cannot compress like this");
    CHECK_EQ(fixture_elf(name, &e), 0);
    u64 at = fixture_symbol(&e, "debugged");
    CHECK_EQ(table_rule_at(t, at).cfa_off, 8);
    CHECK_EQ(table_rule_at(t, at + 1).cfa_off, 16);
    CHECK_EQ(table_rule_at(t, at + 1).rbp_off, -16);
    CHECK_EQ(table_rule_at(t, at + 101).cfa_off, 16 + 100 * 8);
    CHECK_EQ(table_rule_at(t, at + 1000).kind, XP_CFA_NONE);
}

TEST(cfi_debug_frame)
{
    check_debug_frame("cfi-debug.so");
}
TEST(cfi_debug_frame_zlib)
{
    check_debug_frame("cfi-debug-zlib.so");
}
TEST(cfi_debug_frame_zstd)
{
    check_debug_frame("cfi-debug-zstd.so");
}

TEST(cfi_plt_of_a_linked_program)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *t = fixture_table("plt");
    struct elf_section plt;
    CHECK_EQ(fixture_elf("plt", &e), 0);
    CHECK(t);
    CHECK(elf_section(&e, ".plt", &plt));
    CHECK(plt.len >= 32);
    struct xp_rule r = table_rule_at(t, (u64)(plt.data - e.map) + 16);
    CHECK_EQ(r.kind, XP_CFA_PLT);
    CHECK_EQ(r.cfa_off, 11);
}

/* A section in memory: pieces of .debug_frame, as hostile as one likes, over 256 bytes of code at 0x1000. */
static int run_debug_frame(const u8 *bytes, size_t len, struct cfi *c, struct elf_file *e, struct elf_segment *code)
{
    *code = (struct elf_segment){.offset = 0, .vaddr = 0x1000, .filesz = 256, .flags = PF_X};
    *e = (struct elf_file){.loads = code, .nloads = 1};
    *c = (struct cfi){.elf = e, .nsections = 1};
    c->section[0] = (struct cfi_section){.data = bytes, .len = len, .debug = true};
    return cfi_list(c, 1000);
}

#define CIE(version, ...) /* 16 bytes behind the length: id, version, body */ \
    15 + 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, version, __VA_ARGS__
#define FDE(start, len, ...) \
    24, 0, 0, 0, 0, 0, 0, 0, start, 0x10, 0, 0, 0, 0, 0, 0, len, 0, 0, 0, 0, 0, 0, 0, __VA_ARGS__

TEST(cfi_cie_versions)
{
    static const u8 v1[] = {CIE(1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0), FDE(0, 16, 0x41, 0x0e, 16, 0)};
    static const u8 v3[] = {CIE(3, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0), FDE(0, 16, 0x41, 0x0e, 16, 0)};
    static const u8 v4[] = {CIE(4, 0, 8, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1), FDE(0, 16, 0x41, 0x0e, 16, 0)};
    static const u8 v2[] = {CIE(2, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0), FDE(0, 16, 0x41, 0x0e, 16, 0)};
    static const u8 other_ra[] = {CIE(1, 0, 1, 0x78, 15, 0x0c, 7, 8, 0x90, 1, 0, 0), FDE(0, 16, 0x41, 0x0e, 16, 0)};
    const u8 *all[] = {v1, v3, v4, v2, other_ra};
    for (size_t i = 0; i < 5; i++) {
        AUTO_CFI struct cfi c = {0};
        struct elf_file e;
        struct elf_segment code;
        CHECK_EQ(run_debug_frame(all[i], sizeof(v1), &c, &e, &code), 0);
        CHECK_EQ(c.fdes.n, i < 3 ? 1 : 0);
        CHECK_EQ(c.bad, i < 3 ? 0 : 1);
    }
}

/* Sections over the same code, with their address known: .eh_frame in the encodings that linkers do not write. */
static int run_eh_frame(const u8 *bytes, size_t len, u64 vaddr, struct cfi *c, struct elf_file *e,
                        struct elf_segment *code)
{
    int err = run_debug_frame(bytes, 0, c, e, code);
    c->section[0] = (struct cfi_section){.data = bytes, .len = len, .vaddr = vaddr};
    return err ? err : cfi_list(c, 1000);
}

TEST(cfi_pointer_encodings)
{
    static const struct {
        u8 encoding, len, bytes[24];
        bool good;
    } cases[] = {
        {0x00, 16, {0x10, 0x10, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0}, true}, /* absptr */
        {0x02, 4, {0x10, 0x10, 0x20, 0}, true},                                      /* udata2 */
        {0x0a, 4, {0x10, 0x10, 0x20, 0}, true},                                      /* sdata2 */
        {0x03, 8, {0x10, 0x10, 0, 0, 0x20, 0, 0, 0}, true},                          /* udata4 */
        {0x01, 3, {0x90, 0x20, 0x20}, true},                                         /* uleb128 */
        {0x09, 3, {0x90, 0x20, 0x20}, true},                                         /* sleb128 */
        {0x1b, 8, {0xf6, 0xef, 0xff, 0xff, 0x20, 0, 0, 0}, true},                    /* pcrel sdata4, from 0x201a */
        {0x1c, 16, {0xf6, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x20, 0, 0, 0, 0, 0, 0, 0}, true},
        {0x50, 22, {0, 0, 0, 0, 0, 0, 0x10, 0x10, 0, 0, 0, 0, 0, 0, 0x20}, true}, /* aligned: to 0x2020 */
        {0x3b, 8, {0x10, 0x10, 0, 0, 0x20, 0, 0, 0}, false},                      /* datarel: to what? */
        {0x80, 16, {0x10, 0x10, 0, 0, 0, 0, 0, 0, 0x20}, false},                  /* indirect */
        {0xff, 16, {0}, false},                                                   /* omit */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static const u8 head[] = {14, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0};
        u8 bytes[64];
        memcpy(bytes, head, sizeof(head));
        bytes[16] = cases[i].encoding;
        u8 *fde = bytes + sizeof(head); /* 18 bytes: the FDE's pointer is at 0x2000 + 26 */
        memcpy(fde, (u8[]){(u8)(4 + cases[i].len + 1), 0, 0, 0, 22, 0, 0, 0}, 8);
        memcpy(fde + 8, cases[i].bytes, cases[i].len);
        fde[8 + cases[i].len] = 0; /* no augmentation data */
        AUTO_CFI struct cfi c = {0};
        struct elf_file e;
        struct elf_segment code;
        CHECK_EQ(run_eh_frame(bytes, sizeof(head) + 8 + cases[i].len + 1, 0x2000, &c, &e, &code), 0);
        CHECK_EQ(c.fdes.n, cases[i].good);
        CHECK_EQ(c.bad, !cases[i].good);
        if (cases[i].good) {
            CHECK_EQ(c.fdes.v[0].start, 0x10);
            CHECK_EQ(c.fdes.v[0].len, 0x20);
        }
    }
}

TEST(cfi_dwarf_of_64_bits)
{
    static const u8 bytes[] = {0xff, 0xff, 0xff, 0xff, 20, 0, 0, 0, 0,    0,  0,    0, 0xff, 0xff, 0xff, 0xff, 0xff,
                               0xff, 0xff, 0xff, 4,    0,  8, 0, 1, 0x78, 16, 0x0c, 7, 8,    0,    0,    0xff, 0xff,
                               0xff, 0xff, 24,   0,    0,  0, 0, 0, 0,    0,  0,    0, 0,    0,    0,    0,    0,
                               0,    0x40, 0x10, 0,    0,  0, 0, 0, 0,    8,  0,    0, 0,    0,    0,    0,    0};
    AUTO_CFI struct cfi c = {0};
    struct elf_file e;
    struct elf_segment code;
    CHECK_EQ(run_debug_frame(bytes, sizeof(bytes), &c, &e, &code), 0);
    CHECK_EQ(c.bad, 0);
    CHECK_EQ(c.fdes.n, 1);
    CHECK_EQ(c.fdes.v[0].start, 0x40);
}

TEST(cfi_overlaps_have_one_answer)
{
    static const u8 bytes[] = {CIE(1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0), FDE(0x20, 16, 0, 0, 0, 0),
                               FDE(0, 0x40, 1, 0, 0, 0), FDE(0x20, 8, 2, 0, 0, 0), FDE(0xf0, 0xff, 0, 0, 0, 0)};
    AUTO_CFI struct cfi c = {0};
    struct elf_file e;
    struct elf_segment code;
    CHECK_EQ(run_debug_frame(bytes, sizeof(bytes), &c, &e, &code), 0);
    CHECK_EQ(c.fdes.n, 3);
    CHECK_EQ(c.fdes.v[0].start, 0);
    CHECK_EQ(c.fdes.v[0].len, 0x20); /* the later start wins */
    CHECK_EQ(c.fdes.v[1].len, 16);   /* of two with one start, the first */
    CHECK_EQ(c.fdes.v[2].start, 0xf0);
    CHECK_EQ(c.fdes.v[2].len, 16); /* cut at the end of the segment */
    CHECK(!cfi_fde_at(&c, 0x30));
    CHECK(cfi_fde_at(&c, 0x2f) == &c.fdes.v[1]);
    CHECK(!cfi_fde_at(&c, 0x100));
}

TEST(cfi_lists_no_more_than_it_is_told)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_CFI struct cfi few = {0}, all = {0}, same = {0};
    CHECK_EQ(fixture_elf("cfi.so", &e), 0);
    CHECK_EQ(cfi_read(&all, &e, 1000), 0);
    CHECK(all.fdes.n > 2);
    CHECK_EQ(cfi_read(&same, &e, all.fdes.n), 0);
    CHECK_EQ(cfi_read(&few, &e, all.fdes.n - 1), -ENOSPC);
    CHECK(!few.elf && !few.fdes.n);
}

TEST(cfi_cut_anywhere_is_harmless)
{
    static const u8 bytes[] = {CIE(4, 0, 8, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1), FDE(0, 16, 0x41, 0x0e, 16, 0)};
    for (size_t len = 0; len < sizeof(bytes); len++) {
        AUTO_FREE u8 *copy = malloc(len + 1); /* exactly sized: a read too far is seen */
        copy = realloc(copy, len ? len : 1);
        memcpy(copy, bytes, len);
        AUTO_CFI struct cfi c = {0};
        struct elf_file e;
        struct elf_segment code;
        CHECK_EQ(run_debug_frame(copy, len, &c, &e, &code), 0);
        CHECK_EQ(c.fdes.n, 0);
    }
}
