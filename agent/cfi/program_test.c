/* Programs and lists of FDEs in memory: what is cut, what is nested too deeply, what of two sections counts; and tables
 * of them with code that is known from elsewhere. */
#include "base/cleanup.h"
#include "base/test.h"
#include "cfi/rows.h"
#include "cfi/state.h"
#include "cfi/table_elf.h"
#include <errno.h>

#define CODE 0x1000 /* address of 256 bytes of code, which begin the file */

struct world {
    struct elf_segment segment;
    struct elf_file elf;
    u8 bytes[512]; /* of .debug_frame */
    size_t len;
};

static void put(struct world *w, const void *p, size_t n)
{
    memcpy(w->bytes + w->len, p, n);
    w->len += n;
}

/* CFA = rsp + 8, return address at CFA - 8. */
static void start(struct world *w)
{
    static const u8 cie[] = {16, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0};
    *w = (struct world){.segment = {.vaddr = CODE, .filesz = 256, .flags = PF_X}};
    w->elf = (struct elf_file){.loads = &w->segment, .nloads = 1};
    put(w, cie, sizeof(cie));
}

static void add_fde(struct world *w, u64 at, u64 len, const u8 *ops, size_t n)
{
    const u32 head[2] = {(u32)(20 + n), 0};
    const u64 range[2] = {CODE + at, len};
    put(w, head, sizeof(head));
    put(w, range, sizeof(range));
    if (n)
        put(w, ops, n);
}

static int list(struct world *w, struct cfi *c)
{
    *c = (struct cfi){.elf = &w->elf, .nsections = 1};
    c->section[0] = (struct cfi_section){.data = w->bytes, .len = w->len, .debug = true};
    return cfi_list(c, 100);
}

/* The result of a program of an FDE of 16 bytes; `last`: the CFA's offset from rsp at its end, and where that begins.
 */
static int run(const u8 *ops, size_t n, s32 *last, u32 *from)
{
    u32 index[2], out[256];
    AUTO_CFI struct cfi c = {0};
    struct world w;
    struct rows rows;
    start(&w);
    add_fde(&w, 0, 16, ops, n);
    if (list(&w, &c) || c.fdes.n != 1 || rows_init(&rows, 0, 1, index, out, 256, 100))
        return 1;
    int err = cfi_run(&c, &c.fdes.v[0], &rows);
    struct xp_rule r = {0};
    memcpy(&r, &rows.rules[out[rows.n - 1] >> 16], sizeof(r));
    *last = r.cfa_off;
    *from = out[rows.n - 1] & 0xffff;
    rows_free(&rows);
    return err;
}

TEST(cfi_programs_that_are_cut)
{
    static const struct {
        u8 len, ops[4];
    } cases[] = {
        {1, {0x80}},          {1, {0x01}},    {1, {0x02}},    {1, {0x03}},       {2, {0x03, 1}}, {1, {0x04}},
        {4, {0x04, 1, 0, 0}}, {1, {0x1d}},    {1, {0x05}},    {2, {0x05, 3}},    {1, {0x06}},    {1, {0x07}},
        {1, {0x08}},          {1, {0x09}},    {2, {0x09, 3}}, {1, {0x0c}},       {2, {0x0c, 7}}, {1, {0x0d}},
        {1, {0x0e}},          {1, {0x0f}},    {2, {0x0f, 1}}, {1, {0x10}},       {2, {0x10, 3}}, {3, {0x10, 3, 1}},
        {1, {0x11}},          {2, {0x11, 3}}, {1, {0x12}},    {2, {0x12, 7}},    {1, {0x13}},    {1, {0x14}},
        {2, {0x14, 3}},       {1, {0x15}},    {2, {0x15, 3}}, {1, {0x16}},       {2, {0x16, 3}}, {3, {0x16, 3, 1}},
        {1, {0x2e}},          {1, {0x2f}},    {2, {0x2f, 3}}, {2, {0x0e, 0x80}}, {1, {0x0b}},    {1, {0x3f}},
        {2, {0x80, 0x80}},    {1, {0x1c}},
    };
    s32 last;
    u32 from;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        if (run(cases[i].ops, cases[i].len, &last, &from) != -EBADMSG)
            test_fail(__FILE__, __LINE__, "%#x of %u bytes", cases[i].ops[0], cases[i].len);
}

