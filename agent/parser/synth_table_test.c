#include "parser/synth_kept.h"
#include "parser/synth_table.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "cfi/fixture.h"
#include "cfi/table_elf.h"
#include "synth/crafted.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define HEAD (8 + sizeof(struct synth_counts) + 16 + 8) /* of a reply; the last 8: the table's length */

static const u8 secret[16] = "sixteen bytes...";

/* A copy of a fixture with one byte of it changed; `at` 0: none. */
static int changed_copy(const struct elf_file *e, u64 at)
{
    AUTO_FREE u8 *copy = malloc(e->size);
    memcpy(copy, e->map, e->size);
    if (at)
        copy[at] ^= 1;
    return fs_sealed_memfd("copy", copy, e->size);
}

TEST(synth_keys_tell_code_apart)
{
    AUTO_ELF struct elf_file e = {0};
    table_spans covered = {0};
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    CHECK_EQ(fixture_elf("cfi.so", &e), 0);
    CHECK_EQ(table_covered(&e, NULL, &limits, &covered), 0);
    AUTO_CLOSE int same = changed_copy(&e, 0);
    AUTO_CLOSE int other = changed_copy(&e, covered.v[0].start);
    struct table_key plain[2], key[2];
    CHECK(!table_identify(same, secret, &plain[0]) && !table_identify(other, secret, &plain[1]));
    CHECK(!synth_identify(same, secret, &key[0]) && !synth_identify(other, secret, &key[1]));
    CHECK(table_key_equal(&plain[0], &plain[1]));
    CHECK(!table_key_equal(&key[0], &key[1]));
    CHECK(!table_key_equal(&plain[0], &key[0]));
    vec_free(&covered);
}

/* The analysis reads section headers and symbols, which no segment need hold: a file that differs only there may have
 * other rows. */
TEST(synth_keys_tell_what_is_not_loaded_apart)
{
    AUTO_ELF struct elf_file e = {0};
    struct elf_section symbols, names;
    struct table_key plain, key[4];
    CHECK_EQ(fixture_elf("cfi.so", &e), 0);
    CHECK(elf_section(&e, ".symtab", &symbols) && elf_section(&e, ".strtab", &names));
    u64 at[4] = {0, e.shoff + sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_flags),
                 (u64)(symbols.data - e.map) + sizeof(Elf64_Sym), (u64)(names.data - e.map) + 1};
    for (size_t i = 0; i < 4; i++) {
        struct table_key again;
        AUTO_CLOSE int fd = changed_copy(&e, at[i]);
        CHECK(!i || (!elf_segment_of(&e, at[i], 0) && at[i] < e.size));
        CHECK(!table_identify(fd, secret, i ? &again : &plain));
        CHECK(!i || table_key_equal(&plain, &again));
        CHECK_EQ(synth_identify(fd, secret, &key[i]), 0);
        for (size_t k = 0; k < i; k++)
            CHECK(!table_key_equal(&key[i], &key[k]));
    }
}

/* A reply with this reason and, if `name`, that fixture's table. */
static void reply(u32 dropped, const char *name, struct buf *out)
{
    u8 head[HEAD] = {0};
    AUTO_CLOSE int fd = name ? fixture_fd(name) : -1;
    AUTO_FREE struct xp_table *t = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    size_t len;
    memcpy(head, &dropped, sizeof(dropped));
    bool has = fd >= 0 && !table_build(fd, &limits, &t, &len);
    if (has)
        memcpy(head + HEAD - 8, &len, 8);
    buf_add(out, head, sizeof(head));
    buf_add(out, t, has ? len : 0);
}

TEST(synth_replies_are_not_believed)
{
    AUTO_BUF struct buf sound = {0}, reason = {0}, both = {0}, unknown = {0};
    struct parser_synth s = {.len = 77};
    reply(0, "cfi.so", &sound);
    reply(SYNTH_DROP_TIME, NULL, &reason);
    reply(SYNTH_DROP_TIME, "cfi.so", &both);
    reply(SYNTH_DROP_COUNT, NULL, &unknown);
    CHECK_EQ(synth_reply_open(both.data, both.len, &s), -EBADMSG);
    CHECK_EQ(synth_reply_open(unknown.data, unknown.len, &s), -EBADMSG);
    for (size_t n = 0; n < sound.len; n += n < HEAD + 64 ? 1 : 17)
        if (n != HEAD)
            CHECK_EQ(synth_reply_open(sound.data, n, &s), -EBADMSG);
    CHECK_EQ(s.len, 77);
    CHECK_EQ(synth_reply_open(sound.data, sound.len, &s), 0);
    CHECK(s.table && s.len == sound.len - HEAD && !s.dropped);
    CHECK_EQ(synth_reply_open(reason.data, reason.len, &s), 0);
    CHECK(!s.table && s.dropped == SYNTH_DROP_TIME);
    sound.data[sound.len - 1] ^= 1;
    CHECK_EQ(synth_reply_open(sound.data, sound.len, &s), -EBADMSG);
}

/* Whatever the analysis makes of a file, what others know of it stays, and the child's reply is what the parent reads.
 */
