#include "cfi/table.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/test.h"
#include "elf/dynamic.h"
#include "cfi/fixture.h"
#include "cfi/rows.h"
#include "base/siphash.h"
#include "cfi/table_elf.h"
#include <errno.h>
#include <sys/auxv.h>
#include <sys/mman.h>

static struct xp_table *build(const char *name, size_t *len)
{
    AUTO_CLOSE int fd = fixture_fd(name);
    struct xp_table *t = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    return table_build(fd, &limits, &t, len) ? NULL : t;
}

TEST(siphash_vectors)
{
    u8 key[16], out[16];
    for (u8 i = 0; i < 16; i++)
        key[i] = i;
    static const u8 empty[16] = {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6,
                                 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93};
    static const u8 zero[16] = {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44,
                                0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc, 0x45};
    struct siphash h;
    siphash_init(&h, key);
    siphash_end(&h, out);
    CHECK(!memcmp(out, empty, 16));
    siphash_init(&h, key);
    siphash_add(&h, "", 1);
    siphash_end(&h, out);
    CHECK(!memcmp(out, zero, 16));
}

TEST(siphash_does_not_care_about_pieces)
{
    u8 data[100], whole[16], pieces[16];
    for (u8 i = 0; i < sizeof(data); i++)
        data[i] = i;
    struct siphash h;
    siphash_init(&h, data);
    siphash_add(&h, data, sizeof(data));
    siphash_end(&h, whole);
    for (size_t step = 1; step < 20; step++) {
        siphash_init(&h, data);
        for (size_t at = 0; at < sizeof(data); at += step)
            siphash_add(&h, data + at, at + step < sizeof(data) ? step : sizeof(data) - at);
        siphash_end(&h, pieces);
        CHECK(!memcmp(whole, pieces, 16));
    }
}

TEST(table_of_a_file_without_cfi_believes_frame_pointers)
{
    AUTO_FREE struct xp_table *t = fixture_table("bytes.so");
    CHECK(t);
    CHECK_EQ(t->nblocks, 0);
    CHECK_EQ(t->nrows, 1);
    CHECK_EQ(t->fdes, 0);
    CHECK_EQ(t->flags, XP_TABLE_FP_OK);
    CHECK_EQ(table_rule_at(t, 0x1000).kind, XP_CFA_NONE);
}

TEST(table_entry_point_is_outermost)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *t = fixture_table("start");
    CHECK_EQ(fixture_elf("start", &e), 0);
    CHECK(t);
    u64 start = fixture_symbol(&e, "_start"), after = fixture_symbol(&e, "after");
    CHECK_EQ(table_rule_at(t, start - 1).kind, XP_CFA_RSP); /* padding inherits */
    CHECK_EQ(table_rule_at(t, start).kind, XP_CFA_END);
    CHECK_EQ(table_rule_at(t, start + 7).kind, XP_CFA_END);
    CHECK_EQ(table_rule_at(t, after).kind, XP_CFA_RSP);
    AUTO_FREE struct xp_table *with_libc = fixture_table("static");
    if (!with_libc)
        SKIP("no static libc");
    AUTO_ELF struct elf_file s = {0};
    CHECK_EQ(fixture_elf("static", &s), 0);
    CHECK_EQ(table_rule_at(with_libc, fixture_symbol(&s, "_start") + 6).kind, XP_CFA_END);
}

TEST(table_of_the_vdso)
{
    const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *t = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    size_t len;
    if (!vdso)
        SKIP("no vdso");
    CHECK_EQ(elf_open_memory(&e, vdso, 4096), 0); /* one page of it is always there */
    elf_close(&e);
    const Elf64_Ehdr *h = vdso;
    CHECK_EQ(elf_open_memory(&e, vdso, h->e_shoff + (size_t)h->e_shnum * h->e_shentsize), 0);
    CHECK_EQ(table_build_elf(&e, NULL, &limits, &t, &len), 0);
    CHECK(t->fdes > 0);
    CHECK_EQ(t->bad_fdes, 0);
    CHECK(t->build_id_len == e.build_id_len && !memcmp(t->build_id, e.build_id, e.build_id_len));
    CHECK_EQ(t->source_rows[XP_SOURCE_KNOWN], elf_has_dynamic_symbol(&e, "__vdso_getrandom"));
}