TEST(cfi_programs_that_are_whole)
{
    static const struct {
        u8 len, ops[12];
        u32 from;
        s32 last;
    } cases[] = {
        {0, {0}, 0, 8},
        {3, {0x44, 0x0e, 16}, 4, 16},
        {4, {0x02, 5, 0x0e, 16}, 5, 16},
        {5, {0x03, 6, 0, 0x0e, 16}, 6, 16},
        {7, {0x04, 7, 0, 0, 0, 0x0e, 16}, 7, 16},
        {11, {0x1d, 9, 0, 0, 0, 0, 0, 0, 0, 0x0e, 16}, 9, 16},
        {11, {0x01, 8, 0x10, 0, 0, 0, 0, 0, 0, 0x0e, 16}, 8, 16}, /* set_loc */
        {3, {0x4f, 0x0e, 16}, 15, 16},
        {3, {0x50, 0x0e, 16}, 0, 8}, /* behind its end */
        {6, {0x0a, 0x0e, 16, 0x41, 0x0b, 0x42}, 1, 8},
        {3, {0x41, 0x13, 0x7e}, 1, 16}, /* times -8 */
        {2, {0x2e, 16}, 0, 8},
        {1, {0x2d}, 0, 8},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        s32 last = 0;
        u32 from = 99;
        CHECK_EQ(run(cases[i].ops, cases[i].len, &last, &from), 0);
        if (last != cases[i].last || from != cases[i].from)
            test_fail(__FILE__, __LINE__, "case %zu: %d from %u", i, last, from);
    }
    static const u8 back[] = {0x48, 0x01, 4, 0x10, 0, 0, 0, 0, 0, 0};
    s32 last;
    u32 from;
    CHECK_EQ(run(back, sizeof(back), &last, &from), -EBADMSG);
}

TEST(cfi_states_are_remembered_to_a_depth)
{
    u8 ops[CFI_MAX_REMEMBER + 1];
    s32 last;
    u32 from;
    memset(ops, 0x0a, sizeof(ops));
    CHECK_EQ(run(ops, CFI_MAX_REMEMBER, &last, &from), 0);
    CHECK_EQ(run(ops, CFI_MAX_REMEMBER + 1, &last, &from), -EBADMSG);
}

/* .debug_frame adds only what .eh_frame leaves out, wherever it begins. */
TEST(cfi_of_two_sections_the_first_counts)
{
    static const u8 eh[] = {12,   0,    0, 0, 0,  0, 0, 0, 1,    0, 1, 0x78, 16, 0, 0, 0, /* CIE; then the FDE */
                            20,   0,    0, 0, 20, 0, 0, 0,                                /* of [0x20, 0x40) */
                            0x20, 0x10, 0, 0, 0,  0, 0, 0, 0x20, 0, 0, 0,    0,  0, 0, 0};
    AUTO_CFI struct cfi c = {0};
    struct world w;
    start(&w);
    add_fde(&w, 0x10, 0x20, NULL, 0); /* up to where the other begins */
    add_fde(&w, 0x30, 0x20, NULL, 0);
    add_fde(&w, 0x40, 0x10, NULL, 0);
    c = (struct cfi){.elf = &w.elf, .nsections = 2};
    c.section[0] = (struct cfi_section){.data = eh, .len = sizeof(eh)};
    c.section[1] = (struct cfi_section){.data = w.bytes, .len = w.len, .debug = true};
    CHECK_EQ(cfi_list(&c, 100), 0);
    CHECK_EQ(c.fdes.n, 3);
    CHECK(c.fdes.v[0].start == 0x10 && c.fdes.v[0].len == 0x10);
    CHECK(c.fdes.v[1].start == 0x20 && c.fdes.v[1].len == 0x20);
    CHECK(c.fdes.v[2].start == 0x40 && c.fdes.v[2].len == 0x10);
    cfi_free(&c);
    CHECK(!c.elf && !c.nsections && !c.fdes.n && !c.cies.n);
}

/* The search table's header says where .eh_frame is, if it can be read. */
TEST(cfi_is_found_by_its_header)
{
    struct file {
        Elf64_Ehdr h;
        Elf64_Phdr p[2];
        u8 hdr[8], eh_frame[8];
    } f = {.h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                 .e_type = ET_DYN,
                 .e_machine = EM_X86_64,
                 .e_phoff = offsetof(struct file, p),
                 .e_phnum = 2,
                 .e_phentsize = sizeof(Elf64_Phdr)},
           .p = {{.p_type = PT_LOAD, .p_vaddr = CODE, .p_filesz = sizeof(f)},
                 {.p_type = PT_GNU_EH_FRAME, .p_vaddr = CODE + offsetof(struct file, hdr)}},
           .hdr = {1, 0x1b, 0, 0, 4}};
    static const struct {
        size_t at;
        u8 value;
        unsigned sections;
    } cases[] = {{offsetof(struct file, hdr), 1, 1},         {offsetof(struct file, hdr), 2, 0},
                 {offsetof(struct file, hdr) + 1, 0xff, 0},  {offsetof(struct file, hdr) + 7, 0x7f, 0},
                 {offsetof(struct file, p) + 56 + 18, 1, 0}, {offsetof(struct file, p) + 56, 1, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        AUTO_ELF struct elf_file e = {0};
        AUTO_CFI struct cfi c = {0};
        struct file changed = f;
        ((u8 *)&changed)[cases[i].at] = cases[i].value;
        CHECK_EQ(elf_open_memory(&e, &changed, sizeof(changed)), 0);
        cfi_find(&c, &e);
        CHECK_EQ(c.nsections, cases[i].sections);
        CHECK(!c.nsections || (c.section[0].data == changed.eh_frame && c.section[0].len == sizeof(f.eh_frame)));
        CHECK(!c.nsections ||
              (c.section[0].open_ended && c.section[0].vaddr == CODE + offsetof(struct file, eh_frame)));
    }
}