TEST(synth_tables_keep_the_rows_of_others)
{
    AUTO_CLOSE int fd = fixture_fd("cfi.so");
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *plain = fixture_table("cfi.so");
    AUTO_BUF struct buf out = {0};
    table_spans covered = {0};
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    struct parser_synth s = {0};
    CHECK_EQ(fixture_elf("cfi.so", &e), 0);
    CHECK_EQ(table_covered(&e, NULL, &limits, &covered), 0);
    CHECK_EQ(synth_table(fd, secret, NULL, &limits, &out), 0);
    CHECK_EQ(synth_reply_open(out.data, out.len, &s), 0);
    for (size_t i = 0; s.table && i < covered.n; i++)
        for (u64 at = covered.v[i].start; at < covered.v[i].end; at++) {
            struct xp_rule x = table_rule_at(plain, at), y = table_rule_at(s.table, at);
            CHECK(!memcmp(&x, &y, sizeof(x)));
        }
    vec_free(&covered);
    AUTO_CLOSE int text = fs_sealed_memfd("text", "#!/bin/sh", 9);
    CHECK_EQ(synth_table(text, secret, NULL, &limits, &out), -ENOEXEC);
}

/* What returns to the trampoline is looked up a byte before it. */
TEST(synth_tables_know_what_signal_handlers_return_to)
{
    char path[4096];
    AUTO_ELF struct elf_file e = {0};
    AUTO_BUF struct buf out = {0};
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    struct parser_synth s = {0};
    snprintf(path, sizeof(path), "%s/parser/trampoline.so", test_data());
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK_EQ(elf_open(&e, fd), 0);
    CHECK_EQ(synth_table(fd, secret, NULL, &limits, &out), 0);
    CHECK_EQ(synth_reply_open(out.data, out.len, &s), 0);
    CHECK(s.table);
    u64 before = fixture_symbol(&e, "before"), at = fixture_symbol(&e, "trampoline"),
        after = fixture_symbol(&e, "after"), small = fixture_symbol(&e, "short_trampoline"),
        last = fixture_symbol(&e, "last");
    static const u8 synth = XP_CFA_RSP | XP_RULE_SYNTH;
    CHECK_EQ(table_rule_at(s.table, before).kind, synth);
    CHECK_EQ(table_rule_at(s.table, before + 1).cfa_off, 16);
    CHECK(table_rule_at(s.table, at - 2).kind != XP_CFA_SIGNAL);
    for (u64 i = at - 1; i < at + 9; i++)
        CHECK_EQ(table_rule_at(s.table, i).kind, XP_CFA_SIGNAL);
    CHECK_EQ(table_rule_at(s.table, after).kind, synth);
    CHECK_EQ(table_rule_at(s.table, after + 1).cfa_off, 16);
    for (u64 i = small - 1; i < small + 7; i++)
        CHECK_EQ(table_rule_at(s.table, i).kind, XP_CFA_SIGNAL);
    CHECK_EQ(table_rule_at(s.table, last).kind, synth);
    CHECK_EQ(table_rule_at(s.table, last + 4).cfa_off, 32);
}

/* A file that is made of them takes no longer than another one: each is looked at once. */
TEST(synth_tables_take_any_number_of_trampolines)
{
#ifdef __SANITIZE_THREAD__
    SKIP("memmem looks at all that it may read under ThreadSanitizer, for each of them");
#endif
    static const u8 function[] = {0x53, 0x5b, 0xc3}, trampoline[] = {0xb8, 15, 0, 0, 0, 0x0f, 0x05};
    const size_t n = 300000, apart = 100, step = sizeof(trampoline) + sizeof(function);
    const size_t packed = sizeof(function), loose = packed + n * sizeof(trampoline), len = loose + apart * step;
    AUTO_FREE u8 *code = malloc(len), *file = malloc(CRAFTED_BASE + len);
    AUTO_BUF struct buf out = {0};
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    struct parser_synth s = {0};
    memcpy(code, function, sizeof(function));
    for (size_t i = 0; i < n; i++)
        memcpy(code + packed + i * sizeof(trampoline), trampoline, sizeof(trampoline));
    for (size_t i = 0; i < apart; i++) {
        memcpy(code + loose + i * step, function, sizeof(function));
        memcpy(code + loose + i * step + sizeof(function), trampoline, sizeof(trampoline));
    }
    crafted_file(file, code, len);
    AUTO_CLOSE int fd = fs_sealed_memfd("trampolines", file, CRAFTED_BASE + len);
    CHECK_EQ(synth_table(fd, secret, NULL, &limits, &out), 0);
    CHECK_EQ(synth_reply_open(out.data, out.len, &s), 0);
    CHECK(s.table);
    CHECK(table_rule_at(s.table, CRAFTED_BASE).kind == (XP_CFA_RSP | XP_RULE_SYNTH));
    for (size_t i = packed - 1; i < loose; i++)
        CHECK_EQ(table_rule_at(s.table, CRAFTED_BASE + i).kind, XP_CFA_SIGNAL);
    for (size_t i = loose; i < len; i++) {
        bool between = (i - loose) % step < sizeof(function) - 1;
        CHECK_EQ(table_rule_at(s.table, CRAFTED_BASE + i).kind == XP_CFA_SIGNAL, !between);
    }
}