TEST(table_limits_hold)
{
    AUTO_CLOSE int fd = fixture_fd("cfi.so");
    struct xp_table *t = NULL;
    size_t len = 1;
    CHECK_EQ(table_build(fd, &(struct table_limits){20, 65535}, &t, &len), -ENOSPC);
    CHECK_EQ(table_build(fd, &(struct table_limits){1 << 20, 3}, &t, &len), -ENOSPC);
    CHECK_EQ(table_build(fd, &(struct table_limits){0, 0}, &t, &len), -ENOSPC);
    CHECK(!t);
    CHECK_EQ(len, 1);
}

/* The rules of two tables of one file at every offset in [from, to): how many differ. */
static size_t differ(const struct xp_table *a, const struct xp_table *b, u64 from, u64 to)
{
    size_t n = 0;
    for (; from < to; from++) {
        struct xp_rule x = table_rule_at(a, from), y = table_rule_at(b, from);
        n += memcmp(&x, &y, sizeof(x)) != 0;
    }
    return n;
}

static u64 end_of(const struct xp_table *t)
{
    return t->lo + (u64)t->nblocks * XP_BLOCK;
}

TEST(table_takes_rows_that_others_found)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *plain = NULL, *both = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    size_t len;
    CHECK_EQ(fixture_elf("cfi.so", &e), 0);
    CHECK_EQ(table_build_elf(&e, NULL, &limits, &plain, &len), 0);
    u64 from = plain->lo + 21, to = end_of(plain) - 1; /* begins, wherever that is, in the middle of something */
    while (to > from && table_rule_at(plain, to - 1).kind == XP_CFA_NONE)
        to--;
    from += (to - from) / 3;
    to -= (to - from) / 3;
    struct table_row rows[] = {{from, rule_word((struct xp_rule){.kind = XP_CFA_RSP, .cfa_off = 4096})},
                               {from + 5, rule_word((struct xp_rule){.kind = XP_CFA_GO_LOST})}};
    struct table_code code = {.start = from, .end = to, .rows = rows, .n = 2, .bad = 3, .source = XP_SOURCE_GO};
    CHECK_EQ(table_build_elf(&e, &code, &limits, &both, &len), 0);
    CHECK_EQ(table_check(both, len), 0);
    CHECK_EQ(differ(plain, both, plain->lo, from), 0);
    CHECK_EQ(table_rule_at(both, from + 4).cfa_off, 4096);
    CHECK_EQ(table_rule_at(both, from + 5).kind, XP_CFA_GO_LOST);
    CHECK_EQ(table_rule_at(both, to - 1).kind, XP_CFA_GO_LOST);
    CHECK(table_rule_at(both, end_of(both) - 1).kind == XP_CFA_NONE);
    CHECK_EQ(both->source_rows[XP_SOURCE_GO], 2);
    CHECK_EQ(both->bad_fdes, plain->bad_fdes + 3);
    CHECK(both->source_rows[XP_SOURCE_EH_FRAME] && !plain->source_rows[XP_SOURCE_GO]);
    CHECK_STR(table_source_name(XP_SOURCE_GO), "gopclntab");
}

/* A rule that no CFI has. */
static u64 synthesised(s32 off)
{
    return rule_word((struct xp_rule){.kind = XP_CFA_RSP | XP_RULE_SYNTH, .cfa_off = off});
}

