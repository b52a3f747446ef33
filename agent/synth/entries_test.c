/* What says that a function begins at a place: whatever does not is told from what does by its rows, which are then
 * inferred from where the function ends. */
#include "base/cleanup.h"
#include "base/test.h"
#include "synth/crafted.h"
#include <stdlib.h>

#define BASE     0x1000 /* of the code, in the file and in memory */
#define F        0x40   /* in the code: push rbx; nop; pop rbx; ret */
#define DATA     0x2000 /* of the data, the same */
#define SIZE     0x3000u
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { DYNAMIC = 0x2800, TABLE = 0x2900 };

struct file {
    _Alignas(8) u8 b[SIZE];
};

static void new_file(struct file *f, u16 type, u64 entry)
{
    const Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                          .e_type = type,
                          .e_machine = EM_X86_64,
                          .e_entry = entry,
                          .e_phoff = sizeof(h),
                          .e_phnum = 3,
                          .e_phentsize = sizeof(Elf64_Phdr)};
    const Elf64_Phdr p[3] = {
        {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = BASE, .p_vaddr = BASE, .p_filesz = 0x100},
        {.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_offset = DATA, .p_vaddr = DATA, .p_filesz = 0x1000},
        {.p_type = PT_DYNAMIC, .p_vaddr = DYNAMIC}};
    memset(f, 0, sizeof(*f));
    memcpy(f->b, &h, sizeof(h));
    memcpy(f->b + sizeof(h), p, sizeof(p));
    memset(f->b + BASE, 0xcc, 0x100);
    memcpy(f->b + BASE + F, "\x53\x90\x5b\xc3", 4);
}

/* Is F known to begin a function, when code up to `covered` has rows? */
static bool is_entry(const struct file *f, u64 covered)
{
    struct synth_limits limits = SYNTH_LIMITS_DEFAULT;
    const struct synth_span span = {BASE, BASE + covered};
    AUTO_ELF struct elf_file e = {0};
    AUTO_SYNTH struct synth s = {0};
    struct xp_rule rule = {0};
    limits.max_cpu_ms = 60000;
    if (elf_open_memory(&e, f->b, sizeof(f->b)) || synth_read(&e, &span, covered > 0, &limits, &s))
        return false;
    for (size_t i = 0; i < s.rows.n && s.rows.v[i].offset <= BASE + F + 1; i++)
        rule = s.rows.v[i].rule;
    return XP_RULE_CFA(rule.kind) == XP_CFA_RSP && rule.cfa_off == 16 && !(rule.rbx & XP_RBX_INFERRED);
}

/* "e8 @": bytes, where "@" is the distance to F from its end, and "#" is F's address, both of 4 bytes. */
static void put_code(struct file *f, const char *hex)
{
    u8 *to = f->b + BASE;
    for (char *end; *hex; hex = *end ? end + 1 : end) {
        end = (char *)hex + 1;
        if (*hex == '@' || *hex == '#') {
            u32 v = *hex == '#' ? BASE + F : (u32)(f->b + BASE + F - (to + 4));
            memcpy(to, &v, sizeof(v));
            to += sizeof(v);
        } else {
            *to++ = (u8)strtoul(hex, &end, 16);
        }
    }
}

struct row {
    const char *code;
    bool found;
};