static int open_reply(const struct buf *out, struct parser_synth *s)
{
    *s = (struct parser_synth){0};
    return synth_reply_open(out->data, out->len, s);
}

/* What was read before stays, without being read again; another file has its own. */
TEST(synth_stretches_are_added_up)
{
    static const u8 function[16] = "\x55\x48\x89\xe5\xff\xd0\x5d\xc3\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc";
    static const u32 wanted[] = {1, 3};
    const size_t len = 5 * SYNTH_STRETCH;
    AUTO_FREE u8 *code = malloc(len), *file = malloc(CRAFTED_BASE + len);
    AUTO_BUF struct buf one = {0}, both = {0}, same = {0}, other = {0};
    CLEANUP(synth_kept_free) struct synth_kept *kept = NULL, *fresh = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    struct parser_synth s, t;
    for (size_t i = 0; i < len; i += sizeof(function))
        memcpy(code + i, function, sizeof(function));
    crafted_file(file, code, len);
    AUTO_CLOSE int fd = fs_sealed_memfd("frames", file, CRAFTED_BASE + len);
    AUTO_CLOSE int fd2 = fs_sealed_memfd("frames", file, CRAFTED_BASE + len);
    CHECK_EQ(synth_stretches(fd, -1, wanted + 1, 1, &limits, &kept, &one), 0);
    CHECK_EQ(open_reply(&one, &s), 0);
    CHECK(s.table && table_rule_at(s.table, 3 * SYNTH_STRETCH + 4).kind & XP_RULE_SYNTH);
    CHECK_EQ(table_rule_at(s.table, SYNTH_STRETCH + 4).kind, XP_CFA_NONE);
    u64 insns = s.counts.insns;
    CHECK_EQ(synth_stretches(fd, -1, wanted, 2, &limits, &kept, &both), 0);
    CHECK_EQ(open_reply(&both, &s), 0);
    CHECK_EQ(s.counts.insns / 1000, 2 * insns / 1000); /* each once */
    CHECK_EQ(synth_stretches(fd2, -1, wanted, 2, &limits, &fresh, &same), 0);
    CHECK_EQ(open_reply(&same, &t), 0);
    for (u64 at = CRAFTED_BASE; at < CRAFTED_BASE + len; at++)
        if (rule_word(table_rule_at(s.table, at)) != rule_word(table_rule_at(t.table, at))) {
            CHECK_EQ(at, 0);
            break;
        }
    CHECK_EQ(table_rule_at(s.table, 2 * SYNTH_STRETCH + 64).kind, XP_CFA_NONE);
    CHECK_EQ(synth_stretches(fd2, -1, wanted, 1, &limits, &kept, &other), 0);
    CHECK_EQ(open_reply(&other, &s), 0);
    CHECK_EQ(table_rule_at(s.table, 3 * SYNTH_STRETCH + 4).kind, XP_CFA_NONE);
}

/* What an earlier reply says was read is not read again, by whomever. */
TEST(synth_stretches_begin_with_an_image)
{
    static const u32 wanted[] = {1, 3};
    const size_t len = 5 * SYNTH_STRETCH;
    AUTO_FREE u8 *code = malloc(len), *file = malloc(CRAFTED_BASE + len);
    AUTO_BUF struct buf one = {0}, more = {0}, without = {0};
    CLEANUP(synth_kept_free) struct synth_kept *kept = NULL, *fresh = NULL, *empty = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    struct parser_synth s, t;
    crafted_functions(code, len, true);
    crafted_file(file, code, len);
    AUTO_CLOSE int fd = fs_sealed_memfd("frames", file, CRAFTED_BASE + len);
    CHECK_EQ(synth_stretches(fd, -1, wanted, 1, &limits, &kept, &one), 0);
    CHECK_EQ(open_reply(&one, &s), 0);
    CHECK(s.table && s.stretches);
    AUTO_CLOSE int image = fs_sealed_memfd("image", s.stretches, s.stretches_len);
    AUTO_CLOSE int bad = fs_sealed_memfd("image", s.stretches, s.stretches_len - 1);
    crafted_functions(code, len, false); /* another file, which is taken for that one: what was known holds */
    crafted_file(file, code, len);
    AUTO_CLOSE int other = fs_sealed_memfd("frames", file, CRAFTED_BASE + len);
    CHECK_EQ(synth_stretches(other, image, wanted + 1, 1, &limits, &fresh, &more), 0);
    CHECK_EQ(open_reply(&more, &t), 0);
    CHECK(t.table && table_rule_at(t.table, SYNTH_STRETCH + 4).kind & XP_RULE_SYNTH);
    CHECK_EQ(synth_stretches(other, bad, wanted + 1, 1, &limits, &empty, &without), 0);
    CHECK_EQ(open_reply(&without, &t), 0);
    CHECK(!t.table);
}