/* cfi.so with rows for all gaps of its code, large and small, and for some of what has FDEs. */
TEST(table_fills_gaps_and_nothing_else)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *plain = NULL, *filled = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    table_spans covered = {0};
    size_t len;
    CHECK_EQ(fixture_elf("cfi.so", &e), 0);
    CHECK_EQ(table_build_elf(&e, NULL, &limits, &plain, &len), 0);
    CHECK_EQ(table_covered(&e, NULL, &limits, &covered), 0);
    CHECK(covered.n > 2);
    u64 first = covered.v[0].start, last = covered.v[covered.n - 1].end, gaps = 0;
    struct table_row rows[] = {{first - 32, synthesised(1)},
                               {first - 16, synthesised(2)},
                               {last - 1, synthesised(3)},
                               {last + 40, synthesised(4)}};
    struct table_code all = {.start = first - 32, .end = last + 64, .rows = rows, .n = 4, .source = XP_SOURCE_SYNTH};
    CHECK_EQ(table_build_filled(&e, NULL, &all, 1, &limits, &filled, &len), 0);
    CHECK_EQ(table_check(filled, len), 0);
    CHECK_EQ(table_rule_at(filled, first - 33).kind, XP_CFA_NONE);
    CHECK_EQ(table_rule_at(filled, first - 17).cfa_off, 1);
    CHECK_EQ(table_rule_at(filled, first - 1).cfa_off, 2);
    for (size_t i = 0; i < covered.n; i++) {
        CHECK_EQ(differ(plain, filled, covered.v[i].start, covered.v[i].end), 0);
        u64 gap = covered.v[i].end;
        for (; i + 1 < covered.n && gap < covered.v[i + 1].start; gap++, gaps++)
            CHECK_EQ(table_rule_at(filled, gap).cfa_off, 2);
    }
    CHECK(gaps > 0);
    CHECK_EQ(table_rule_at(filled, last).cfa_off, 3);
    CHECK_EQ(table_rule_at(filled, last + 63).cfa_off, 4);
    CHECK_EQ(table_rule_at(filled, last + 64).kind, XP_CFA_NONE);
    CHECK(filled->source_rows[XP_SOURCE_SYNTH] >= 4 && !plain->source_rows[XP_SOURCE_SYNTH]);
    vec_free(&covered);
}

TEST(table_gaps_begin_and_end_where_they_are_filled)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *t = NULL, *none = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    size_t len;
    CHECK_EQ(fixture_elf("bytes.so", &e), 0);
    struct table_row rows[] = {{0x1000, synthesised(8)}, {0x1200, synthesised(16)}, {0x2000, synthesised(24)}};
    struct table_code gaps[] = {
        {.start = 0x1000, .end = 0x1300, .rows = rows, .n = 2, .source = XP_SOURCE_SYNTH},
        {.start = 0x2000, .end = 0x2001, .rows = rows + 2, .n = 1, .source = XP_SOURCE_SYNTH},
    };
    CHECK_EQ(table_build_filled(&e, NULL, gaps, 2, &limits, &t, &len), 0);
    CHECK_EQ(table_check(t, len), 0);
    CHECK_EQ(table_rule_at(t, 0x11ff).cfa_off, 8);
    CHECK_EQ(table_rule_at(t, 0x12ff).cfa_off, 16);
    CHECK_EQ(table_rule_at(t, 0x1300).kind, XP_CFA_NONE);
    CHECK_EQ(table_rule_at(t, 0x2000).cfa_off, 24);
    CHECK_EQ(table_rule_at(t, 0x2001).kind, XP_CFA_NONE);
    limits.max_rows = 40;
    CHECK_EQ(table_build_filled(&e, NULL, gaps, 2, &limits, &none, &len), -ENOSPC);
    CHECK(!none);
}

/* Known code and rows from elsewhere are covered, too; and what is covered has rows. */
TEST(table_covers_what_it_has_rows_for)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *t = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    table_spans covered = {0};
    size_t len;
    CHECK_EQ(fixture_elf("start", &e), 0);
    struct table_row row = {0x800, synthesised(8)};
    struct table_code code = {.start = 0x800, .end = 0x810, .rows = &row, .n = 1, .source = XP_SOURCE_GO};
    CHECK_EQ(table_covered(&e, &code, &limits, &covered), 0);
    CHECK_EQ(table_build_elf(&e, &code, &limits, &t, &len), 0);
    u64 end = 0;
    for (size_t i = 0; i < covered.n; i++) {
        CHECK(covered.v[i].start >= end && covered.v[i].start < covered.v[i].end);
        end = covered.v[i].end;
        CHECK(table_rule_at(t, covered.v[i].start).kind != XP_CFA_NONE);
        CHECK(table_rule_at(t, end - 1).kind != XP_CFA_NONE);
    }
    CHECK_EQ(covered.v[0].start, 0x800);
    CHECK_EQ(covered.v[0].end, 0x810);
    CHECK(t->source_rows[XP_SOURCE_KNOWN] && covered.n > 2); /* _start, which has no FDE */
    vec_free(&covered);
}