TEST(entries_that_covered_code_refers_to)
{
    static const struct row rows[] = {
        {"e8 @ c3", true},
        {"90 90 e8 @", true},
        {"e9 @", true},
        {"0f 84 @ c3", true},
        {"0f 8f @ c3", true},
        {"48 8d 05 @ c3", true},
        {"4c 8d 3d @ c3", true},
        {"74 3e c3", false}, /* of one byte only: does not leave a function */
        {"48 8d 80 @ c3", false},
        {"48 8b 05 @ c3", false},
        {"b8 # c3", false},
        {"b8 e8 90 90 90 c3", false},
        {"48 b8 e8 @ 90 90 90 c3", false}, /* in the middle of a number */
        {"c3", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct file f;
        new_file(&f, ET_DYN, 0);
        put_code(&f, rows[i].code);
        if (is_entry(&f, 0x20) != rows[i].found)
            test_fail(__FILE__, __LINE__, "%s", rows[i].code);
    }
}

/* The first argument of the first call is main, or of the first one in what is called or jumped to first. */
TEST(entries_main_is_an_argument)
{
    static const struct row rows[] = {
        {"31 ed 48 8d 3d @ ff d0 f4", true},
        {"31 ed 48 8d 3d @ ff e0", true},
        {"48 31 ed 48 8d 3d @ ff d0 f4", true},
        {"f3 0f 1e fa 31 ed 48 8d 3d @ ff d0 f4", true},
        {"31 ed bf # ff d0 f4", true},
        {"31 ed 48 c7 c7 # ff d0 f4", true},
        {"33 ed 48 8d 3d @ ff d0 f4", false},
        {"f3 0f 1e fb 31 ed 48 8d 3d @ ff d0 f4", false},
        {"31 ed 48 8d 3d @ 48 89 f7 ff d0 f4", false}, /* it is another then */
        {"31 ed 48 8d 35 @ ff d0 f4", false},          /* the second argument */
        {"31 ed 8d 3d @ ff d0 f4", false},
        {"31 ed 48 8d bf @ ff d0 f4", false},
        {"31 ed 48 8d 3d @ c3 ff d0", false},
        {"31 ed 48 8d 3d @ cc ff d0", false},
        {"31 ed 48 8d 3d @ 74 00 ff d0", false},
        {"31 ed e8 01 00 00 00 f4 48 8d 3d @ ff d0 f4", true},
        {"31 ed eb 01 f4 48 8d 3d @ ff d0 f4", true},
        {"31 ed e8 01 00 00 00 f4 e8 01 00 00 00 f4 48 8d 3d @ ff d0 f4", false}, /* too far */
        {"31 ed ff d0 48 8d 3d @ ff d0 f4", false},
        {"31 ed 06", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct file f;
        new_file(&f, ET_DYN, BASE);
        put_code(&f, rows[i].code);
        if (is_entry(&f, 0) != rows[i].found)
            test_fail(__FILE__, __LINE__, "%s", rows[i].code);
    }
}

static void put_u64(struct file *f, u64 at, u64 v)
{
    memcpy(f->b + at, &v, sizeof(v));
}

TEST(entries_that_relocations_point_to)
{
    static const struct {
        s64 tag, size_tag;
        u32 type;
        u64 size;
        bool found;
    } cases[] = {
        {DT_RELA, DT_RELASZ, R_X86_64_RELATIVE, 48, true},      {DT_RELA, DT_RELASZ, R_X86_64_IRELATIVE, 48, true},
        {DT_RELA, DT_RELASZ, R_X86_64_64, 48, false},           {DT_RELA, DT_RELASZ, R_X86_64_RELATIVE, 47, false},
        {DT_RELA, DT_RELASZ, R_X86_64_RELATIVE, 24, false},     {DT_RELA, DT_RELASZ, R_X86_64_RELATIVE, 1 << 20, true},
        {DT_JMPREL, DT_PLTRELSZ, R_X86_64_IRELATIVE, 48, true}, {DT_REL, DT_RELSZ, R_X86_64_RELATIVE, 48, false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct file f;
        const Elf64_Dyn d[] = {{cases[i].tag, {TABLE}}, {cases[i].size_tag, {cases[i].size}}, {DT_NULL, {0}}};
        const Elf64_Rela r[] = {{DATA, ELF64_R_INFO(0, cases[i].type), BASE + 0x80},
                                {DATA, ELF64_R_INFO(0, cases[i].type), BASE + F}};
        new_file(&f, ET_DYN, 0);
        memcpy(f.b + DYNAMIC, d, sizeof(d));
        memcpy(f.b + TABLE, r, sizeof(r));
        CHECK_EQ(is_entry(&f, 0), cases[i].found);
    }
}

/* gABI, "Relative Relocation Table": addresses, and bitmaps of the words behind them. */
TEST(entries_that_packed_relocations_point_to)
{
    static const struct {
        u64 words[3], n, place; /* of the word that points to F */
        bool found;
    } cases[] = {{{DATA}, 1, DATA, true},
                 {{DATA}, 1, DATA + 8, false},
                 {{DATA, 3}, 2, DATA + 8, true},
                 {{DATA, 3}, 2, DATA + 16, false},
                 {{DATA, 5}, 2, DATA + 16, true},
                 {{DATA, 5}, 2, DATA + 8, false},
                 {{DATA, 1ull << 63 | 1}, 2, DATA + 8 + 62 * 8, true},
                 {{DATA, 1, 3}, 3, DATA + 8 + 63 * 8, true},
                 {{DATA, DATA + 0x100, 3}, 3, DATA + 0x108, true},
                 {{DATA, DATA + 0x100, 3}, 3, DATA + 8, false},
                 {{DATA, 3}, 1, DATA + 8, false}, /* behind the table's end */
                 {{0x100000, 3}, 2, DATA, false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct file f;
        const Elf64_Dyn d[] = {{DT_RELR, {TABLE}}, {DT_RELRSZ, {8 * cases[i].n}}, {DT_NULL, {0}}, {DT_RELR, {0}}};
        new_file(&f, ET_DYN, 0);
        memcpy(f.b + DYNAMIC, d, sizeof(d));
        memcpy(f.b + TABLE, cases[i].words, sizeof(cases[i].words));
        put_u64(&f, cases[i].place, BASE + F);
        CHECK_EQ(is_entry(&f, 0), cases[i].found);
    }
}

/* Data of a program for a fixed address has addresses; others' has not. */
TEST(entries_that_data_points_to)
{
    static const struct {
        u16 type;
        u64 place;
        bool found;
    } cases[] = {{ET_EXEC, DATA, true},
                 {ET_EXEC, DATA + 0xff8, true},
                 {ET_EXEC, DATA + 4, false},
                 {ET_EXEC, BASE + 8, false},
                 {ET_DYN, DATA, false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct file f;
        new_file(&f, cases[i].type, 0);
        put_u64(&f, cases[i].place, BASE + F);
        CHECK_EQ(is_entry(&f, 0), cases[i].found);
    }
}

TEST(entries_where_the_program_begins)
{
    struct file f;
    new_file(&f, ET_DYN, BASE + F);
    CHECK(is_entry(&f, 0));
    new_file(&f, ET_DYN, BASE + F + 1);
    CHECK(!is_entry(&f, 0));
}