static u64 word(s32 off)
{
    return rule_word((struct xp_rule){.kind = XP_CFA_RSP, .cfa_off = off});
}

/* The table of an FDE at [0, 0x10), one from `second` on, and known code in between. */
static int make(u64 second, struct gap_code known, const struct table_code *code, const struct table_limits *limits,
                struct xp_table **out)
{
    AUTO_INPUT struct table_input in = {.code = code};
    struct world w;
    size_t len;
    start(&w);
    add_fde(&w, 0, 16, NULL, 0);
    add_fde(&w, second, 16, NULL, 0);
    in.cfi = (struct cfi){.elf = &w.elf, .nsections = 1};
    in.cfi.section[0] = (struct cfi_section){.data = w.bytes, .len = w.len, .debug = true};
    in.known.n = known.n > 0;
    in.known.v[0] = known;
    int err = table_make(&in, NULL, 0, limits, out, &len);
    return err ? err : table_check(*out, len);
}

/* "8 . 24 . 8": the CFA's offsets from rsp where they change, "." for nothing known. */
static const char *rules_of(const struct xp_table *t)
{
    static char text[128];
    size_t n = 0;
    struct xp_rule last = {.kind = 77};
    for (u64 at = 0; at < 256; at++) {
        struct xp_rule r = table_rule_at(t, at);
        if (memcmp(&r, &last, sizeof(r)) != 0)
            n += (size_t)(r.kind ? snprintf(text + n, sizeof(text) - n, "%llx:%d ", (unsigned long long)at, r.cfa_off)
                                 : snprintf(text + n, sizeof(text) - n, "%llx:. ", (unsigned long long)at));
        last = r;
    }
    return text;
}

TEST(table_known_code_lies_in_gaps)
{
    static const struct {
        u64 second;
        struct gap_code known;
        const char *says;
    } cases[] = {
        {0xc0, {0}, "0:8 10:. c0:8 d0:. "},
        {0x40, {0}, "0:8 50:. "}, /* padding: as what is before */
        {0x50, {0}, "0:8 60:. "},
        {0x51, {0}, "0:8 10:. 51:8 61:. "},
        {0xc0, {0x60, 0x70, 1, {{0x60, 0}}}, "0:8 10:. 60:24 70:. c0:8 d0:. "},
        {0xc0, {0x10, 0x20, 1, {{0x10, 0}}}, "0:8 10:24 20:. c0:8 d0:. "},
        {0xc0, {0xb0, 0xd0, 1, {{0xb0, 0}}}, "0:8 10:. b0:24 c0:8 d0:. "}, /* an FDE that covers some of it wins */
        {0xc0, {0x08, 0x18, 1, {{0x08, 0}}}, "0:8 10:. c0:8 d0:. "},
        {0x40, {0x20, 0x28, 1, {{0x20, 0}}}, "0:8 20:24 28:. 40:8 50:. "},
        {0xc0, {0x60, 0x70, 2, {{0x60, 0}, {0x68, 0}}}, "0:8 10:. 60:24 68:32 70:. c0:8 d0:. "},
        {0x40, {0x38, 0x60, 2, {{0x38, 0}, {0x40, 0}}}, "0:8 38:24 40:8 50:. "},
        {0xc0, {0xe0, 0xf0, 1, {{0xe0, 0}}}, "0:8 10:. c0:8 d0:. e0:24 f0:. "},
    };
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        AUTO_FREE struct xp_table *t = NULL;
        struct gap_code known = cases[i].known;
        known.row[0].word = word(24);
        known.row[1].word = word(32);
        CHECK_EQ(make(cases[i].second, known, NULL, &limits, &t), 0);
        CHECK_STR(rules_of(t), cases[i].says);
        CHECK_EQ(t->source_rows[XP_SOURCE_DEBUG_FRAME],
                 2 - (cases[i].second == 0x40 && !known.n) - (cases[i].second == 0x50 && !known.n));
    }
}

TEST(table_rows_from_elsewhere_are_bounded)
{
    struct table_row rows[10];
    struct table_code code = {.start = 0x20, .end = 0x30, .rows = rows, .n = 10, .source = XP_SOURCE_GO};
    AUTO_FREE struct xp_table *t = NULL, *none = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    for (u64 i = 0; i < 10; i++)
        rows[i] = (struct table_row){0x20 + i, word((s32)(100 + i))};
    CHECK_EQ(make(0xc0, (struct gap_code){0}, &code, &limits, &t), 0);
    CHECK_STR(rules_of(t),
              "0:8 20:100 21:101 22:102 23:103 24:104 25:105 26:106 27:107 28:108 29:109 30:. c0:8 "
              "d0:. ");
    limits.max_rows = 42; /* enough for FDEs */
    CHECK_EQ(make(0xc0, (struct gap_code){0}, &code, &limits, &none), -ENOSPC);
    CHECK(!none);
}