/* From the program's first instruction to the FDE behind it. */
TEST(table_covers_known_code)
{
    AUTO_ELF struct elf_file e = {0};
    struct table_limits limits = TABLE_LIMITS_DEFAULT, none = {1, 1};
    table_spans covered = {0}, few = {0};
    CHECK_EQ(fixture_elf("start", &e), 0);
    u64 start = fixture_symbol(&e, "_start"), after = fixture_symbol(&e, "after");
    int err = table_covered(&e, NULL, &limits, &covered);
    bool found = false;
    for (size_t i = 0; i < covered.n; i++)
        found |= covered.v[i].start == start && covered.v[i].end == after;
    vec_free(&covered);
    CHECK(!err && found && after < start + 96);
    err = table_covered(&e, NULL, &none, &few);
    vec_free(&few);
    CHECK_EQ(err, -ENOSPC);
}

TEST(table_may_have_such_rows_alone)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *t = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    size_t len;
    CHECK_EQ(fixture_elf("bytes.so", &e), 0);
    struct table_row row = {0x1000, rule_word((struct xp_rule){.kind = XP_CFA_RSP, .cfa_off = 8})};
    struct table_code code = {.start = 0x1000, .end = 0x1801, .rows = &row, .n = 1, .source = XP_SOURCE_GO};
    CHECK_EQ(table_build_elf(&e, &code, &limits, &t, &len), 0);
    CHECK_EQ(table_check(t, len), 0);
    CHECK_EQ(t->flags, XP_TABLE_FP_OK); /* beside them */
    CHECK_EQ(table_rule_at(t, 0x1800).kind, XP_CFA_RSP);
    CHECK_EQ(table_rule_at(t, 0xfff).kind, XP_CFA_NONE);
    CHECK_EQ(table_rule_at(t, 0x1801).kind, XP_CFA_NONE);
    limits.max_rows = 1;
    struct xp_table *none = NULL;
    CHECK_EQ(table_build_elf(&e, &code, &limits, &none, &len), -ENOSPC);
}

/* What lies behind them is no ELF code (xp_is_appended). */
TEST(table_blocks_reach_the_end_of_all_segments)
{
    AUTO_ELF struct elf_file e = {0};
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    size_t len;
    CHECK_EQ(fixture_elf("cfi.so", &e), 0);
    struct elf_segment *code = NULL;
    for (size_t i = 0; i < e.nloads; i++)
        code = e.loads[i].flags & PF_X ? &e.loads[i] : code;
    CHECK(code);
    u64 sizes[] = {code->filesz, code->filesz + 5 * XP_BLOCK, 1ull << 40}, ends[3];
    for (unsigned i = 0; i < 3; i++) {
        AUTO_FREE struct xp_table *t = NULL;
        code->filesz = sizes[i];
        CHECK_EQ(table_build_elf(&e, NULL, &limits, &t, &len), 0);
        CHECK_EQ(table_check(t, len), 0);
        ends[i] = t->lo + (u64)t->nblocks * XP_BLOCK;
        CHECK_EQ(table_rule_at(t, ends[i] - 1).kind, XP_CFA_NONE);
    }
    CHECK(ends[0] > code->offset + sizes[0] && ends[0] <= code->offset + sizes[0] + XP_BLOCK);
    CHECK_EQ(ends[1], ends[0] + 5 * XP_BLOCK);
    CHECK(ends[2] <= e.size + XP_BLOCK);
}

static const u8 *cfi_of(const struct elf_file *e)
{
    struct elf_section s;
    return elf_section(e, ".eh_frame", &s) ? s.data : NULL;
}

static struct table_key key_with(const struct elf_file *e, const struct table_code *code)
{
    static const u8 secret[16] = {1};
    AUTO_INPUT struct table_input in = {0};
    struct table_key key = {0};
    if (!table_read(&in, e, -1, code))
        table_key_of(&in, secret, &key);
    return key;
}

TEST(table_keys_know_rows_that_others_found)
{
    AUTO_ELF struct elf_file e = {0};
    CHECK_EQ(fixture_elf("cfi.so", &e), 0);
    struct table_row row = {0x1000, 1};
    struct table_code code = {.start = 0x1000, .end = 0x1800, .rows = &row, .n = 1};
    struct table_key none = key_with(&e, NULL), one = key_with(&e, &code);
    row.word = 2;
    struct table_key other = key_with(&e, &code);
    CHECK(!table_key_equal(&none, &one) && !table_key_equal(&one, &other));
    code.bad = 1; /* the image says it */
    struct table_key bad = key_with(&e, &code);
    CHECK(!table_key_equal(&bad, &other));
    code.n = 0;
    other = key_with(&e, &code);
    CHECK(table_key_equal(&none, &other));
}

/* Whoever may write to the file does so when it has been read: neither key nor table see it. */
TEST(table_is_of_the_bytes_that_its_key_is_of)
{
    static const u8 secret[16] = {1};
    AUTO_CLOSE int fd = memfd_create("file", MFD_CLOEXEC);
    AUTO_ELF struct elf_file e = {0}, written = {0};
    AUTO_INPUT struct table_input in = {0}, late = {0};
    AUTO_FREE struct xp_table *plain = NULL, *t = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    struct table_key before, after;
    size_t len, plain_len;
    CHECK_EQ(fixture_elf("cfi.so", &e), 0);
    CHECK_EQ(table_build_elf(&e, NULL, &limits, &plain, &plain_len), 0);
    CHECK_EQ(fs_write_all(fd, e.map, e.size), 0);
    CHECK_EQ(elf_open(&written, fd), 0);
    CHECK_EQ(table_read(&in, &written, fd, NULL), 0);
    for (size_t i = 0; i < in.cfi.nsections; i++)
        CHECK(in.cfi.section[i].data < written.map || in.cfi.section[i].data >= written.map + written.size);
    u64 at = (u64)(cfi_of(&e) - e.map);
    CHECK_EQ(pwrite(fd, "no CFI at all", 13, (off_t)at + 4), 13);
    CHECK_EQ(table_read(&late, &written, fd, NULL), 0);
    elf_unmap(&written);
    table_key_of(&in, secret, &before);
    table_key_of(&late, secret, &after);
    CHECK(!table_key_equal(&before, &after));
    CHECK_EQ(table_make(&in, NULL, 0, &limits, &t, &len), 0);
    CHECK(len == plain_len && !memcmp(t, plain, len));
}

TEST(table_reads_no_section_that_is_gone)
{
    AUTO_CLOSE int fd = memfd_create("file", MFD_CLOEXEC);
    AUTO_ELF struct elf_file e = {0};
    AUTO_INPUT struct table_input in = {0};
    CHECK_EQ(fixture_elf("cfi.so", &e), 0);
    CHECK_EQ(fs_write_all(fd, e.map, (size_t)(cfi_of(&e) - e.map) + 1), 0);
    CHECK_EQ(table_read(&in, &e, fd, NULL), -ESTALE);
    CHECK(!in.copy[0]);
}

static bool same_key(const char *a, const char *b, const u8 *secret_a, const u8 *secret_b)
{
    AUTO_CLOSE int fa = fixture_fd(a);
    AUTO_CLOSE int fb = fixture_fd(b);
    struct table_key ka, kb;
    return !table_identify(fa, secret_a, &ka) && !table_identify(fb, secret_b, &kb) && table_key_equal(&ka, &kb);
}

TEST(table_keys_tell_files_apart)
{
    static const u8 one[16] = {1}, two[16] = {2};
    CHECK(same_key("cfi.so", "cfi.so", one, one));
    CHECK(!same_key("cfi.so", "cfi.so", one, two)); /* nobody can guess another machine's */
    CHECK(!same_key("cfi.so", "moved", one, one));
    CHECK(!same_key("cfi.so", "bad.so", one, one));
    CHECK(!same_key("symbols.so", "bytes.so", one, one));
}

/* A change to a field of the image that the checksum is told of. */
static int check_with(const struct xp_table *t, size_t len, size_t at, u32 value)
{
    AUTO_FREE char *copy = malloc(len);
    memcpy(copy, t, len);
    memcpy(copy + at, &value, sizeof(value));
    struct xp_table *x = (struct xp_table *)copy;
    x->checksum = hash_bytes(x + 1, len - sizeof(*x), 0);
    return table_check(copy, len);
}

/* Without a build ID something stands for it that is the same for the same CFI, and for no other. */
TEST(table_of_a_file_without_a_build_id)
{
    static const char *const names[] = {"cfi.so", "cfi.so", "symbols.so"};
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    u8 id[3][sizeof(((struct xp_table *)0)->build_id)];
    for (size_t i = 0; i < 3; i++) {
        AUTO_ELF struct elf_file e = {0};
        AUTO_FREE struct xp_table *t = NULL;
        size_t len;
        CHECK_EQ(fixture_elf(names[i], &e), 0);
        memset(e.build_id, 0, sizeof(e.build_id));
        e.build_id_len = 0;
        CHECK_EQ(table_build_elf(&e, NULL, &limits, &t, &len), 0);
        CHECK_EQ(t->build_id_len, sizeof(t->build_id));
        memcpy(id[i], t->build_id, sizeof(id[i]));
    }
    CHECK(!memcmp(id[0], id[1], sizeof(id[0])) && memcmp(id[0], id[2], sizeof(id[0])) != 0);
}

/* A section of zeros that takes no room on the disk. */
TEST(table_copies_no_section_of_any_size)
{
    struct {
        Elf64_Ehdr h;
        Elf64_Shdr s[3];
        char names[16];
    } f = {.h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                 .e_type = ET_DYN,
                 .e_machine = EM_X86_64,
                 .e_shoff = sizeof(Elf64_Ehdr),
                 .e_shnum = 3,
                 .e_shentsize = sizeof(Elf64_Shdr),
                 .e_shstrndx = 2},
           .s = {{0},
                 {.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = 4096, .sh_size = TABLE_MAX_CFI + 1},
                 {.sh_type = SHT_STRTAB, .sh_offset = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Shdr), .sh_size = 16}},
           .names = "\0.eh_frame"};
    AUTO_CLOSE int fd = memfd_create("large", MFD_CLOEXEC);
    AUTO_ELF struct elf_file e = {0};
    AUTO_INPUT struct table_input in = {0};
    CHECK_EQ(fs_write_all(fd, &f, sizeof(f)), 0);
    CHECK_EQ(ftruncate(fd, (off_t)TABLE_MAX_CFI + 8192), 0);
    CHECK_EQ(elf_open(&e, fd), 0);
    CHECK_EQ(table_read(&in, &e, fd, NULL), -ENOSPC);
    CHECK(!in.cfi.elf && !in.copy[0]);
}

TEST(table_check_finds_every_lie)
{
    size_t len;
    AUTO_FREE struct xp_table *t = build("cfi.so", &len);
    CHECK(t);
    CHECK_EQ(table_check(t, len), 0);
    for (size_t n = 0; n < len; n += n < 200 ? 1 : 37)
        CHECK_EQ(table_check(t, n), -EBADMSG);
    size_t index = sizeof(*t), rows = index + 4 * (t->nblocks + 1), rules = rows + 4 * t->nrows;
    CHECK_EQ(check_with(t, len, rows + 4, table_rows(t)[1]), 0);
    static const size_t header[] = {offsetof(struct xp_table, magic),   offsetof(struct xp_table, version),
                                    offsetof(struct xp_table, nblocks), offsetof(struct xp_table, nrows),
                                    offsetof(struct xp_table, nrules),  offsetof(struct xp_table, flags)};
    for (size_t i = 0; i < sizeof(header) / sizeof(header[0]); i++)
        CHECK_EQ(check_with(t, len, header[i], 0xfffffff0), -EBADMSG);
    CHECK_EQ(check_with(t, len, offsetof(struct xp_table, lo), (u32)t->lo + 1), -EBADMSG);
    CHECK_EQ(check_with(t, len, index, 0), -EBADMSG);
    CHECK_EQ(check_with(t, len, index + 4, t->nrows + 1), -EBADMSG);
    CHECK_EQ(check_with(t, len, rows, 1), -EBADMSG);                              /* the sentinel */
    CHECK_EQ(check_with(t, len, rows + 8, table_rows(t)[1]), -EBADMSG);           /* not ascending */
    CHECK_EQ(check_with(t, len, rows + 8, table_rows(t)[2] | 1 << 15), -EBADMSG); /* beyond its block */
    CHECK_EQ(check_with(t, len, rows + 4, (table_rows(t)[1] & 0xffff) | t->nrules << 16), -EBADMSG);
    CHECK_EQ(check_with(t, len, rules + 8 + 4, 31 << 16), -EBADMSG); /* an unknown kind */
    CHECK_EQ(check_with(t, len, rules + 4, XP_CFA_RSP << 16), -EBADMSG);
    CHECK_EQ(check_with(t, len, rules + 8 + 4, (XP_CFA_RSP_DEREF | XP_RULE_SYNTH) << 16), 0);
    CHECK_EQ(check_with(t, len, rules + 8 + 4, (XP_CFA_UNPROVEN | XP_RULE_SYNTH) << 16), 0);
    static const u8 never_synthesised[] = {XP_CFA_NONE,    XP_CFA_PLT,  XP_CFA_SIGNAL,
                                           XP_CFA_RBP_HOP, XP_CFA_GO_G, XP_CFA_UNSUPPORTED};
    for (size_t i = 0; i < sizeof(never_synthesised); i++)
        CHECK_EQ(check_with(t, len, rules + 8 + 4, (never_synthesised[i] | XP_RULE_SYNTH) << 16), -EBADMSG);
    for (u32 reg = 14; reg < 17; reg++) /* the return address is in a register, of which there are sixteen */
        CHECK_EQ(check_with(t, len, rules + 8 + 4, XP_CFA_RA_REG << 16 | reg), reg < 16 ? 0 : -EBADMSG);
    CHECK_EQ(check_with(t, len, rules + 8 + 4, XP_CFA_RA_REG << 16 | 0xffff), -EBADMSG);
    CHECK_EQ(check_with(t, len, rows + 4 * (t->nrows - 1), (table_rows(t)[t->nrows - 1] & 0xffff) | 1 << 16),
             -EBADMSG); /* something is said of what is behind the last row */
    char *raw = (char *)t;
    raw[len - 1] ^= 1; /* the checksum is not told */
    CHECK_EQ(table_check(t, len), -EBADMSG);
}

TEST(rows_can_be_taken_back)
{
    u32 index[5], out[16];
    struct rows w;
    CHECK_EQ(rows_init(&w, 0x1000, 4, index, out, 16, 100), 0);
    rows_emit(&w, 0x1000, 1);
    struct rows_mark m = rows_mark(&w);
    rows_emit(&w, 0x1400, 2);
    rows_emit(&w, 0x1c00, 3);
    rows_rewind(&w, m);
    rows_emit(&w, 0x1801, 4);
    rows_emit(&w, 0x1802, 4); /* says nothing new */
    rows_finish(&w);
    CHECK_EQ(w.n, 3);
    CHECK_EQ(index[0], 1);
    CHECK_EQ(index[1], 2);
    CHECK_EQ(index[2], 2);
    CHECK_EQ(index[3], 3);
    CHECK_EQ(index[4], 3);
    CHECK_EQ(out[2] & 0xffff, 1);
    rows_free(&w);
}

TEST(rows_number_many_rules)
{
    u32 index[66], out[65536];
    struct rows w;
    CHECK_EQ(rows_init(&w, 0, 65, index, out, 65536, 65535), 0);
    for (u64 i = 1; i < 65535; i++)
        rows_emit(&w, i, i * 0x100000001ull);
    CHECK_EQ(w.nrules, 65535);
    rows_emit(&w, 65534, 0x100000001ull); /* which is known since long */
    w.n--;
    CHECK_EQ(w.nrules, 65535);
    CHECK_EQ(w.err, 0);
    for (u32 i = 1; i < 65535; i++)
        CHECK_EQ(w.rules[out[i] >> 16], i * 0x100000001ull);
    rows_emit(&w, 65535, 7ull << 60);
    CHECK_EQ(w.err, -ENOSPC);
    rows_free(&w);
}
